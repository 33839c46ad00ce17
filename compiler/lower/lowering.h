/* Lowering: inside lower/. A program is lowered by running it on Values: each call runs the body
 * of what it calls with the actual types, so types and dimensions are checked where they meet,
 * and what is left at the end are graphs. */
#ifndef FLOW_LOWER_LOWERING_H
#define FLOW_LOWER_LOWERING_H

#include "compiler/check/module.h"
#include "compiler/graph/scan_builder.h"
#include "compiler/lower/value.h"

enum {
    CALL_DEPTH_LIMIT = 200,
    EXPRESSION_DEPTH_LIMIT = 4000, /* through all calls */
    CALL_NESTING = 6,              /* levels that a call counts for: it takes more of the stack */
    OPERATION_LIMIT = 1 << 18,     /* of one graph; gradients and updates come on top */
    CALL_LIMIT = 1 << 17,          /* calls and turns run in one compilation */
    REPEAT_LIMIT = 1 << 16,        /* turns of one repeat */
};

typedef struct Lowering {
    Arena *arena;
    Dimensions *dimensions;
    Diagnostics *diagnostics;
    const Module *module;
    Program *program;
    Map used;       /* declarations that were run at least once, by address */
    Map stored;     /* names of storages to 1 + their index */
    Map begun;      /* names of storages to the last Graph that gives them their first value */
    Map constants;  /* values of dims and consts that are in no graph, by ConstantKey */
    Dim single;     /* the batch of one record */
    LoadList loads; /* that the pipeline being run asks for */
    int calls;
    size_t listed;            /* items of all lists that were made */
    bool exhausted;           /* CALL_LIMIT was passed and reported */
    bool fits;                /* a model was called that fits states */
    bool learning;            /* the data of a train block is lowered, whose texts are found */
    Vector(int) vocabularies; /* that the pipeline being run uses */
} Lowering;

/* The call that is being run. */
typedef struct Frame {
    struct Frame *caller;
    const Declaration *declaration;
    Range call;
    const char *path; /* names the weights: "classifier/dense.1" */
    Map callees;      /* name to how many models of that name were called here */
    int depth;
    const Instance *instance; /* that this is a call of, or NULL */
    uint64_t repetition;      /* keeps the random numbers of an instance's calls apart */
    struct Frame *fitting;    /* in which its blocks of `fit` run; NULL: none did */
    const Scope *block;       /* of such a frame: that of the block being run */
    bool undecided; /* an `if` on a size that only a call tells: the rest is not checked alone */
    bool returned;  /* the body has its result: nothing more of it is lowered */
} Frame;

/* The body of a scan while it is lowered: tensors from outside become inputs of it. */
typedef struct ScanBody {
    const struct Context *outside; /* where the scan stands */
    const Statement *statement;
    const Frame *frame; /* in which the body runs */
    ScanBuilder builder;
    NodeId turn;                   /* the input that is the loop's index */
    Vector(struct Stacked) stacks; /* what `let y[:, t] = …` stacks */
} ScanBody;

/* Where an expression stands. Copied, changed and passed down. */
typedef struct Context {
    Lowering *lowering;
    const Unit *unit;
    Scope *scope;
    Frame *frame;
    Graph *graph;         /* NULL: only compile-time values exist here */
    ScanBody *scan;       /* whose body the graph is, or NULL */
    Function *function;   /* whose graph it is */
    Function *initialise; /* where weights get their first value; NULL: nowhere */
    bool updates;         /* states that are assigned are updated (training) */
    Map *fitted;   /* in a pass of `fit`: paths of calls whose states passes before it found */
    bool averaged; /* weights are read as they are deployed: averages, where there are any */
    const char *measures; /* names the sums that measures keep over a pass; NULL: none are kept */
    int *total_count;     /* of these sums so far */
    bool entering;        /* in a pipeline: facts are checked on each record */
    Stream *stream;       /* whose fields are in scope by name, when it is open; or NULL */
    bool checking;        /* a declaration is checked by itself: the graph is thrown away */
    int nesting;          /* of expressions, through all calls */
    bool fixing;          /* an option that is used becomes fixed: its value shapes something */
    const struct Notation *notation; /* the indices of `let y[n] = …`, or NULL */
    const Type *expected; /* the type the result must have, for calls that take it; or NULL */
    Placement placement;  /* of what is computed here; new nodes get it by the graph's */
    bool optimizing;      /* in the optimizer, which runs for each weight */
} Context;

