/* Notation: `let y[n, m] = sum(k) a[n, k] * b[k, m]`.
 *
 * Every index of the statement is an axis of one space, those of y first. `a[n, k]` is a view of a
 * with the sizes of n and k along their axes and 1 along the others, so that all else is plain
 * broadcasting; a reduction makes its axes 1, and at the end only those of y are left. A sum of a
 * product of two factors that fit becomes a matrix product. */
#include "compiler/lower/notation.h"

#include "compiler/lower/view.h"

#include <string.h>

int find_axis(const Notation *notation, const char *name) {
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

/* Calls visit for the expression and all below it that the notation speaks of: not for what an
 * index stands behind. False when one of the visits is. */
typedef bool Visit(const Context *context, Notation *notation, const Expression *expression);

static bool walk(const Context *context, Notation *notation, const Expression *expression,
                 Visit *visit) {
    if (!visit(context, notation, expression)) return false;
    bool operand = expression->kind == EXPRESSION_index;
    if (expression->left && !operand && !walk(context, notation, expression->left, visit))
        return false;
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

static Value add_operand(const Context *context, Notation *notation, const Expression *expression) {
    Context outside = *context;
    outside.notation = NULL;
    Operand operand = {expression, lower_expression(&outside, expression)};
    vector_push(context->lowering->arena, &notation->operands, operand);
    return operand.value;
}

Value lower_indexed_operand(const Context *context, const Expression *expression) {
    if (context->notation)
        vector_each(Operand, operand, context->notation->operands)
            if (operand->expression == expression) return operand->value;
    return lower_expression(context, expression);
}

bool has_rank(const Context *context, const Expression *expression, const Value *x) {
    if ((int)expression->items.count == value_type(x)->rank) return true;
    report(context, E0208, expression->range, "%zu ind%s for the %d dimensions of %s",
           expression->items.count, expression->items.count == 1 ? "ex" : "ices",
           value_type(x)->rank, value_text(context->lowering->arena, x));
    return false;
}

static bool find_sizes(const Context *context, Notation *notation, const Expression *expression) {
    if (expression->kind != EXPRESSION_index) return true;
    Value x = add_operand(context, notation, expression->left);
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

/* The space. */

Type space_type(const Context *context, Element element) {
    Type type = {.element = element, .rank = context->notation->count};
    for (int i = 0; i < type.rank; i++)
        type.dims[i] = dim_constant(context->lowering->dimensions, 1);
    return type;
}

Value in_space(const Context *context, Value value, Range range) {
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

Value stretch(const Context *context, Value value, uint32_t axes, Range range) {
    Type type = *value_type(&value);
    for (int i = 0; i < type.rank; i++)
        if (axes >> i & 1) type.dims[i] = context->notation->axes[i].size;
    if (shape_equal(&type, value_type(&value))) return value;
    return add_node(context, (Node){.op = OP_broadcast, .inputs = {value.node}, .type = type},
                    range);
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
