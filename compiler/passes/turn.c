/* Turn: a product that is read across, column after column, is computed the other way round, so
 * that it is stored as it is read: the view of a b becomes one of (a b)^T = b^T a^T. The gradient
 * of keys is such a product, q^T ds. Each sum stays as it was. */
#include "compiler/passes/pass.h"

#include "compiler/graph/movement.h"
#include "compiler/graph/scan.h"

/* How many nodes and outputs read each node. */
static int *count_users(Arena *arena, const Graph *graph) {
    const bool *needed = graph_needed(arena, graph);
    int *users = arena_new_array(arena, int, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        for (int i = 0; i < graph_node(graph, id)->input_count && needed[id]; i++)
            users[graph_node(graph, id)->inputs[i]]++;
    vector_each(Output, output, graph->outputs) users[output->value]++;
    return users;
}

/* Does the last axis of the view go along the rows of its operand, and not along the columns? */
static bool goes_down(const Node *view, int rank) {
    const Coordinate *row = &view->view->coordinates[rank - 2], *column = row + 1;
    int last = view->type.rank - 1;
    return last >= 0 && !dim_is_one(view->type.dims[last]) && row->factors[last] == 1 &&
           row->divisor == 1 && !column->factors[last];
}

static bool is_read_across(const Graph *graph, const Node *node) {
    if (node->op != OP_view) return false;
    const Node *product = graph_node(graph, node->inputs[0]);
    int rank = product->type.rank;
    return product->op == OP_matmul && rank > 2 &&
           graph_node(graph, product->inputs[1])->type.rank == rank && goes_down(node, rank);
}

static NodeId turned(Graph *to, const Graph *from, const Node *view, const NodeId *map) {
    const Node *product = graph_node(from, view->inputs[0]);
    NodeId a = graph_transpose(to, map[product->inputs[1]], product->range);
    NodeId b = graph_transpose(to, map[product->inputs[0]], product->range);
    View across = *view->view;
    Coordinate *row = &across.coordinates[product->type.rank - 2], column = row[1];
    row[1] = row[0];
    row[0] = column;
    to->placement = product->placement;
    to->gradient_of = product->gradient_of;
    NodeId other = graph_make(to, OP_matmul, a, b, NODE_NONE, product->range);
    to->placement = view->placement;
    to->gradient_of = view->gradient_of;
    other = graph_view(to, other, &across, view->type, view->range);
    to->placement = (Placement){0};
    to->gradient_of = OP_constant;
    return other;
}

static const Graph *with_turned(Arena *arena, const Graph *graph) {
    Graph *to = graph_like(arena, graph);
    const int *users = count_users(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (node->op == OP_scan)
            map[id] =
                scan_copy(to, node, map[node->inputs[0]], with_turned(arena, node->scan->body));
        else if (is_read_across(graph, node) && users[node->inputs[0]] == 1)
            map[id] = turned(to, graph, node, map);
        else map[id] = graph_copy_node(to, graph, id, map);
    }
    graph_copy_outputs(to, graph, map);
    return to;
}

Graph *turn(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    return (Graph *)(graph_has(graph, is_read_across) ? with_turned(arena, graph) : graph);
}
