/* Reduction: sums and their like over some axes, and functions of each row along one. */
#include "compiler/lower/operation.h"

#include "compiler/graph/movement.h"
#include "compiler/lower/fact.h"

static Value drop_axes(const Context *context, Value value, uint32_t axes, Range range) {
    const Type *type = value_type(&value);
    Type kept = type_scalar(type->element);
    for (int i = 0; i < type->rank; i++)
        if (!(axes >> i & 1)) kept.dims[kept.rank++] = type->dims[i];
    return add_node(context, (Node){.op = OP_reshape, .inputs = {value.node}, .type = kept}, range);
}

/* An index among the elements of these axes. */
static void note_index(Dimensions *table, const Type *type, uint32_t axes, Value *index) {
    index->low = dim_constant(table, 0);
    index->high = size_along(table, type, axes);
}

Value lower_reduction(BuiltinCall *call) {
    const Context *context = call->context;
    const Value *a = &call->values[0];
    const Type type = *value_type(a);
    uint32_t axes = axes_argument(call, 1, type.rank);
    bool keep = number_argument(call, 2, 0) != 0;
    if (call->broken) return value_error;
    Node node = {.op = call->op, .inputs = {a->node}, .axes = axes};
    Value result = add_node(context, node, call->range);
    if (result.kind != VALUE_error && !keep) result = drop_axes(context, result, axes, call->range);
    if (result.kind == VALUE_error) return result;
    note_fact(table_of(call), call->op, &a, &result);
    if (op_info[call->op].gives == GIVES_index) note_index(table_of(call), &type, axes, &result);
    return result;
}

/* The op along the last axis; another one changes places with that before and after. */
static Value lower_rows(const Context *context, Op op, NodeId a, int axis, Range range) {
    Graph *graph = context->graph;
    int last = graph_node(graph, a)->type.rank - 1;
    if (axis >= last) return add_node(context, (Node){.op = op, .inputs = {a}}, range);
    Range place = users_place(context, range);
    NodeId rows = graph_exchange(graph, a, axis, last, place);
    Value result = add_node(context, (Node){.op = op, .inputs = {rows}}, range);
    if (result.kind != VALUE_error)
        result.node = graph_exchange(graph, result.node, axis, last, place);
    return result;
}

Value lower_row(BuiltinCall *call) {
    const Value *a = &call->values[0];
    int rank = value_type(a)->rank, axis = rank ? axis_argument(call, 1, -1, rank) : 0;
    if (call->broken) return value_error;
    Value result = lower_rows(call->context, call->op, a->node, axis, call->range);
    if (result.kind != VALUE_error && op_info[call->op].gives == GIVES_index)
        note_index(table_of(call), value_type(&result), 1u << axis, &result);
    return result;
}

Value call_argsort(BuiltinCall *call) {
    if (number_argument(call, 2, 0) != 0) call->op = OP_argsort_descending;
    return lower_row(call);
}
