/* Notation, reductions: `sum(k) …` makes its axes 1. A sum of a product of two factors becomes a
 * matrix product, where each has an axis of the result that the other has not. */
#include "compiler/lower/notation.h"

#include "compiler/lower/view.h"

#include <string.h>

static bool reduced_axes(const Context *context, const Expression *expression, uint32_t *axes) {
    *axes = 0;
    vector_each(Expression *, index, expression->items)
        *axes |= 1u << find_axis(context->notation, (*index)->name.text);
    if (*axes) return true;
    report(context, E0204, expression->range, "`%s` needs an index to go over: `%s(k) …`",
           expression->name.text, expression->name.text);
    return false;
}

/* Is it in the space, with floating-point numbers? */
static bool is_factor(const Context *context, const Value *value) {
    return value->kind == VALUE_tensor && value_type(value)->rank == context->notation->count &&
           is_floating(value_type(value)->element);
}

/* The axes of the space by the part they have in a product. */
typedef struct Parts {
    int shared[RANK_LIMIT], left[RANK_LIMIT], right[RANK_LIMIT], summed[RANK_LIMIT];
    int shared_count, left_count, right_count, summed_count;
} Parts;

static bool divide_axes(const Context *context, const Value *a, const Value *b, uint32_t summed,
                        Parts *parts) {
    *parts = (Parts){0};
    for (int i = 0; i < context->notation->count; i++) {
        bool in_a = !dim_is_one(value_type(a)->dims[i]);
        bool in_b = !dim_is_one(value_type(b)->dims[i]);
        if ((summed >> i & 1) && !(in_a && in_b)) return false;
        if (summed >> i & 1) parts->summed[parts->summed_count++] = i;
        else if (in_a && in_b) parts->shared[parts->shared_count++] = i;
        else if (in_a) parts->left[parts->left_count++] = i;
        else if (in_b) parts->right[parts->right_count++] = i;
    }
    return parts->left_count && parts->right_count;
}

typedef struct Order {
    int count, axes[RANK_LIMIT];
} Order;

static void put(Order *order, const int *axes, int count) {
    for (int i = 0; i < count; i++) order->axes[order->count++] = axes[i];
}

/* The axes in that order, those that are left out being 1. */
static Value arrange(const Context *context, const Value *x, const Order *order, Range range) {
    View view = {.rank = value_type(x)->rank};
    Type type = {.element = value_type(x)->element, .rank = order->count};
    Dim zero = dim_constant(context->lowering->dimensions, 0);
    for (int i = 0; i < view.rank; i++) view.coordinates[i] = coordinate_along(zero, -1);
    for (int i = 0; i < order->count; i++) {
        view.coordinates[order->axes[i]].factors[i] = 1;
        type.dims[i] = value_type(x)->dims[order->axes[i]];
    }
    return make_view(context, x, &view, type, range);
}

static Dim count_of(const Context *context, const Value *x, const int *axes, int count) {
    Dim product = dim_constant(context->lowering->dimensions, 1);
    for (int i = 0; i < count && product; i++)
        product =
            dim_multiply(context->lowering->dimensions, product, value_type(x)->dims[axes[i]]);
    return product;
}

/* As a matrix [shared, rows, columns], each of the three from several axes. */
static Value as_matrix(const Context *context, const Value *x, const Parts *parts, const int *rows,
                       int row_count, const int *columns, int column_count, Range range) {
    Order order = {0};
    Type type = {.element = value_type(x)->element, .rank = parts->shared_count ? 3 : 2};
    put(&order, parts->shared, parts->shared_count);
    put(&order, rows, row_count);
    put(&order, columns, column_count);
    if (parts->shared_count)
        type.dims[0] = count_of(context, x, parts->shared, parts->shared_count);
    type.dims[type.rank - 2] = count_of(context, x, rows, row_count);
    type.dims[type.rank - 1] = count_of(context, x, columns, column_count);
    for (int i = 0; i < type.rank; i++)
        if (!type.dims[i]) return value_error;
    Value arranged = arrange(context, x, &order, range);
    return arranged.kind == VALUE_error ? arranged : make_reshape(context, &arranged, type, range);
}

