/* Attend: the gradient of a softmax wants, of each row of weights p, the sum of p dp. Where p
 * weighs something, o = p v and dp = do v^T, that is the sum of do o over a row (T. Dao et al.,
 * "FlashAttention", 2022), which has as many columns as v, not one for each key; and dp is then
 * wanted element by element alone. */
#include "compiler/passes/pass.h"

#include "compiler/graph/movement.h"
#include "compiler/graph/scan.h"

typedef struct Attending {
    Graph *to;
    const Graph *from;
    NodeId *map;
    NodeId *weighed; /* of each node of `from`: the copy that it is left operand of, or NODE_NONE */
} Attending;

static const Node *node_of(const Attending *all, NodeId id) {
    return graph_node(all->from, id);
}

static bool is_of_rows(const Attending *all, NodeId id) {
    const Type *type = &node_of(all, id)->type;
    return type->rank > 0 && dim_is_one(type->dims[type->rank - 1]);
}

/* The sum over rows of p dp, or NODE_NONE. */
static NodeId sum_of_products(const Attending *all, NodeId p, NodeId dp) {
    const Node *product = node_of(all, dp);
    if (product->op != OP_matmul || all->weighed[p] == NODE_NONE) return NODE_NONE;
    const NodeId o = all->map[all->weighed[p]];
    const NodeId output_gradient = all->map[product->inputs[0]];
    const NodeId v = all->map[node_of(all, all->weighed[p])->inputs[1]];
    const Type *type = &graph_node(all->to, o)->type;
    if (!type_equal(type, &graph_node(all->to, output_gradient)->type)) return NODE_NONE;
    if (graph_transpose(all->to, v, product->range) != all->map[product->inputs[1]])
        return NODE_NONE;
    const uint32_t last = 1u << (type->rank - 1);
    const NodeId products =
        graph_make(all->to, OP_multiply, output_gradient, o, NODE_NONE, product->range);
    return graph_reduce(all->to, OP_sum, products, last, product->range);
}

/* What a factor is but for its sign. */
static NodeId without_sign(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    return node->op == OP_negate ? node->inputs[0] : id;
}

/* The sum over rows of what is p dp but for signs and factors that a row has. */
static NodeId row_sum(const Attending *all, NodeId id) {
    const Node *node = node_of(all, id);
    const NodeId a = node->inputs[0], b = node->inputs[1];
    NodeId left = NODE_NONE, right = NODE_NONE;
    if (node->op == OP_negate) left = row_sum(all, a);
    else if (node->op == OP_divide && is_of_rows(all, b))
        left = row_sum(all, a), right = all->map[b];
    if (left != NODE_NONE)
        return graph_make(all->to, node->op, left, right, NODE_NONE, node->range);
    if (node->op != OP_multiply) return NODE_NONE;
    for (int i = 0; i < 2; i++) {
        const NodeId p = node->inputs[1 - i], other = node->inputs[i];
        const NodeId dp = without_sign(all->from, other);
        const NodeId sum = sum_of_products(all, p, dp);
        if (sum == NODE_NONE) continue;
        return dp != other ? graph_make(all->to, OP_negate, sum, NODE_NONE, NODE_NONE, node->range)
                           : sum;
    }
    return NODE_NONE;
}

static bool is_row_sum(const Graph *graph, const Node *node) {
    if (node->op != OP_sum) return false;
    const int rank = graph_node(graph, node->inputs[0])->type.rank;
    return rank > 1 && node->axes == 1u << (rank - 1);
}

static const Graph *with_sums(Arena *arena, const Graph *graph);

static NodeId copy_node(const Attending *all, NodeId id) {
    const Node *node = node_of(all, id);
    if (node->op == OP_scan)
        return scan_copy(all->to, node, all->map[node->inputs[0]],
                         with_sums(all->to->arena, node->scan->body));
    all->to->placement = node->placement;
    all->to->gradient_of = node->gradient_of;
    const NodeId sum = is_row_sum(all->from, node) ? row_sum(all, node->inputs[0]) : NODE_NONE;
    all->to->placement = (Placement){0};
    all->to->gradient_of = OP_constant;
    return sum != NODE_NONE ? sum : graph_copy_node(all->to, all->from, id, all->map);
}

static const Graph *with_sums(Arena *arena, const Graph *graph) {
    const size_t count = graph->nodes.count;
    Attending all = {.to = graph_like(arena, graph),
                     .from = graph,
                     .map = arena_new_array(arena, NodeId, count + 1),
                     .weighed = arena_new_array(arena, NodeId, count + 1)};
    for (NodeId id = 0; id < count; id++) all.weighed[id] = NODE_NONE;
    for (NodeId id = 0; id < count; id++) {
        const Node *node = graph_node(graph, id);
        all.map[id] = copy_node(&all, id);
        if (node->op == OP_matmul) all.weighed[node->inputs[0]] = id;
    }
    graph_copy_outputs(all.to, graph, all.map);
    return all.to;
}

/* Whether row_sum may find something. */

/* left: which nodes are left operand of a product. */
static bool weighs_products(const Graph *graph, const bool *left, NodeId id) {
    const Node *node = graph_node(graph, id);
    if (node->op == OP_negate || node->op == OP_divide)
        return weighs_products(graph, left, node->inputs[0]);
    for (int i = 0; node->op == OP_multiply && i < 2; i++) {
        const NodeId dp = without_sign(graph, node->inputs[i]);
        if (left[node->inputs[1 - i]] && graph_node(graph, dp)->op == OP_matmul) return true;
    }
    return false;
}

static bool has_sums(Arena *arena, const Graph *graph) {
    bool *left = arena_new_array(arena, bool, graph->nodes.count + 1);
    vector_each(Node, node, graph->nodes) {
        if (node->op == OP_scan && has_sums(arena, node->scan->body)) return true;
        if (node->op == OP_matmul) left[node->inputs[0]] = true;
        if (is_row_sum(graph, node) && weighs_products(graph, left, node->inputs[0])) return true;
    }
    return false;
}

Graph *attend(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    return (Graph *)(has_sums(arena, graph) ? with_sums(arena, graph) : graph);
}
