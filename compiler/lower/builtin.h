/* Builtin: inside lower/, calls of the functions that the language itself has. A call fills the
 * parameters by position and by name; then the builtin's function makes the result of them. */
#ifndef FLOW_LOWER_BUILTIN_H
#define FLOW_LOWER_BUILTIN_H

#include "compiler/lower/lowering.h"

enum { PARAMETER_LIMIT = 5 };

typedef struct BuiltinCall BuiltinCall;

typedef struct Builtin {
    const char *name;
    int needed;    /* the first ones have no default */
    int positions; /* those behind them are given by name */
    const char *parameters[PARAMETER_LIMIT];
    Value (*lower)(BuiltinCall *call);
} Builtin;

struct BuiltinCall {
    const Context *context;
    const Expression *expression;
    const Builtin *builtin;
    Range range;
    Op op; /* of that name, if there is one */
    bool given[PARAMETER_LIMIT];
    Value values[PARAMETER_LIMIT];
    bool broken; /* something was reported */
};

#define BUILTIN(name, ...) Value call_##name(BuiltinCall *call);
#include "compiler/lower/builtins.def"
#undef BUILTIN

/* The entry of builtins.def, or NULL. */
const Builtin *find_builtin(const char *name);

/* The name of an entry that is nearest, or NULL. */
const char *nearest_builtin(const char *name);

/* Fills the parameters and lowers the call; value_error after reporting. piped: the value on the
 * left of `|>`, or NULL. */
Value run_builtin(BuiltinCall *call, const Value *piped);

/* argument.c: what a parameter was given. All of them report what is wrong, and set
 * call->broken. */

static inline Dimensions *table_of(const BuiltinCall *call) {
    return call->context->lowering->dimensions;
}

static inline Dim constant(const BuiltinCall *call, int64_t value) {
    return dim_constant(table_of(call), value);
}

/* value_text of it. */
const char *text_of(const BuiltinCall *call, const Value *value);

/* value_error, of a call that is broken from here on. */
Value fail_call(BuiltinCall *call);

/* Where the argument stands, or else the call. */
Range argument_range(const BuiltinCall *call, int which);

/* Is it a tensor of the graph, of one shape for all records? A list becomes one. */
bool tensor_argument(BuiltinCall *call, int which);
bool is_tensor(BuiltinCall *call, const Value *value, Range range);

/* A number known now; the default where the argument was left out. */
double number_argument(BuiltinCall *call, int which, double otherwise);
int64_t whole_argument(BuiltinCall *call, int which, int64_t otherwise);

/* An axis of a tensor of that rank, counted from 0. */
int axis_argument(BuiltinCall *call, int which, int otherwise, int rank);

/* One axis, a list of them or `all`, which is the default; bit i is axis i. */
uint32_t axes_argument(BuiltinCall *call, int which, int rank);

/* The same in the order that they are listed; each once. Returns how many. */
int ordered_axes(BuiltinCall *call, int which, int rank, int *axes);

/* A list of sizes, which may be less than 0, or one size: as many as `count`; `otherwise` for each
 * when the argument was left out. */
void exact_sizes(BuiltinCall *call, int which, int count, int64_t otherwise, Dim *sizes);

/* The same as numbers from `least` up. */
void exact_numbers(BuiltinCall *call, int which, int count, int64_t otherwise, int64_t least,
                   int64_t *numbers);

/* The dimensions that a list of sizes, or one size, says. */
bool shape_argument(BuiltinCall *call, int which, Type *type);

/* Has a tensor room for so many dimensions? */
bool has_room(BuiltinCall *call, int rank);

/* The sum or difference, when it is a dimension; else 1. NULL: it passes a limit. */
Dim checked(BuiltinCall *call, Dim size);

#endif
