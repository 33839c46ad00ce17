/* Factor: dy p + dy q is dy (p + q). What p and q are made of is known on the way there, whose
 * kernels then work out their sum: the way back needn't do it again, and reads the sum instead of
 * all that they are made of. Where that takes little, it is left as it is. */
#include "compiler/passes/factor.h"

#include "compiler/ops/ops.h"

enum {
    DEPTH_LIMIT = 6, /* of what is looked at below a product */
    LEAST_COST = 10, /* of the dearest node in p or q */
};

static bool is_of_elements(const Node *node) {
    return op_info[node->op].class == LOOP_elementwise;
}

/* How many operands are multiplied: of a division the first one. */
static int factor_count(const Node *node) {
    switch (node->op) {
    case OP_multiply: return 2;
    case OP_divide:
    case OP_negate: return 1;
    default: return 0;
    }
}

static bool has_factor(const Graph *graph, NodeId id, NodeId factor, int depth) {
    const Node *node = graph_node(graph, id);
    if (id == factor) return true;
    for (int i = 0; i < factor_count(node) && depth; i++)
        if (has_factor(graph, node->inputs[i], factor, depth - 1)) return true;
    return false;
}

/* Which operand of a product the factor is in. */
static int operand_with(const Graph *graph, const Node *node, NodeId factor) {
    return node->op == OP_multiply && !has_factor(graph, node->inputs[0], factor, DEPTH_LIMIT);
}

/* The largest factor of both that came after `known`. */
static NodeId common_factor(const Graph *graph, NodeId a, NodeId b, NodeId known, int depth) {
    const Node *node = graph_node(graph, a);
    if (a <= known) return NODE_NONE;
    if (has_factor(graph, b, a, DEPTH_LIMIT)) return a;
    for (int i = 0; i < factor_count(node) && depth; i++) {
        NodeId found = common_factor(graph, node->inputs[i], b, known, depth - 1);
        if (found != NODE_NONE) return found;
    }
    return NODE_NONE;
}

static bool is_known(const Graph *graph, NodeId id, NodeId known, int depth) {
    const Node *node = graph_node(graph, id);
    if (id <= known || node->op == OP_constant) return true;
    if (!depth || !is_of_elements(node)) return false;
    for (int i = 0; i < node->input_count; i++)
        if (!is_known(graph, node->inputs[i], known, depth - 1)) return false;
    return true;
}

static bool takes_long(const Graph *graph, NodeId id, int depth) {
    const Node *node = graph_node(graph, id);
    if (!depth || !is_of_elements(node)) return false;
    if (op_info[node->op].cost >= LEAST_COST) return true;
    for (int i = 0; i < node->input_count; i++)
        if (takes_long(graph, node->inputs[i], depth - 1)) return true;
    return false;
}

/* Is all but the factor known, and is there anything else? */
static bool is_known_without(const Graph *graph, NodeId id, NodeId factor, NodeId known) {
    const Node *node = graph_node(graph, id);
    if (id == factor) return true;
    int at = operand_with(graph, node, factor);
    for (int i = 0; i < node->input_count; i++)
        if (i != at && !is_known(graph, node->inputs[i], known, DEPTH_LIMIT)) return false;
    return is_known_without(graph, node->inputs[at], factor, known);
}

/* The product with 1 for the factor. */
static NodeId without(Graph *graph, NodeId id, NodeId factor) {
    Node node = *graph_node(graph, id);
    if (id == factor) return graph_constant(graph, node.type.element, 1, node.range);
    int at = operand_with(graph, &node, factor);
    node.inputs[at] = without(graph, node.inputs[at], factor);
    return graph_make(graph, node.op, node.inputs[0], node.inputs[1], node.inputs[2], node.range);
}

/* Is it 0 where the way there was not taken? Each of p and q times 0 is 0 there, but their sum may
 * be too large. */
static bool is_masked(const Graph *graph, NodeId factor, int depth) {
    const Node *node = graph_node(graph, factor);
    if (node->op == OP_select) return true;
    for (int i = 0; i < factor_count(node) && depth; i++)
        if (is_masked(graph, node->inputs[i], depth - 1)) return true;
    return false;
}

/* Of halves p and q may be too large where all products are not. */
static bool may_factor(const Graph *graph, NodeId factor) {
    return factor != NODE_NONE && !is_half(graph_node(graph, factor)->type.element) &&
           !is_masked(graph, factor, DEPTH_LIMIT);
}

NodeId factored_sum(Graph *graph, NodeId a, NodeId b, NodeId known, Range range) {
    NodeId factor = common_factor(graph, a, b, known, DEPTH_LIMIT);
    bool factored = may_factor(graph, factor) && is_known_without(graph, a, factor, known) &&
                    is_known_without(graph, b, factor, known) &&
                    (takes_long(graph, a, DEPTH_LIMIT) || takes_long(graph, b, DEPTH_LIMIT));
    if (!factored) return graph_make(graph, OP_add, a, b, NODE_NONE, range);
    NodeId p = without(graph, a, factor), q = without(graph, b, factor);
    NodeId sum = graph_make(graph, OP_add, p, q, NODE_NONE, range);
    return graph_make(graph, OP_multiply, factor, sum, NODE_NONE, range);
}
