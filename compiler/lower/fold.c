/* Fold: arithmetic at compile time, on numbers, sizes, strings and lists. */
#include "compiler/lower/fold.h"

#include "compiler/graph/build.h"

#include <math.h>
#include <string.h>

bool known_number(const Value *value, double *number) {
    int64_t constant;
    if (value->kind == VALUE_size) {
        if (!dim_is_constant(value->size, &constant)) return false;
        *number = (double)constant;
        return true;
    }
    *number = value->number;
    return value->kind == VALUE_number || value->kind == VALUE_truth;
}

Value fold_numbers(Op op, double a, double b, Range range) {
    Node node = {.op = op, .type = type_scalar(TYPE_f64)};
    Value value = value_number(op_evaluate(&node, (double[]){a, b, 0}, true), range);
    if (op_info[op].gives == GIVES_boolean || op_info[op].takes == TAKES_boolean)
        value.kind = VALUE_truth;
    return value;
}

/* The dimension a value is, without a report; NULL when it is none. */
static Dim as_size(const Context *context, const Value *value) {
    double number;
    if (value->kind == VALUE_size) return value->size;
    if (value->kind != VALUE_number) return NULL;
    number = value->number;
    bool whole = number == floor(number) && fabs(number) <= (double)DIMENSION_LIMIT;
    return whole ? dim_constant(context->lowering->dimensions, (int64_t)number) : NULL;
}

/* Arithmetic of sizes with symbols in them. NULL: it is none that stays a size. */
static Dim fold_sizes(const Context *context, Op op, Dim a, Dim b) {
    Dimensions *table = context->lowering->dimensions;
    int64_t divisor;
    switch (op) {
    case OP_add: return dim_add(table, a, b);
    case OP_subtract: return dim_subtract(table, a, b);
    case OP_multiply: return dim_multiply(table, a, b);
    case OP_divide:
        return context->checking || dim_is_constant(b, &divisor) ? dim_divide(table, a, b) : NULL;
    default: return NULL;
    }
}

static int64_t largest(Dim symbol, const void *context) {
    (void)context;
    return dim_bound(symbol);
}

typedef struct Remainder {
    int64_t value, dividend, divisor;
} Remainder;

static void note_remainder(Dim dividend, Dim divisor, void *context) {
    Remainder *remainder = context;
    if (remainder->value || !dim_is_bounded(dividend)) return;
    remainder->dividend = dim_evaluate(dividend, largest, NULL);
    remainder->divisor = dim_evaluate(divisor, largest, NULL);
    if (remainder->divisor) remainder->value = remainder->dividend % remainder->divisor;
}

static void note_bounded(Dim symbol, void *number) {
    if (dim_bounded_number(symbol) >= 0) *(int *)number = dim_bounded_number(symbol);
}

/* A run has the largest sizes if it is not told others, so at least these come out whole. */
static bool divides_at_bound(const Context *context, Dim size, Range range) {
    Remainder remainder = {0};
    dim_each_quotient(size, note_remainder, &remainder);
    if (!remainder.value) return true;
    int number = 0;
    dim_each_symbol(size, note_bounded, &number);
    const Bound *bound = &context->lowering->program->bounds.items[number];
    Diagnostic *d = report(context, E0209, range,
                           "%s is not whole at the largest size: %lld does not divide by %lld",
                           dim_text(context->lowering->arena, size), (long long)remainder.dividend,
                           (long long)remainder.divisor);
    diagnostic_note(d, bound->range, "`%s` is bounded here", bound->name);
    return false;
}

static Value truth(bool holds, Range range) {
    return (Value){.kind = VALUE_truth, .range = range, .number = holds};
}

static bool is_list(const Value *value) {
    return value->kind == VALUE_items && !value->items.names;
}

static Value joined(Arena *arena, const Items *a, const Items *b, Range range) {
    Items items = {a->count + b->count, NULL, arena_new_array(arena, Value, a->count + b->count)};
    for (size_t i = 0; i < items.count; i++)
        items.values[i] = i < a->count ? a->values[i] : b->values[i - a->count];
    return (Value){.kind = VALUE_items, .range = range, .items = items};
}

/* Strings compare, lists are joined by `+`. */
static bool fold_others(const Context *context, Op op, const Value *a, const Value *b, Range range,
                        Value *result) {
    bool compares = op == OP_equal || op == OP_not_equal;
    if (a->kind == VALUE_string && b->kind == VALUE_string && compares) {
        *result = value_error;
        if (a->string == any_string || b->string == any_string) return true;
        bool equal = !strcmp(fixed_string(context, a), fixed_string(context, b));
        *result = truth(equal == (op == OP_equal), range);
        return true;
    }
    if (!is_list(a) || !is_list(b) || op != OP_add) return false;
    *result = joined(context->lowering->arena, &a->items, &b->items, range);
    if (!is_small_list(context, result)) *result = value_error;
    return true;
}

/* Two sizes: another one, or how they compare. */
static bool fold_dims(const Context *context, Op op, Dim a, Dim b, Range range, Value *result) {
    if (a == b && (op == OP_equal || op == OP_not_equal)) {
        *result = truth(op == OP_equal, range);
        return true;
    }
    Dim size = fold_sizes(context, op, a, b);
    if (size && op == OP_divide && !divides_at_bound(context, size, range)) {
        *result = value_error;
        return true;
    }
    bool undecided = context->checking && op_info[op].gives == GIVES_boolean;
    if (!size && !undecided) return false;
    *result = undecided ? value_error : value_size(size, range);
    return true;
}

bool fold_binary(const Context *context, Op op, const Value *a, const Value *b, Range range,
                 Value *result) {
    double x, y;
    if (fold_others(context, op, a, b, range, result)) return true;
    if (known_number(a, &x) && known_number(b, &y)) {
        *result = fold_numbers(op, x, y, range);
        return true;
    }
    Dim p = as_size(context, a), q = as_size(context, b);
    return p && q && fold_dims(context, op, p, q, range, result);
}
