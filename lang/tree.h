/* Tree: what was written, as the parser leaves it. No name is looked up, nothing is computed.
 *
 * Every node lives in the arena of the parse and knows its range. Broken input leaves holes
 * (EXPRESSION_error, missing children as NULL are never left: the parser fills in an error
 * expression), so that a checker can go on with the rest. */
#ifndef FLOW_LANG_TREE_H
#define FLOW_LANG_TREE_H

#include "lang/base/text.h"
#include "lang/base/vector.h"
#include "lang/source.h"

#include <stdbool.h>

typedef struct Expression Expression;
typedef struct Statement Statement;
typedef struct TypeTree TypeTree;

typedef Vector(Expression *) ExpressionList;
typedef Vector(Statement *) StatementList;

/* A name as written, with its place. */
typedef struct Name {
    const char *text;
    Range range;
} Name;
typedef Vector(Name) NameList;

/* An argument of a call or a field of a record: `x: expr` (name set) or `expr`. Named arguments
 * may also be written `x = expr`. */
typedef struct Argument {
    Name name; /* text NULL: by position */
    Expression *value;
} Argument;
typedef Vector(Argument) ArgumentList;

/* `@cpu`, `@gpu(0)`, `@threads(4)` behind a call. */
typedef struct Annotation {
    Name name;
    ExpressionList arguments;
    Range range;
} Annotation;
typedef Vector(Annotation) AnnotationList;

typedef enum Operator {
    OPERATOR_add,
    OPERATOR_subtract,
    OPERATOR_multiply,
    OPERATOR_divide,
    OPERATOR_power,
    OPERATOR_equal,
    OPERATOR_not_equal,
    OPERATOR_less,
    OPERATOR_less_equal,
    OPERATOR_greater,
    OPERATOR_greater_equal,
    OPERATOR_and,
    OPERATOR_or,
    OPERATOR_not,
    OPERATOR_negate, /* unary */
} Operator;

enum { DEPTH_LIMIT = 2000 }; /* of an expression: walkers recurse */

typedef enum ExpressionKind {
    EXPRESSION_error,    /* a hole left by a syntax error that was reported */
    EXPRESSION_number,   /* number, unit */
    EXPRESSION_string,   /* string */
    EXPRESSION_name,     /* name; also true, false, and ?n in a shape */
    EXPRESSION_ellipsis, /* `...` inside a list */
    EXPRESSION_list,     /* items: [a, b] */
    EXPRESSION_record,   /* arguments: (a, b) or (x: a, y: b); never a single one without a name */
    EXPRESSION_call,     /* name, arguments, annotations */
    EXPRESSION_pipe,     /* left |> right; right is a call, or a hole */
    EXPRESSION_assert,   /* left |> : type */
    EXPRESSION_binary,   /* operator, left, right */
    EXPRESSION_unary,    /* operator, left */
    EXPRESSION_field,    /* left.name */
    EXPRESSION_index,    /* left[items]; an item may be EXPRESSION_slice */
    EXPRESSION_slice,    /* left:right:step inside an index; left and right may be NULL, items holds
                            the step if there is one */
    EXPRESSION_new,      /* new left: an instance of a model; left is a call, or a hole */
    EXPRESSION_reduce,   /* name(items) left, as in sum(k) a[k]: over indices of index notation */
    EXPRESSION_choice,   /* if left { items[0] } else { items[1] } */
} ExpressionKind;

struct Expression {
    ExpressionKind kind;
    Operator operator;
    uint32_t depth;     /* of the tree below, itself included; at most DEPTH_LIMIT */
    Range range;        /* with the parentheses around it */
    double number;      /* with the unit multiplied in: 20k is 20000, 5ms is 0.005 */
    const char *unit;   /* as written ("k", "GiB", "ms"), or NULL */
    const char *string; /* escapes resolved; may hold any byte but NUL */
    Name name;
    Expression *left, *right;
    ExpressionList items;
    ArgumentList arguments;
    AnnotationList annotations;
    TypeTree *type;
};

