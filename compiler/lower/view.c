/* View: movement as nodes of values; what is known of the elements moves with them. */
#include "compiler/lower/view.h"

#include "compiler/lower/fact.h"

/* Is the number that fills a view one of those its elements may be? */
static bool fill_fits(Dimensions *table, const Value *x, double fill) {
    Value number = value_number(fill, x->range);
    return fact_within(table, fact_of(table, &number), x->low, x->high);
}

Value make_view(const Context *context, const Value *x, const View *view, Type type, Range range) {
    type.element = value_type(x)->element;
    bool guarded = view_is_guarded(context->lowering->dimensions, view, value_type(x), &type);
    bool known =
        x->low && x->high && (!guarded || fill_fits(context->lowering->dimensions, x, view->fill));
    Dim low = x->low, high = x->high;
    Value result = add_node(
        context, (Node){.op = OP_view, .inputs = {x->node}, .view = view, .type = type}, range);
    if (!known || result.kind == VALUE_error) return result;
    result.low = low;
    result.high = high;
    return result;
}

Value make_reshape(const Context *context, const Value *x, Type type, Range range) {
    Value result =
        add_node(context, (Node){.op = OP_reshape, .inputs = {x->node}, .type = type}, range);
    if (result.kind == VALUE_error) return result;
    result.low = x->low;
    result.high = x->high;
    return result;
}