/* The product's axes back where the space has them. */
static Value spread(const Context *context, const Value *product, const Value *a, const Value *b,
                    const Parts *parts, Range range) {
    Order order = {0};
    put(&order, parts->shared, parts->shared_count);
    put(&order, parts->left, parts->left_count);
    put(&order, parts->right, parts->right_count);
    Type type = {.element = value_type(product)->element, .rank = order.count};
    View view = {.rank = order.count};
    Type space = space_type(context, type.element);
    for (int i = 0; i < order.count; i++) {
        int axis = order.axes[i];
        bool in_a = !dim_is_one(value_type(a)->dims[axis]);
        space.dims[axis] = type.dims[i] = value_type(in_a ? a : b)->dims[axis];
        view.coordinates[i] =
            coordinate_along(dim_constant(context->lowering->dimensions, 0), axis);
    }
    Value apart = make_reshape(context, product, type, range);
    return apart.kind == VALUE_error ? apart : make_view(context, &apart, &view, space, range);
}

static Value multiply(const Context *context, const Value *a, const Value *b, const Parts *parts,
                      Range range) {
    Value left = as_matrix(context, a, parts, parts->left, parts->left_count, parts->summed,
                           parts->summed_count, range);
    Value right = as_matrix(context, b, parts, parts->summed, parts->summed_count, parts->right,
                            parts->right_count, range);
    if (left.kind == VALUE_error || right.kind == VALUE_error) return value_error;
    Node node = {.op = OP_matmul, .inputs = {left.node, right.node}};
    Value product = add_node(context, node, range);
    return product.kind == VALUE_error ? product : spread(context, &product, a, b, parts, range);
}

static Value reduce(const Context *context, const Expression *expression, Value body,
                    uint32_t axes) {
    Range range = expression->range;
    const char *name = expression->name.text;
    bool mean = !strcmp(name, "mean");
    Op op;
    if (!op_by_name(mean ? "sum" : name, &op)) {
        report(context, E0201, expression->name.range, "there is no reduction `%s`", name);
        return value_error;
    }
    body = stretch(context, body, axes, range);
    if (body.kind == VALUE_error) return body;
    Value all = add_node(context, (Node){.op = op, .inputs = {body.node}, .axes = axes}, range);
    if (all.kind == VALUE_error || !mean) return all;
    Dim count = dim_constant(context->lowering->dimensions, 1);
    for (int i = 0; i < context->notation->count && count; i++)
        if (axes >> i & 1)
            count =
                dim_multiply(context->lowering->dimensions, count, context->notation->axes[i].size);
    Value divisor = count ? value_size(count, range) : value_error;
    return lower_binary(context, OPERATOR_divide, &all, &divisor, range);
}

/* A product of two factors; NULL kinds when it is none. */
static bool lower_factors(const Context *context, const Expression *body, Value *a, Value *b) {
    if (body->kind != EXPRESSION_binary || body->operator!= OPERATOR_multiply) return false;
    *a = lower_expression(context, body->left);
    *b = lower_expression(context, body->right);
    return true;
}

Value lower_reduced(const Context *context, const Expression *expression) {
    uint32_t axes;
    Value a, b;
    Parts parts;
    if (!context->notation) {
        Diagnostic *d = report(context, E0214, expression->range,
                               "`%s(k) …` belongs to index notation", expression->name.text);
        diagnostic_help(d, "`let y[n] = sum(k) a[n, k]`");
        return value_error;
    }
    if (!reduced_axes(context, expression, &axes)) return value_error;
    const Expression *body = expression->left;
    bool product = lower_factors(context, body, &a, &b);
    if (product && (a.kind == VALUE_error || b.kind == VALUE_error)) return value_error;
    bool fits = product && !strcmp(expression->name.text, "sum") && is_factor(context, &a) &&
                is_factor(context, &b) && value_type(&a)->element == value_type(&b)->element &&
                divide_axes(context, &a, &b, axes, &parts);
    if (fits) return multiply(context, &a, &b, &parts, expression->range);
    Value value = product ? lower_binary(context, OPERATOR_multiply, &a, &b, body->range)
                          : lower_expression(context, body);
    value = in_space(context, value, body->range);
    return value.kind == VALUE_error ? value : reduce(context, expression, value, axes);
}
