/* Gather: elements at places that are data, along any axis, and scatter_add, as the ops along the
 * first axis. Every index is proven to be in range. */
#include "compiler/lower/builtin.h"

#include "compiler/lower/fact.h"
#include "compiler/lower/view.h"

/* Is every index in 0..size? False after reporting. */
static bool is_in_range(const Context *context, const Value *index, Dim size, Range range) {
    Dimensions *table = context->lowering->dimensions;
    Arena *arena = context->lowering->arena;
    Fact known = fact_of(table, index);
    if (fact_within(table, known, dim_constant(table, 0), size)) return true;
    if (context->checking) return true; /* a call will tell */
    const char *end = dim_text(arena, size);
    Diagnostic *d =
        report(context, E0211, index->range.source ? index->range : range,
               "the index has to be proven to lie in 0..%s, %s", end, fact_text(arena, known));
    diagnostic_help(d,
                    "declare the range where the data enters (`i32 in 0..%s`), or make it so: "
                    "`remainder(i, %s)`, `clamp(i, 0, %s)`",
                    end, end, dim_text(arena, dim_subtract(table, size, dim_constant(table, 1))));
    return false;
}

/* The index as a node that can count to `last`; NODE_NONE after reporting. */
static NodeId index_node(const Context *context, const Value *index, Dim last, Range range) {
    Element element = index->kind == VALUE_tensor ? value_type(index)->element : TYPE_i32;
    NodeId node = to_node(context, index, element, range);
    if (node == NODE_NONE) return node;
    if (element_info[element].class != CLASS_integer) {
        Diagnostic *d = report(context, E0203, index->range.source ? index->range : range,
                               "an index is an integer, not %s", element_info[element].name);
        diagnostic_help(d, "`cast(…, i32)`");
        return NODE_NONE;
    }
    Type type = graph_node(context->graph, node)->type;
    bool large = dim_bound(last) != SIZE_UNKNOWN && dim_bound(last) > INT32_MAX;
    type.element = large || element == TYPE_i64 ? TYPE_i64 : TYPE_i32;
    return graph_declared(context->graph, OP_cast, node, type, range);
}

/* rows[p] * size, shaped so that it can be added to indices of that rank. */
static NodeId row_starts(const Context *context, Dim rows, Dim size, const Type *index,
                         Range range) {
    Graph *graph = context->graph;
    Problem problem;
    Dim one = dim_constant(graph->dimensions, 1);
    Type type = {.element = index->element, .rank = 1, .dims = {rows}};
    Node iota = {.op = OP_iota, .type = type, .range = range};
    NodeId row = graph_add(graph, iota, &problem);
    Value value = value_size(size, range);
    NodeId scale = to_node(context, &value, index->element, range);
    if (scale == NODE_NONE) return NODE_NONE;
    NodeId start = graph_make(graph, OP_multiply, row, scale, NODE_NONE, range);
    for (int i = 0; i < index->rank; i++) type.dims[type.rank++] = one;
    return graph_declared(graph, OP_reshape, start, type, range);
}

/* Along a later axis: the dimensions before it become rows of one, and indices count on from row
 * to row. */
static Value gather_along(const Context *context, const Value *a, NodeId index, int axis,
                          Range range) {
    Graph *graph = context->graph;
    Dimensions *table = graph->dimensions;
    Type type = *value_type(a), flat = {.element = type.element, .rank = 1};
    Type index_type = graph_node(graph, index)->type;
    Dim rows = type_count(table, &type, 0, axis);
    flat.dims[0] = type_count(table, &type, 0, axis + 1);
    for (int i = axis + 1; i < type.rank; i++) flat.dims[flat.rank++] = type.dims[i];
    NodeId starts = row_starts(context, rows, type.dims[axis], &index_type, range);
    if (starts == NODE_NONE) return value_error;
    NodeId place = graph_make(graph, OP_add, starts, index, NODE_NONE, range);
    NodeId source = graph_declared(graph, OP_reshape, a->node, flat, range);
    Value found = add_node(context, (Node){.op = OP_gather, .inputs = {source, place}}, range);
    if (found.kind == VALUE_error) return found;
    Type result = {.element = type.element};
    for (int i = 0; i < axis; i++) result.dims[result.rank++] = type.dims[i];
    const Type *gathered = value_type(&found);
    for (int i = 1; i < gathered->rank; i++) result.dims[result.rank++] = gathered->dims[i];
    found.node = graph_declared(graph, OP_reshape, found.node, result, range);
    return found;
}

/* Are the indices 0, 1, 2, …? */
static bool counts_up(const Context *context, NodeId index) {
    const Node *node = graph_node(context->graph, index);
    return node->op == OP_iota && node->type.rank == 1;
}

/* The first places of an axis, which are a slice. */
static Value first_places(const Context *context, const Value *a, int axis, Dim count,
                          Range range) {
    Type type = *value_type(a);
    const View view = view_identity(context->lowering->dimensions, type.rank);
    type.dims[axis] = count;
    return make_view(context, a, &view, type, range);
}

Value call_gather(BuiltinCall *call) {
    const Context *context = call->context;
    const Value *a = &call->values[0], *index = &call->values[1];
    Type type = *value_type(a);
    int axis = axis_argument(call, 2, 0, type.rank);
    if (call->broken) return value_error;
    Dim all = type_count(table_of(call), &type, 0, axis + 1);
    NodeId places = index_node(context, index, all ? all : type.dims[axis], call->range);
    if (places == NODE_NONE || !is_in_range(context, index, type.dims[axis], call->range) ||
        !has_room(call, type.rank - 1 + graph_node(context->graph, places)->type.rank))
        return value_error;
    const Type *index_type = &graph_node(context->graph, places)->type;
    Node node = {.op = OP_gather, .inputs = {a->node, places}};
    Value found = counts_up(context, places)
                      ? first_places(context, a, axis, index_type->dims[0], call->range)
                  : axis ? gather_along(context, a, places, axis, users_place(context, call->range))
                         : add_node(context, node, call->range);
    found.range = call->range;
    note_fact(table_of(call), OP_gather, (const Value *const[]){a, index}, &found);
    return found;
}

/* Sums of the updates at the indices, in a tensor of `size` rows. */
Value call_scatter_add(BuiltinCall *call) {
    const Context *context = call->context;
    const Value *index = &call->values[0], *updates = &call->values[1], *rows = &call->values[2];
    if (!tensor_argument(call, 1)) return value_error;
    Dim size = to_size(context, rows, rows->range);
    if (!size || !is_dimension(context, size, rows->range)) return value_error;
    NodeId places = index_node(context, index, size, call->range);
    if (places == NODE_NONE || !is_in_range(context, index, size, call->range)) return value_error;
    const Type *from = value_type(updates);
    int skipped = graph_node(context->graph, places)->type.rank;
    if (!has_room(call, from->rank - skipped + 1)) return value_error;
    Type type = {.element = from->element, .rank = 1, .dims = {size}};
    for (int i = skipped; i < from->rank; i++) type.dims[type.rank++] = from->dims[i];
    Node node = {.op = OP_scatter_add, .inputs = {places, updates->node}, .type = type};
    return add_node(context, node, call->range);
}
