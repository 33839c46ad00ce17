/* Notation: `let y[n, m] = sum(k) a[n, k] * b[k, m]`.
 *
 * Every index of the statement is an axis of one space, those of y first. `a[n, k]` is a view of a
 * with the sizes of n and k along their axes and 1 along the others, so that all else is plain
 * broadcasting; a reduction makes its axes 1, and at the end only those of y are left. A sum of a
 * product of two factors that fit becomes a matrix product. */
#include "compiler/lower/view.h"

#include <math.h>
#include <string.h>

typedef struct Axis {
    const char *name;
    Range range; /* where the name was introduced */
    Dim size;    /* NULL: not known yet */
    Range told;  /* the operand that told it */
} Axis;

typedef struct Notation {
    int count, results; /* axes; those of the result come first */
    Axis axes[RANK_LIMIT];
} Notation;

static int find_axis(const Notation *notation, const char *name) {
    for (int i = 0; i < notation->count; i++)
        if (!strcmp(notation->axes[i].name, name)) return i;
    return -1;
}

/* Collecting indices. */

static bool add_axis(const Context *context, Notation *notation, const Expression *index) {
    if (index->kind != EXPRESSION_name) {
        report(context, E0204, index->range, "an index of `let` is a new name");
        return false;
    }
    const Binding *taken = scope_find(context->scope, index->name.text);
    if (taken) {
        Diagnostic *d =
            report(context, E0202, index->range, "`%s` is declared already", index->name.text);
        if (taken->value.range.source) diagnostic_note(d, taken->value.range, "it comes from here");
        diagnostic_help(d, "an index is a new name");
        return false;
    }
    if (notation->count == RANK_LIMIT) {
        report(context, E0208, index->range, "there can be at most %d indices", RANK_LIMIT);
        return false;
    }
    notation->axes[notation->count++] = (Axis){.name = index->name.text, .range = index->range};
    return true;
}

static bool add_results(const Context *context, Notation *notation, const Statement *statement) {
    vector_each(Expression *, index, statement->indices) {
        bool named = (*index)->kind == EXPRESSION_name;
        if (named && find_axis(notation, (*index)->name.text) >= 0) {
            report(context, E0202, (*index)->range, "the index `%s` is given twice",
                   (*index)->name.text);
            return false;
        }
        if (!add_axis(context, notation, *index)) return false;
    }
    notation->results = notation->count;
    return true;
}

/* Calls visit for the expression and all below it. False when one of the visits is. */
typedef bool Visit(const Context *context, Notation *notation, const Expression *expression);

static bool walk(const Context *context, Notation *notation, const Expression *expression,
                 Visit *visit) {
    if (!visit(context, notation, expression)) return false;
    if (expression->left && !walk(context, notation, expression->left, visit)) return false;
    if (expression->right && !walk(context, notation, expression->right, visit)) return false;
    vector_each(Expression *, item, expression->items)
        if (!walk(context, notation, *item, visit)) return false;
    vector_each(Argument, argument, expression->arguments)
        if (!walk(context, notation, argument->value, visit)) return false;
    return true;
}

static bool add_reduced(const Context *context, Notation *notation, const Expression *expression) {
    if (expression->kind != EXPRESSION_reduce) return true;
    vector_each(Expression *, index, expression->items) {
        int known = find_axis(notation, (*index)->name.text);
        if (known >= 0 && known < notation->results) {
            Diagnostic *d = report(context, E0202, (*index)->range,
                                   "`%s` is an index of the result", (*index)->name.text);
            diagnostic_note(d, notation->axes[known].range, "here");
            return false;
        }
        if (known < 0 && !add_axis(context, notation, *index)) return false;
    }
    return true;
}

/* Ranges. */

static bool tell_size(const Context *context, Axis *axis, Dim size, Range range) {
    if (!axis->size) {
        axis->size = size;
        axis->told = range;
    }
    if (axis->size == size) return true;
    Arena *arena = context->lowering->arena;
    Diagnostic *d =
        report(context, E0207, range, "the index `%s` goes to %s here and to %s elsewhere",
               axis->name, dim_text(arena, size), dim_text(arena, axis->size));
    diagnostic_note(d, axis->told, "it goes to %s here", dim_text(arena, axis->size));
    return false;
}

/* The operand of an index, looked at outside of the notation. */
static Value operand_of(const Context *context, const Expression *expression) {
    Context outside = *context;
    outside.notation = NULL;
    return lower_expression(&outside, expression->left);
}

static bool has_rank(const Context *context, const Expression *expression, const Value *x) {
    if ((int)expression->items.count == value_type(x)->rank) return true;
    report(context, E0208, expression->range, "%zu ind%s for the %d dimensions of %s",
           expression->items.count, expression->items.count == 1 ? "ex" : "ices",
           value_type(x)->rank, value_text(context->lowering->arena, x));
    return false;
}

