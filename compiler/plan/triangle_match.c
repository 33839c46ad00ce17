/* Triangle match: scores of which a query sees only keys up to its own number, and what is 0 behind
 * that diagonal: exp of such scores, less their row's largest, and what it is multiplied with. */
#include "compiler/plan/triangle.h"

enum { KEYS_LEAST = 64 /* in fewer there is little to leave out */ };

#define LOWEST (-1e29) /* what is masked is below it: exp of it is 0 */

static const Node *operand_of(const Graph *graph, const Node *node, int i) {
    return graph_node(graph, strip_reshapes(graph, node->inputs[i]));
}

/* Conditions. */

static bool is_count(const Node *node, Dim size) {
    return node->op == OP_iota && node->type.rank == 1 && node->type.dims[0] == size;
}

/* The number that a key's is less by where it is compared with a query's; -1: it isn't. */
static int64_t less_by(const Graph *graph, const Node *node, Dim keys) {
    if (is_count(node, keys)) return 0;
    if (node->op != OP_subtract || !is_count(operand_of(graph, node, 0), keys)) return -1;
    const Node *by = operand_of(graph, node, 1);
    return by->op == OP_constant && by->number >= 0 ? (int64_t)by->number : -1;
}

bool is_causal(const Graph *graph, const Node *condition, Dim queries, Dim keys, int64_t *seen) {
    if (condition->op != OP_less_equal) return false;
    const Type *of_key = &graph_node(graph, condition->inputs[0])->type,
               *of_query = &graph_node(graph, condition->inputs[1])->type;
    *seen = less_by(graph, operand_of(graph, condition, 0), keys);
    return *seen >= 0 && is_count(operand_of(graph, condition, 1), queries) && of_key->rank &&
           of_key->dims[of_key->rank - 1] == keys && of_query->rank > 1 &&
           dim_is_one(of_query->dims[of_query->rank - 1]) &&
           of_query->dims[of_query->rank - 2] == queries;
}

/* Nodes. */

bool is_square_of(const Halves *halves, NodeId id, NodeId of) {
    const Node *node = graph_node(halves->graph, id), *square = graph_node(halves->graph, of);
    return keys_of(node) && keys_of(node) == keys_of(square) &&
           queries_of(node) == queries_of(square);
}

static int64_t seen_by(const Halves *halves, const Node *choice) {
    int64_t seen, keys, queries;
    const bool large = keys_of(choice) && dim_is_constant(keys_of(choice), &keys) &&
                       keys >= KEYS_LEAST && dim_is_constant(queries_of(choice), &queries);
    return large && is_causal(halves->graph, operand_of(halves->graph, choice, 0),
                              queries_of(choice), keys_of(choice), &seen)
               ? seen
               : -1;
}

Triangle triangle_of(const Halves *halves, NodeId of) {
    Triangle triangle = {0};
    if (of == NODE_NONE) return triangle;
    const Node *choice = graph_node(halves->graph, of);
    triangle.seen = seen_by(halves, choice);
    dim_is_constant(queries_of(choice), &triangle.queries);
    return triangle;
}

bool have_same_triangle(const Halves *halves, NodeId a, NodeId b) {
    if (a == b) return true;
    return a != NODE_NONE && b != NODE_NONE && is_square_of(halves, a, b) &&
           triangle_of(halves, a).seen == triangle_of(halves, b).seen;
}

static Half half_of_operand(const Halves *halves, NodeId id, int i) {
    const NodeId operand = strip_reshapes(halves->graph, graph_node(halves->graph, id)->inputs[i]);
    return is_square_of(halves, operand, id) ? halves->items[operand] : (Half){0};
}

/* By another mask, which may hide all that a row sees: then all keys weigh alike. */
static bool is_masked(const Graph *graph, const Node *node) {
    if (node->op != OP_select) return false;
    for (int i = 1; i < 3; i++) {
        const Node *other = operand_of(graph, node, i);
        if (other->op == OP_constant && other->number < LOWEST) return true;
    }
    return false;
}

static Half half_of_choice(const Halves *halves, NodeId id) {
    const Node *node = graph_node(halves->graph, id);
    const Half a = half_of_operand(halves, id, 1), b = half_of_operand(halves, id, 2);
    if (a.is == HALF_zero && b.is == HALF_zero && have_same_triangle(halves, a.of, b.of)) return a;
    const Node *behind = operand_of(halves->graph, node, 2);
    if (behind->op != OP_constant || seen_by(halves, node) < 0) return (Half){0};
    if (behind->number == 0) return (Half){HALF_zero, id};
    return behind->number < LOWEST && !is_masked(halves->graph, operand_of(halves->graph, node, 1))
               ? (Half){HALF_masked, id}
               : (Half){0};
}

static Half zero_of(Half half) {
    return half.is == HALF_zero ? half : (Half){0};
}

/* Is it the largest of each row of the scores? */
static bool is_largest_of(const Halves *halves, NodeId id, NodeId scores) {
    const Node *node = graph_node(halves->graph, strip_reshapes(halves->graph, id));
    if (node->op != OP_max || strip_reshapes(halves->graph, node->inputs[0]) != scores)
        return false;
    const Loops loops = node_loops(halves->graph, node);
    return loops.kind == KERNEL_rows && loops.columns == keys_of(graph_node(halves->graph, scores));
}

/* Each row sees key 0, so that exp of what is masked, less the largest, is 0. */
static Half half_of_power(const Halves *halves, NodeId id) {
    const NodeId less = strip_reshapes(halves->graph, graph_node(halves->graph, id)->inputs[0]);
    const Node *node = graph_node(halves->graph, less);
    if (node->op != OP_subtract || !is_square_of(halves, less, id)) return (Half){0};
    const NodeId scores = strip_reshapes(halves->graph, node->inputs[0]);
    const Half half = half_of_operand(halves, less, 0);
    const bool masked = half.is == HALF_masked && is_largest_of(halves, node->inputs[1], scores);
    return masked ? (Half){HALF_zero, half.of} : (Half){0};
}

static Half half_of(const Halves *halves, NodeId id) {
    const Node *node = graph_node(halves->graph, id);
    if (!keys_of(node)) return (Half){0};
    switch (node->op) {
    case OP_select: return half_of_choice(halves, id);
    case OP_exp: return half_of_power(halves, id);
    case OP_divide:
    case OP_negate:
    case OP_cast: return zero_of(half_of_operand(halves, id, 0));
    case OP_multiply: {
        const Half a = zero_of(half_of_operand(halves, id, 0));
        return a.is ? a : zero_of(half_of_operand(halves, id, 1));
    }
    default: return (Half){0};
    }
}

/* Inputs come before users. */
bool find_halves(Halves *halves) {
    bool found = false;
    for (NodeId id = 0; id < halves->graph->nodes.count; id++) {
        halves->items[id] = half_of(halves, id);
        found |= halves->items[id].is != HALF_unknown;
    }
    return found;
}

bool is_zero_behind(const Halves *halves, NodeId id, NodeId of) {
    const Half half = halves->items[id];
    return half.is == HALF_zero && is_square_of(halves, id, of) &&
           have_same_triangle(halves, half.of, of);
}
