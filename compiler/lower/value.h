/* Value: what an expression means while a program is lowered, and the names in scope.
 *
 * Some values exist only then (numbers, sizes, strings); tensors are nodes of a graph. */
#ifndef FLOW_LOWER_VALUE_H
#define FLOW_LOWER_VALUE_H

#include "compiler/check/module.h"
#include "compiler/graph/program.h"

typedef struct Value Value;
typedef struct Stream Stream;
typedef struct Instance Instance;

/* Names and values: a record, a tuple (names NULL) or a list. */
typedef struct Items {
    size_t count;
    const char **names;
    Value *values;
} Items;

typedef enum ValueKind {
    VALUE_error,  /* its cause was reported; whatever uses it stays silent */
    VALUE_number, /* known now; takes the element type of what it meets */
    VALUE_size,   /* a dimension, known now but for its symbols */
    VALUE_truth,  /* number is 0 or 1 */
    VALUE_string,
    VALUE_element,  /* an element type: the argument of cast */
    VALUE_option,   /* a number known when the program runs, or now by fixing it */
    VALUE_tensor,   /* a node */
    VALUE_field,    /* a source's field whose type no use has told yet */
    VALUE_all,      /* every axis */
    VALUE_items,    /* record, tuple or list */
    VALUE_stream,   /* records */
    VALUE_batch,    /* the batches of a stream: a record whose tensors appear when asked for */
    VALUE_instance, /* `new dense(64)` */
    VALUE_sink,     /* where a stream ends */
    VALUE_stdout,
    VALUE_model, /* with weights from a file */
} ValueKind;

/* Option-like values that the run itself has. */
enum {
    STEP_INDEX = -1,    /* the number of updates made so far */
    EPOCH_INDEX = -2,   /* the same, counted in epochs */
    PLATEAU_INDEX = -3, /* the product of the factors that `reduce` applied so far */
    PASS_INDEX = -4,    /* the epoch that a record is made for */
};

/* Of one of these: the input that has it, and what messages call it. */
typedef struct RunNumber {
    const char *input, *text;
    InputKind kind;
    Element element;
} RunNumber;

/* What a source's field can become. */
typedef enum FieldForm {
    FORM_tensor,  /* any type that is declared */
    FORM_columns, /* so many numbers of the element type that is wanted */
    FORM_number,  /* a number of the element type that is wanted */
    FORM_cell,    /* the same, or a category */
    FORM_value,   /* the same, or any type that is declared */
    FORM_feature, /* the same, or bytes */
    FORM_bytes,   /* u8 of any shape, or what is decoded from it */
    FORM_tokens,  /* i32[n] */
    FORM_image,   /* u8[h, w, c] */
    FORM_large,   /* an image out of which a part has to be cut */
} FieldForm;

struct Value {
    ValueKind kind;
    Range range; /* where it came from */
    double number;
    const char *unit; /* of a number, as written ("ms"), or NULL */
    Dim size;
    const char *string;
    Element element;
    int index;      /* option: of the program, or STEP_INDEX…; string: 1 + the option it is, or 0;
                        field: of the section; stream: the stages it has gone through */
    FieldForm form; /* field */
    const Field *field; /* field of an open stream: what is asked for; else NULL */
    Graph *graph;       /* tensor: where its node is */
    NodeId node;
    Dim low, high; /* tensor: every value v has low <= v < high; or both NULL */
    Items items;
    Stream *stream;           /* field, stream, batch */
    const Declaration *model; /* model */
    const Unit *model_unit;   /* model: where it is declared */
    Instance *instance;
};

/* A sink that records pass. */
typedef struct Tee {
    Sink sink;
    Range range;
    bool placed; /* the indexes of its fields are known; until then they are nodes */
} Tee;

/* A pipeline being put together. */
struct Stream {
    Pipeline *pipeline;
    Items record;   /* the fields of each record, in pipeline->section->record.graph */
    bool open;      /* names that mean nothing else are fields of the source */
    FieldForm form; /* of those */
    bool lines;     /* its field is a line, or a name */
    const char *path;
    int path_option;    /* 1 + the option that says the path, or 0 */
    int stages;         /* that it has gone through: a value made before the last is used up */
    Range reader;       /* the last of them */
    Function *function; /* of its batches; NULL: there is none */
    Items results;      /* of the function: a batch each */
    bool unbatched;     /* batches were made, and taken apart again */
    Vector(Tee) tees;
    Sink sink;
};

/* A model whose calls share their weights. */
struct Instance {
    const Declaration *declaration;
    const Unit *unit;
    const Expression *made; /* the call behind `new` */
    Value *given;           /* what each of its arguments is */
    const char *path;       /* names its weights */
    Range first_call;       /* source NULL: none yet */
    uint64_t calls;
};

/* Names, innermost first. */
typedef struct Binding {
    const char *name;
    Value value;
    const char *state; /* of a state: the name of its storage; else NULL */
    bool weight;       /* of a weight or a state */
    NodeId target;     /* of a weight or a state: its node */
    bool at_least;     /* of a dimension: values below it came first, and a shape may say more */
} Binding;

typedef struct Scope {
    struct Scope *parent;
    Vector(Binding) bindings;
    Map places; /* name to 1 + its last place in bindings, where they are many */
} Scope;

Scope *scope_new(Arena *arena, Scope *parent);
Binding *scope_find_here(const Scope *scope, const char *name); /* not in its parents */
Binding *scope_find(const Scope *scope, const char *name);      /* NULL: not there */
void scope_put(Arena *arena, Scope *scope, const char *name, Value value);

extern const Value value_error;

/* What an option is that the run itself has; NULL of a program's option. */
const RunNumber *run_number(const Value *option);

/* The string of a parameter when a declaration is checked by itself: it may be any. */
extern const char any_string[];
bool value_is_empty(const Value *value); /* a string that has to be empty */

Value value_number(double number, Range range);
Value value_size(Dim size, Range range);
Value value_string(const char *string, Range range);
Value value_tensor(Graph *graph, NodeId node, Range range);
const Type *value_type(const Value *value);    /* of a tensor */
bool value_is_number(const Value *value);      /* a number, size, truth or option */
const char *field_name(const Value *field);    /* of a source's field */
const char *field_example(const Value *field); /* a type that it may have */

/* The item of that name, or NULL. */
const Value *items_find(const Items *items, const char *name);
Items items_new(Arena *arena, size_t count);

/* A text of a source's line, as it stands there. */
bool is_line(const Value *value);

/* "f32[B, 784]", "the number 3", "a string": for messages. */
const char *value_text(Arena *arena, const Value *value);

#endif