static bool find_sizes(const Context *context, Notation *notation, const Expression *expression) {
    if (expression->kind != EXPRESSION_index) return true;
    Value x = operand_of(context, expression);
    if (x.kind == VALUE_error) return false;
    size_t count = expression->items.count;
    if (x.kind != VALUE_tensor) return true;
    if (!has_rank(context, expression, &x)) return false;
    for (size_t i = 0; i < count; i++) {
        const Expression *item = expression->items.items[i];
        int axis = item->kind == EXPRESSION_name ? find_axis(notation, item->name.text) : -1;
        if (axis >= 0 &&
            !tell_size(context, &notation->axes[axis], value_type(&x)->dims[i], expression->range))
            return false;
    }
    return true;
}

static bool has_sizes(const Context *context, const Notation *notation) {
    for (int i = 0; i < notation->count; i++) {
        const Axis *axis = &notation->axes[i];
        if (axis->size) continue;
        Diagnostic *d =
            report(context, E0206, axis->range, "how far `%s` goes is not known", axis->name);
        diagnostic_help(d, "it is the size of a tensor that it indexes alone, as in `x[%s]`",
                        axis->name);
        return false;
    }
    return true;
}

/* Operands. */

/* What an index expression is: start + the sum of factors times axes. */
typedef struct Affine {
    int64_t start, factors[RANK_LIMIT];
} Affine;

static bool to_affine(const Context *context, const Expression *expression, Affine *affine);

static bool combine(const Context *context, const Expression *binary, Affine *affine) {
    Affine a = {0}, b = {0};
    if (!to_affine(context, binary->left, &a) || !to_affine(context, binary->right, &b))
        return false;
    bool a_constant = true, b_constant = true;
    for (int i = 0; i < RANK_LIMIT; i++) {
        a_constant &= !a.factors[i];
        b_constant &= !b.factors[i];
    }
    if (binary->operator== OPERATOR_multiply && !a_constant && !b_constant) return false;
    for (int i = 0; i < RANK_LIMIT; i++)
        affine->factors[i] = binary->operator== OPERATOR_add ? a.factors[i] + b.factors[i]
                             : binary->operator== OPERATOR_subtract
                                 ? a.factors[i] - b.factors[i]
                                 : a.factors[i] * b.start + a.start * b.factors[i];
    affine->start = binary->operator== OPERATOR_add        ? a.start + b.start
                    : binary->operator== OPERATOR_subtract ? a.start - b.start
                                                           : a.start * b.start;
    return true;
}

static bool to_affine(const Context *context, const Expression *expression, Affine *affine) {
    int axis = expression->kind == EXPRESSION_name
                   ? find_axis(context->notation, expression->name.text)
                   : -1;
    if (axis >= 0) {
        affine->factors[axis] = 1;
        return true;
    }
    bool arithmetic = expression->kind == EXPRESSION_binary &&
                      (expression->operator== OPERATOR_add ||
                       expression->
                       operator== OPERATOR_subtract || expression->
                       operator== OPERATOR_multiply);
    if (arithmetic) return combine(context, expression, affine);
    Context fixing = *context;
    fixing.fixing = true;
    Value value = lower_expression(&fixing, expression);
    double number;
    if (value.kind != VALUE_number && value.kind != VALUE_size) return false;
    if (!to_number(&fixing, &value, expression->range, &number)) return false;
    if (number != floor(number) || fabs(number) > FACTOR_LIMIT) return false;
    affine->start = (int64_t)number;
    return true;
}

static Type space_type(const Context *context, Element element) {
    Type type = {.element = element, .rank = context->notation->count};
    for (int i = 0; i < type.rank; i++)
        type.dims[i] = dim_constant(context->lowering->dimensions, 1);
    return type;
}

static bool add_coordinate(const Context *context, const Expression *item, View *view, int at,
                           Type *type) {
    Affine affine = {0};
    size_t reported = context->lowering->diagnostics->list.count;
    if (!to_affine(context, item, &affine)) {
        if (context->lowering->diagnostics->list.count > reported) return false;
        Diagnostic *d = report(context, E0206, item->range,
                               "an index is a sum of indices and whole numbers, as in `2*i + p`");
        diagnostic_help(d, "`gather(x, places)` takes places that are computed");
        return false;
    }
    view->coordinates[at] =
        coordinate_along(dim_constant(context->lowering->dimensions, affine.start), -1);
    for (int i = 0; i < context->notation->count; i++) {
        if (!affine.factors[i]) continue;
        view->coordinates[at].factors[i] = affine.factors[i];
        type->dims[i] = context->notation->axes[i].size;
    }
    return true;
}

/* Nothing is read outside of the operand. */
static bool stays_inside(const Context *context, const Expression *expression, const View *view,
                         const Value *x, const Type *type) {
    Dimensions *table = context->lowering->dimensions;
    for (int i = 0; i < value_type(x)->rank; i++) {
        if (!coordinate_guards(table, &view->coordinates[i], value_type(x)->dims[i], type))
            continue;
        Diagnostic *d = report(context, E0211, expression->items.items[i]->range,
                               "this may lie outside of the size %s",
                               dim_text(context->lowering->arena, value_type(x)->dims[i]));
        diagnostic_note(d, expression->left->range, "the size is that of axis %d of %s", i,
                        value_text(context->lowering->arena, x));
        diagnostic_help(d, "`pad(…)` makes room around a tensor");
        return false;
    }
    return true;
}

