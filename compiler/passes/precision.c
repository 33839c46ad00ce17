/* Precision: matrix products, forwards and backwards, read their operands rounded to a half type
 * and add up in f32. Everything else, weights and sums among it, stays what it is.
 *
 * An operand becomes widen(narrow(x)). What moves elements stays outside of narrow, so that each
 * value is rounded once, stored in 16 bits, and read through the movement as before; a contraction
 * reads through the widening itself (operand.c). */
#include "compiler/passes/pass.h"

#include "compiler/graph/scan.h"

static NodeId narrow(Graph *to, NodeId id, Element element) {
    Node node = *graph_node(to, id);
    Type type = node.type;
    type.element = element;
    if (node.op != OP_view && node.op != OP_reshape && node.op != OP_broadcast)
        return graph_declared(to, OP_cast, id, type, node.range);
    node.inputs[0] = narrow(to, node.inputs[0], element);
    node.type = type;
    return graph_must_add(to, node);
}

static NodeId rounded(Graph *to, NodeId id, Element element) {
    return graph_declared(to, OP_cast, narrow(to, id, element), graph_node(to, id)->type,
                          graph_node(to, id)->range);
}

static const Graph *round_products(Arena *arena, const Graph *graph, Element element);

static NodeId copy_node(Graph *to, const Graph *from, NodeId id, const NodeId *map,
                        Element element) {
    Node node = *graph_node(from, id);
    if (node.op == OP_scan)
        return scan_copy(to, &node, map[node.inputs[0]],
                         round_products(to->arena, node.scan->body, element));
    if (node.op != OP_matmul || node.type.element != TYPE_f32)
        return graph_copy_node(to, from, id, map);
    to->placement = node.placement;
    for (int i = 0; i < 2; i++) node.inputs[i] = rounded(to, map[node.inputs[i]], element);
    to->placement = (Placement){0};
    return graph_must_add(to, node);
}

static const Graph *round_products(Arena *arena, const Graph *graph, Element element) {
    Graph *to = graph_like(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        map[id] = copy_node(to, graph, id, map, element);
    graph_copy_outputs(to, graph, map);
    return to;
}

Graph *precision(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    Element element = graph->wishes.product;
    return (Graph *)(is_half(element) ? round_products(arena, graph, element) : graph);
}
