/* Stack: a list of values becomes a tensor where one is asked for: f32[n] of n numbers, f32[n, m]
 * of n rows. Element i is chosen by its place. */
#include "compiler/lower/lowering.h"

static bool same_shapes(const Context *context, const NodeId *nodes, const Items *items,
                        Range range) {
    const Graph *graph = context->graph;
    const Type *first = &graph_node(graph, nodes[0])->type;
    Arena *arena = context->lowering->arena;
    for (size_t i = 1; i < items->count; i++) {
        const Type *type = &graph_node(graph, nodes[i])->type;
        if (shape_equal(first, type)) continue;
        report(context, E0207, items->values[i].range.source ? items->values[i].range : range,
               "the values of a list have one shape; this is %s, the first is %s",
               type_text(arena, type), type_text(arena, first));
        return false;
    }
    if (first->rank < RANK_LIMIT) return true;
    report(context, E0208, range, "a tensor has at most %d dimensions", RANK_LIMIT);
    return false;
}

/* 0 … n-1 along the first of `rank` dimensions. */
static NodeId place_node(Graph *graph, Dim count, int rank, Range range) {
    Problem problem;
    Type type = {.element = TYPE_i32, .rank = 1, .dims = {count}};
    NodeId places = graph_add(graph, (Node){.op = OP_iota, .type = type, .range = range}, &problem);
    for (; type.rank < rank; type.rank++) type.dims[type.rank] = dim_constant(graph->dimensions, 1);
    return graph_declared(graph, OP_reshape, places, type, range);
}

NodeId stack_values(const Context *context, const Value *list, Element element, Range range) {
    const Items *items = &list->items;
    Graph *graph = context->graph;
    NodeId *nodes = arena_new_array(context->lowering->arena, NodeId, items->count + 1);
    for (size_t i = 0; i < items->count; i++) {
        const Value *item = &items->values[i];
        nodes[i] = to_node(context, item, element, item->range.source ? item->range : range);
        if (nodes[i] == NODE_NONE) return NODE_NONE;
    }
    if (!same_shapes(context, nodes, items, range)) return NODE_NONE;
    Range place = users_place(context, range);
    Dim count = dim_constant(graph->dimensions, (int64_t)items->count);
    Type type = type_with(graph_node(graph, nodes[0])->type, 0, count);
    NodeId places = place_node(graph, count, type.rank, place);
    NodeId stacked = graph_declared(graph, OP_broadcast, nodes[items->count - 1], type, place);
    for (size_t i = items->count - 1; i-- > 0;) {
        NodeId here =
            graph_make(graph, OP_equal, places, graph_constant(graph, TYPE_i32, (double)i, place),
                       NODE_NONE, place);
        stacked = graph_make(graph, OP_select, here, nodes[i], stacked, place);
    }
    return stacked;
}

Element list_element(const Value *list) {
    for (size_t i = 0; i < list->items.count; i++) {
        const Value *item = &list->items.values[i];
        if (item->kind == VALUE_tensor) return value_type(item)->element;
        if (item->kind == VALUE_items && item->items.count) return list_element(item);
    }
    return TYPE_f32;
}