Value lower_indexed(const Context *context, const Expression *expression, const Value *x) {
    const Type *operand = value_type(x);
    View view = {.rank = operand->rank};
    Type type = space_type(context, operand->element);
    if (!has_rank(context, expression, x)) return value_error;
    for (int i = 0; i < operand->rank; i++)
        if (!add_coordinate(context, expression->items.items[i], &view, i, &type))
            return value_error;
    if (!stays_inside(context, expression, &view, x, &type)) return value_error;
    return make_view(context, x, &view, type, expression->range);
}

/* Reductions. */

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

/* A tensor of the space that the value is. */
static Value in_space(const Context *context, Value value, Range range) {
    if (value.kind == VALUE_error) return value;
    Element element = value.kind == VALUE_tensor ? value_type(&value)->element : TYPE_f32;
    NodeId node = to_node(context, &value, element, range);
    if (node == NODE_NONE) return value_error;
    Value tensor = value_tensor(context->graph, node, range);
    int rank = value_type(&tensor)->rank;
    if (rank == context->notation->count) return tensor;
    if (!rank) return make_reshape(context, &tensor, space_type(context, element), range);
    Diagnostic *d = report(context, E0208, range, "%s has axes that no index stands for",
                           value_text(context->lowering->arena, &tensor));
    diagnostic_help(d, "write its indices in brackets");
    return value_error;
}

/* Every reduced axis at its full size: a sum over k of what does not depend on k has its terms. */
static Value stretch(const Context *context, Value value, uint32_t axes, Range range) {
    Type type = *value_type(&value);
    for (int i = 0; i < type.rank; i++)
        if (axes >> i & 1) type.dims[i] = context->notation->axes[i].size;
    if (shape_equal(&type, value_type(&value))) return value;
    return add_node(context, (Node){.op = OP_broadcast, .inputs = {value.node}, .type = type},
                    range);
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

/* The statement. */

/* Each index as the numbers it goes through, along its axis. */
static Scope *index_scope(const Context *context) {
    const Notation *notation = context->notation;
    Dimensions *table = context->lowering->dimensions;
    Scope *scope = scope_new(context->lowering->arena, context->scope);
    for (int i = 0; i < notation->count; i++) {
        const Axis *axis = &notation->axes[i];
        Type line = {.element = TYPE_i32, .rank = 1, .dims = {axis->size}};
        Type type = space_type(context, TYPE_i32);
        type.dims[i] = axis->size;
        Value numbers = add_node(context, (Node){.op = OP_iota, .type = line}, axis->range);
        if (numbers.kind == VALUE_tensor) {
            numbers.low = dim_constant(table, 0);
            numbers.high = axis->size;
            numbers = make_reshape(context, &numbers, type, axis->range);
        }
        scope_put(context->lowering->arena, scope, axis->name, numbers);
    }
    return scope;
}

/* The axes of the result alone, at their full sizes. */
static Value leave_results(const Context *context, Value value, Range range) {
    const Notation *notation = context->notation;
    value = in_space(context, value, range);
    if (value.kind == VALUE_error) return value;
    for (int i = notation->results; i < notation->count; i++) {
        const Axis *axis = &notation->axes[i];
        if (dim_is_one(value_type(&value)->dims[i])) continue;
        Diagnostic *d =
            report(context, E0214, range, "`%s` is used outside of its reduction", axis->name);
        diagnostic_note(d, axis->range, "it is reduced here");
        return value_error;
    }
    value = stretch(context, value, (1u << notation->results) - 1, range);
    if (value.kind == VALUE_error) return value;
    Type type = {.element = value_type(&value)->element, .rank = notation->results};
    for (int i = 0; i < type.rank; i++) type.dims[i] = notation->axes[i].size;
    return make_reshape(context, &value, type, range);
}

static Value compute(const Context *context, const Statement *statement, Notation *notation) {
    const Expression *value = statement->value;
    if (!context->graph || !context->function) {
        report(context, E0206, statement->range, "tensors don't exist here");
        return value_error;
    }
    bool sound = add_results(context, notation, statement) &&
                 walk(context, notation, value, add_reduced) &&
                 walk(context, notation, value, find_sizes) && has_sizes(context, notation);
    if (!sound) return value_error;
    Context inside = *context;
    inside.notation = notation;
    inside.expected = NULL;
    inside.scope = index_scope(&inside);
    return leave_results(&inside, lower_expression(&inside, value), value->range);
}

void lower_notation(const Context *context, const Statement *statement) {
    Notation notation = {0};
    Value value = compute(context, statement, &notation);
    value.range = statement->value->range;
    introduce(context, &statement->names.items[0], value);
}