typedef struct FieldType {
    Name name; /* text NULL: a tuple item */
    TypeTree *type;
} FieldType;
typedef Vector(FieldType) FieldTypeList;

/* `f32[B, 784]`, `i32 in 0..C`, `path`, `(x: f32[784], y: i32)`. */
struct TypeTree {
    Range range;
    Name element;              /* text NULL: a record type, see fields */
    bool has_shape;            /* `f32` against `f32[]` */
    ExpressionList dimensions; /* an item may be EXPRESSION_ellipsis */
    Expression *low, *high;    /* `in low..high`, high excluded; or both NULL */
    FieldTypeList fields;
    uint32_t depth; /* as of an expression */
    bool broken;    /* a hole left by a syntax error that was reported */
};

typedef enum StatementKind {
    STATEMENT_let,    /* let names = value; several names: let (q, k, v) = value; or let
                         names[0][indices] = value */
    STATEMENT_assign, /* names[0] = value: of a name that exists, or an entry of a train block */
    STATEMENT_weight, /* weight names[0]: type = value */
    STATEMENT_state,  /* state names[0]: type = value */
    STATEMENT_return, /* return value */
    STATEMENT_repeat, /* repeat names[0] in value { body } */
    STATEMENT_scan,   /* scan names[0] in value { body } */
    STATEMENT_on,     /* on value { body }; value is a call: gpu(1) */
    STATEMENT_fit,    /* fit { body } */
    STATEMENT_if,     /* if value { body } else { otherwise } */
    STATEMENT_every,  /* every value names[0] { body }; names[0]: steps, epoch, seconds … */
    STATEMENT_action, /* names[0] value: evaluate, save, print inside every; require */
} StatementKind;

struct Statement {
    StatementKind kind;
    uint32_t depth; /* of statements below, itself included; at most NESTING_LIMIT */
    Range range;
    NameList names;         /* none: `let (` with a syntax error behind it */
    const char *pattern;    /* assign: `optimizer "head*" = …` in a train block; or NULL */
    TypeTree *type;         /* weight, state (NULL: broken); or of a let: `let x: f32[B] = …` */
    Expression *value;      /* NULL where nothing was written (weight without initialiser) */
    ExpressionList indices; /* of a let, as the items of EXPRESSION_index; or none */
    StatementList body, otherwise;
};

/* `x: f32[B, 784]`, `units: int`, `rate: f32 = 0.1`, `rate = 0.1`. */
typedef struct Parameter {
    Name name;
    TypeTree *type;    /* or NULL */
    Expression *value; /* the default, or NULL */
} Parameter;
typedef Vector(Parameter) ParameterList;

typedef enum DeclarationKind {
    DECLARATION_import, /* value: the path, a string */
    DECLARATION_option, /* name = value "help" */
    DECLARATION_dim,    /* name = value, or name <= value (bounded) */
    DECLARATION_const,  /* name = value */
    DECLARATION_fn,     /* name(parameters) -> result { body } */
    DECLARATION_model,
    DECLARATION_pipeline,
    DECLARATION_train, /* name { body } */
    DECLARATION_export,
} DeclarationKind;

typedef struct Declaration {
    DeclarationKind kind;
    Range range; /* the whole declaration */
    Name name;   /* text NULL for imports */
    Expression *value;
    const char *help; /* of an option, or NULL */
    bool bounded;     /* dim T <= 1024 */
    bool external;    /* extern fn: a C function, without a body */
    ParameterList parameters;
    TypeTree *result; /* or NULL */
    StatementList body;
    bool broken; /* a syntax error hides some of its head; only the name is sure */
} Declaration;

typedef struct Tree {
    const Source *source;
    Vector(Declaration *) declarations;
} Tree;

/* The tree as indented text, one node a line, for people and tests. */
void tree_print(const Tree *tree, Text *text);
void expression_print(const Expression *expression, Text *text); /* as .flow source, one line */
const char *operator_text(Operator operator);                    /* "+" */

/* What a number with this unit is multiplied by; 0 when there is no such unit. */
double unit_scale(const char *unit);

#endif
