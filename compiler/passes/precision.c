/* Precision: matrix products, forwards and backwards, read their operands rounded to a half type
 * and add up in f32. Everything else, weights and sums among it, stays what it is.
 *
 * An operand becomes widen(narrow(x)). What moves elements stays outside of narrow, so that each
 * value is rounded once, stored in 16 bits, and read through the movement as before; a contraction
 * reads through the widening itself (operand.c).
 *
 * What goes back to a bias is a sum, over all records, of what the products beside it read: of
 * the same numbers, rounded, if nobody wants them as they were, which would be stored for that
 * alone. */
#include "compiler/passes/pass.h"

#include "compiler/graph/scan.h"

static bool moves(const Node *node) {
    return op_info[node->op].class == LOOP_move;
}

static NodeId narrow(Graph *to, NodeId id, Element element) {
    Node node = *graph_node(to, id);
    Type type = node.type;
    type.element = element;
    if (!moves(&node)) return graph_declared(to, OP_cast, id, type, node.range);
    node.inputs[0] = narrow(to, node.inputs[0], element);
    node.type = type;
    return graph_must_add(to, node);
}

static NodeId rounded(Graph *to, NodeId id, Element element) {
    return graph_declared(to, OP_cast, narrow(to, id, element), graph_node(to, id)->type,
                          graph_node(to, id)->range);
}

/* Who reads a value. */

typedef struct Readers {
    bool products, others;
} Readers;

static NodeId what_moved(const Graph *graph, NodeId id) {
    while (moves(graph_node(graph, id))) id = graph_node(graph, id)->inputs[0];
    return id;
}

static bool is_product(const Node *node) {
    return node->op == OP_matmul && node->type.element == TYPE_f32;
}

static bool has_fixed_size(const Graph *graph, NodeId id) {
    int64_t count;
    return dim_is_constant(type_elements(graph->dimensions, &graph_node(graph, id)->type), &count);
}

static bool is_sum_over_records(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    return node->op == OP_sum && node->type.element == TYPE_f32 && has_fixed_size(graph, id) &&
           !has_fixed_size(graph, node->inputs[0]);
}

static void note_readers(const Graph *graph, NodeId id, Readers *readers) {
    const Node *node = graph_node(graph, id);
    for (int i = 0; i < node->input_count && !moves(node); i++) {
        Readers *of = &readers[what_moved(graph, node->inputs[i])];
        if (is_product(node)) of->products = true;
        else if (!is_sum_over_records(graph, id)) of->others = true;
    }
}

static const Readers *find_readers(Arena *arena, const Graph *graph) {
    Readers *readers = arena_new_array(arena, Readers, graph->nodes.count + 1);
    const bool *needed = graph_needed(arena, graph);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        if (needed[id]) note_readers(graph, id, readers);
    vector_each(Output, output, graph->outputs)
        readers[what_moved(graph, output->value)].others = true;
    return readers;
}

/* What is read rounded. */

static int count_rounded(const Graph *graph, NodeId id, const Readers *readers) {
    if (is_product(graph_node(graph, id))) return 2;
    if (!is_sum_over_records(graph, id)) return 0;
    NodeId value = what_moved(graph, graph_node(graph, id)->inputs[0]);
    return readers[value].products && !readers[value].others;
}

static const Graph *round_products(Arena *arena, const Graph *graph, Element element);

static NodeId copy_node(Graph *to, const Graph *from, NodeId id, const NodeId *map,
                        const Readers *readers, Element element) {
    Node node = *graph_node(from, id);
    if (node.op == OP_scan)
        return scan_copy(to, &node, map[node.inputs[0]],
                         round_products(to->arena, node.scan->body, element));
    const int count = count_rounded(from, id, readers);
    if (!count) return graph_copy_node(to, from, id, map);
    to->placement = node.placement;
    for (int i = 0; i < count; i++) node.inputs[i] = rounded(to, map[node.inputs[i]], element);
    to->placement = (Placement){0};
    return graph_must_add(to, node);
}

static const Graph *round_products(Arena *arena, const Graph *graph, Element element) {
    Graph *to = graph_like(arena, graph);
    const Readers *readers = find_readers(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        map[id] = copy_node(to, graph, id, map, readers, element);
    graph_copy_outputs(to, graph, map);
    return to;
}

Graph *precision(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    Element element = graph->wishes.product;
    return (Graph *)(is_half(element) ? round_products(arena, graph, element) : graph);
}
