/* Notation, operands: `a[2*i + p, k]` as a view that has the axes of the space. */
#include "compiler/lower/notation.h"

#include "compiler/lower/view.h"

#include <math.h>

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