/* report.c: messages. */

/* The innermost place in the user's own files that led to range: what nodes and messages name. */
Range users_place(const Context *context, Range range);

/* A diagnostic at range; when that lies in the library, at the user's call that led there, with
 * a note of the place. */
Diagnostic *report(const Context *context, ErrorCode code, Range range, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What is written there. */
const char *range_text(const Context *context, Range range);
void help_nearest(Diagnostic *d, const char *nearest);                        /* nearest: or NULL */
const char *names_text(Arena *arena, const char *const *names, size_t count); /* "x, y" */

/* What is written here for another language's name. False: nothing is known of it. */
bool help_habit(Diagnostic *d, const char *name);

/* elsewhere.c: notes where the body declares the unknown name, if it does. */
void help_elsewhere(const Context *context, Diagnostic *d, const Name *name);

/* lower.c. */

/* Has every program a flag of that name? */
bool is_reserved(const char *name);

/* expression.c. */

Value lower_expression(const Context *context, const Expression *expression);
Value lower_name(const Context *context, const Name *name);

/* The name in scope or declared that is nearest, or NULL. */
const char *nearest_value(const Context *context, const char *name);

/* convert.c: from one kind of value to another. */

/* A node of the element type for a number, size, option or tensor; NODE_NONE after reporting. */
NodeId to_node(const Context *context, const Value *value, Element element, Range range);

/* stack.c: the values of a list as one tensor, side by side along a new first dimension. */
NodeId stack_values(const Context *context, const Value *list, Element element, Range range);

/* The element type of the first tensor in it, or f32. */
Element list_element(const Value *list);
/* Does every record have the same shape? False after reporting a `?n` in it. */
bool has_one_shape(const Context *context, const Value *tensor, Range range);

/* The number of a program's option, or the text of a string, where no flag of the built program can
 * change it: the option is fixed. */
double fixed_number(const Context *context, const Value *option);
const char *fixed_string(const Context *context, const Value *string);

/* Says why a tensor that is in another graph can't be used. */
void report_foreign(const Context *context, Range range);

/* Is the number a count, not bytes or a time? False after reporting. */
bool is_count(const Context *context, const Value *value, Range range);

/* A whole compile-time size; NULL after reporting. */
Dim to_size(const Context *context, const Value *value, Range range);
bool to_number(const Context *context, const Value *value, Range range, double *number);
Setting to_setting(const Context *context, const Value *value, Range range, double least);

/* The input node of that meaning in the context's function, made when first asked for. */
NodeId input_node(const Context *context, const char *name, InputKind kind, int index, Type type,
                  Type record_type, Range range);

/* signature.c, declared.c: declared types. */

/* Binds the dimensions of a declared type from a value, and gives the value as that type: numbers
 * become tensors, fields get their type, facts are checked. *lifted: the value had no batch and
 * got one of one record. value_error after reporting. */
Value match_type(const Context *context, const TypeTree *declared, Value value, Range range,
                 const char *what, bool *lifted);

/* Does a call have to tell what the size is? Checked by itself, 2*(E/2) is not seen to be E. */
bool is_undecided(const Context *context, Dim size);

/* Is the size at least 1, as far as it is known? False after reporting. */
bool is_dimension(const Context *context, Dim size, Range range);

/* `int`, `number`, `string`, `path`: no type of a tensor. */
bool is_compile_time(const char *type);

/* The type with every dimension known; false after reporting. */
bool resolve_type(const Context *context, const TypeTree *declared, Type *type);

/* Binds the dimensions of a declared result from the type that is expected of it. False: their
 * ranks differ. */
bool bind_expected(const Context *context, const TypeTree *declared, const Type *expected);

/* The names of dimensions that a signature binds, made symbols: for checking it by itself. */
void bind_symbols(const Context *context, const TypeTree *declared);

/* index.c: x[…]. */

Value lower_index(const Context *context, const Expression *expression);

/* operator.c: operators and nodes. */

Value lower_binary(const Context *context, Operator sign, const Value *a, const Value *b,
                   Range range);
Value lower_unary(const Context *context, Operator sign, const Value *a, Range range);

/* The node as a value; value_error after reporting. */
Value add_node(const Context *context, Node node, Range range);

/* operation.c: primitive ops and builtins, called by name. */

/* Is there one of that name? */
bool is_operation_name(const char *name);

/* The one whose name is nearest, or NULL. */
const char *nearest_operation(const char *name);

/* True when name is one; *result is then set. */
bool lower_operation(const Context *context, const Expression *call, const Value *piped,
                     Value *result);

/* call.c, callee.c. */

/* piped: the value on the left of `|>`, or NULL. */
Value lower_call(const Context *context, const Expression *call, const Value *piped);

/* The path of what is called or made under that name here: "classifier" for the first of a name
 * at the top, "classifier/dense.1" inside. */
const char *callee_path(const Context *context, const char *name);

/* Calls with the first arguments given as values (an optimizer's weight and gradient). */
Value call_with(const Context *context, const Expression *call, const Value *first, size_t count,
                const char *path);

/* instance.c. */

/* `new dense(64)`; name: the binding that it is for, or NULL. */
Value lower_new(const Context *context, const Expression *expression, const char *name);

/* list.c: lists at compile time. */

/* Is it within the limits, alone and with all lists that were made? False after reporting. */
bool is_small_list(const Context *context, const Value *list);

/* `sizes[0]`, `sizes[1:]`. */
Value lower_item(const Context *context, const Expression *expression, const Value *list);

/* notation.c: index notation. */

/* `let y[n, m] = …` */
void lower_notation(const Context *context, const Statement *statement);

/* What stands before the brackets of an index; in a notation it was computed before. */
Value lower_indexed_operand(const Context *context, const Expression *expression);

/* `a[n, k]` and `sum(k) …` inside it. */
Value lower_indexed(const Context *context, const Expression *expression, const Value *x);
Value lower_reduced(const Context *context, const Expression *expression);

/* layers.c: around the run of a call; Program.layers grows by those worth a line to its readers. */

#define NO_LAYER SIZE_MAX
size_t layer_begin(const Context *context, const Frame *frame);
void layer_end(const Context *context, size_t index, const Value *result);

/* body.c: statements. */

/* Whether a condition holds at compile time; asker: "if". False after reporting, or when only a
 * call tells. */
bool lower_condition(const Context *context, const Expression *condition, const char *asker,
                     bool *holds);

/* Runs the statements; the value of `return`, or value_error when there is none. */
Value lower_body(const Context *context, const StatementList *body);
void lower_let(const Context *context, const Statement *statement);

/* Introduces the name in the innermost scope. */
void introduce(const Context *context, const Name *name, Value value);

/* Runs statements inside a body; a `return` sets *result. */
void lower_block(const Context *context, const StatementList *body, Value *result);

/* weight.c: `weight w: … = …`, `state s: … = …`. */
void lower_weight(const Context *context, const Statement *statement);

/* States in scope that were assigned get their last value at the end of the step. */
void update_states(const Context *context);

/* fit.c: `fit { … }`, which only a pass over the data runs. */
void lower_fit(const Context *context, const Statement *statement);

/* May the name get a new value? In `fit` only that of a state is kept. False after reporting. */
bool may_change(const Context *context, const Name *name, const Binding *binding);

/* scan.c: loops that are not unrolled. */

/* A `return` in it, which is reported, also sets *result. */
void lower_scan(const Context *context, const Statement *statement, Value *result);

/* `let name[…] = …`: in a scan that has the index, what a turn stacks; else index notation. */
void lower_stacked(const Context *context, const Statement *statement);

/* True when an index of the expression is the index of a loop, as in `x[:, t]`; *result is then the
 * slice of the turn. */
bool lower_scanned(const Context *context, const Expression *expression, Value *result);

/* The value as the context's graph has it: tensors from outside a scan become inputs of
 * its body. */
Value inside_scan(const Context *context, Value value);

/* The context around all scans. */
const Context *outside_scans(const Context *context);

/* The seed of random numbers: another one for each batch that is trained, each turn of a scan. */
NodeId seed_node(const Context *context, Range range);

/* external.c: C functions. */

/* Reports what a declaration of one may not have. */
void check_external(const Context *context, const Declaration *declaration);

/* Calls it with the parameters that are in scope; the results as its type is declared. */
Value lower_external(const Context *context, const Declaration *declaration);

/* storage.c: what is kept from call to call. */

/* The weight or state of that path, or NULL. */
Storage *find_storage(const Context *context, const char *path);

/* Adds a weight or state, or finds that it is there with the same type; false after reporting.
 * *begins: the train block's first values lack it. */
bool store(const Context *context, const char *path, const Type *type, bool trained, Range range,
           bool *begins);

/* A state that training keeps: its node. It begins as `like`, a weight node of this graph, does;
 * NODE_NONE: as zero. */
NodeId keep_state(const Context *context, const char *path, Type type, NodeId like, Range range);

/* measure.c: the sum of a value over all batches of a pass so far; the value itself where no
 * measure is computed. */
NodeId total_node(const Context *context, NodeId summand, Range range);

/* require.c: `require(condition, "text")`, an error of the caller's when the condition is false. */
void lower_require(const Context *context, const Statement *statement);

/* placement.c: annotations and regions. */

/* What the annotations of one call ask for. */
typedef struct Wishes {
    Placement placement;
    Wish threads, queue;
    double memory; /* bytes; 0: nothing is asked */
    Range memory_range;
} Wishes;

/* resources.c: bytes known now; false after reporting. */
bool lower_memory_size(const Context *context, const Expression *expression, double *bytes);

/* False after reporting. */
bool read_annotations(const Context *context, const Expression *call, Wishes *wishes);

/* Of a call that is read but not run. False after reporting. */
bool expect_no_annotations(const Context *context, const Expression *call);

/* From here on the graph's new nodes are placed as the context says; returns how they were. */
Placement place_nodes(const Context *context);
void restore_placement(const Context *context, Placement before);

/* The context inside of `on value { … }`; new nodes are placed as it says until *before is
 * restored. */
Context enter_region(const Context *context, const Expression *value, Placement *before);

/* The innermost of the two holds, but what is only preferred yields. */
Placement inner_placement(const Placement *outer, const Placement *inner);

/* Gives threads and queue to the pipeline that the call has made or gone through. */
bool grant_wishes(const Context *context, const Wishes *wishes, const Value *result);

/* stage.c: streams. */

bool is_stage_name(const char *name);

/* Does the stage compute something, which a device can do? */
bool is_computing_stage(const char *name);

/* The source or stage whose name is nearest, or NULL. */
const char *nearest_stage(const char *name);

/* True when the call is of a source or stage; *result is then set. */
bool lower_stage(const Context *context, const Expression *call, const Value *piped, Value *result);

/* record.c: The field of a batch in the context's function: an input of it. */
Value batch_field(const Context *context, const Value *batch, const Name *name);

/* field.c: fields of a source. */

/* The field of that name of an open stream, asked for the first time or again. */
Value open_field(const Context *context, const char *name, Range range);

/* How a field that no use has given a type gets one. */
void help_untyped(Diagnostic *d, const Value *field);

/* Is there something of that name that is made of a source's field? */
bool is_field_function(const char *name);

/* Gives a field its type, which is then that of all its uses. value_error after reporting. */
Value type_field(const Context *context, const Value *field, Type type, Range range);

/* True when the call is of what makes a value of a source's field (decode_jpeg, category, …);
 * *result is then set. */
bool lower_field_call(const Context *context, const Expression *call, const Value *piped,
                      Value *result);

/* category.c: the vocabularies of the pipeline that was run come with the weights that it loads;
 * one that loads none is reported. */
void load_vocabularies(const Context *context, const Declaration *declaration, bool loads);

/* Reports vocabularies that no train block finds and no pipeline loads. */
void check_vocabularies(const Context *context);

/* load.c: true when the call is of `load`; *result is then set. */
bool lower_load(const Context *context, const Expression *call, Value *result);

/* run.c: runs a pipeline that needs no arguments; one that ends in a sink becomes a run of the
 * program. False: it needs some. */
bool lower_run(const Context *context, const Declaration *declaration);

/* train.c, export.c. */

void lower_train(const Context *context, const Declaration *declaration);
void lower_export(const Context *context, const Declaration *declaration);

#endif
