/* Ops: the table of primitive operations, and the type rule of each. */
#ifndef FLOW_OPS_H
#define FLOW_OPS_H

#include "compiler/ops/view.h"
#include "lang/diagnostic.h"

enum { ARITY_LIMIT = 3 };

typedef enum Op {
#define OP(name, formula, ...) OP_##name,
#include "compiler/ops/ops.def"
#undef OP
    OP_COUNT
} Op;

/* The kind of loop that computes an op. */
typedef enum LoopClass {
    LOOP_elementwise, /* y[i] from a[i], b[i], c[i], broadcast */
    LOOP_generate,    /* y[i] from i */
    LOOP_reduce,      /* over the node's axes */
    LOOP_row,         /* y[…, :] from a[…, :] */
    LOOP_contract,    /* sums of products */
    LOOP_move,        /* the same elements at other places */
    LOOP_gather,      /* elements at places that are data */
    LOOP_scatter,     /* sums at places that are data */
    LOOP_none,        /* computes nothing */
} LoopClass;

typedef enum Takes { TAKES_any, TAKES_number, TAKES_integer, TAKES_floating, TAKES_boolean } Takes;
typedef enum Gives { GIVES_same, GIVES_boolean, GIVES_index, GIVES_declared } Gives;

/* An entry of ops.def. */
typedef struct OpInfo {
    const char *name;
    const char *formula;
    LoopClass class;
    int arity;
    Takes takes;
    Gives gives;
    const char *gradient; /* NULL: there is none */
    const char *initial;
    int cost;                /* 0 stands for 1 */
    double error, error_f64; /* 0: none but that of rounding */
    bool hidden;
    const char *domain; /* NULL: "any" */
} OpInfo;

extern const OpInfo op_info[OP_COUNT];

bool op_by_name(const char *name, Op *op);

/* Is the first operand a condition, of which the others know nothing? */
static inline bool op_has_condition(Op op) {
    return op == OP_select || op == OP_keep;
}

/* Is it made of what all replicas have? */
static inline bool op_is_whole(Op op) {
    return op >= OP_whole_sum && op <= OP_whole_prod;
}

/* The gradient by one operand, a flow expression of *size characters; NULL: none flows there. */
const char *op_gradient(Op op, int operand, size_t *size);

/* Why a node can't be. text NULL: it can. */
typedef struct Problem {
    ErrorCode code;
    const char *text;
} Problem;

/* What an op is given beside its operands. */
typedef struct Operands {
    int count;
    const Type *types[ARITY_LIMIT];
    uint32_t axes;    /* of a reduction: bit i is dimension i */
    const View *view; /* of a view */
} Operands;

/* The result's type. For ops with GIVES_declared, *result comes in as declared and is checked. */
Problem op_infer(Dimensions *table, Op op, const Operands *operands, Type *result);

/* Numpy's rule: dims align at the end; 1 stretches. False when two differ; *at is the place,
 * counted in the result. */
bool broadcast_shapes(Dimensions *table, const Type *a, const Type *b, Type *result, int *at);

#endif
