/* Fuse, memory: which values must be stored, whatever it costs. */
#include "compiler/passes/fuser.h"

#include "compiler/passes/operand.h"

static void want_in_memory(Fuser *fuser, NodeId id) {
    fuser->in_memory[strip_reshapes(fuser->graph, id)] = true;
}

/* A node of its own with the value of id, for a second place that holds it. What is repeated, as
 * a number is, is so again: all that repeat a number then equal each other. */
static NodeId raw_copy(Fuser *fuser, NodeId id) {
    Graph *graph = fuser->graph;
    Node node = {.op = OP_stop_gradient,
                 .input_count = 1,
                 .inputs = {id, NODE_NONE, NODE_NONE},
                 .type = graph_node(graph, id)->type,
                 .range = graph_node(graph, id)->range,
                 .placement = graph_node(graph, id)->placement,
                 .kernel = NO_KERNEL};
    if (graph_node(graph, id)->op == OP_broadcast) node = *graph_node(graph, id);
    vector_push(graph->arena, &graph->nodes, node);
    return (NodeId)(graph->nodes.count - 1);
}

/* Can't the output be stored right where its value is computed? */
static bool needs_copy(const Fuser *fuser, const Node *source, OutputKind kind, bool shared) {
    bool own = kind == OUTPUT_update || fuser->body;
    return is_leaf(source->op) || (own && (shared || source->op == OP_part));
}

void separate_outputs(Fuser *fuser) {
    Graph *graph = fuser->graph;
    bool *taken = arena_new_array(fuser->arena, bool, graph->nodes.count + 1);
    size_t known = graph->nodes.count;
    for (int pass = 0; pass < 2; pass++) {
        OutputKind kind = pass ? OUTPUT_result : OUTPUT_update;
        vector_each(Output, output, graph->outputs) {
            if (output->kind != kind) continue;
            NodeId source = strip_reshapes(graph, output->value);
            bool shared = source < known && taken[source];
            if (needs_copy(fuser, graph_node(graph, source), kind, shared))
                output->value = raw_copy(fuser, output->value);
            else taken[source] = true;
        }
    }
}

/* What is padded and then seen through windows is padded once. */
static void mark_viewed(Fuser *fuser, const Node *view) {
    NodeId source = strip_reshapes(fuser->graph, view->inputs[0]);
    if (is_guarded_view(fuser->graph, graph_node(fuser->graph, source)))
        fuser->in_memory[source] = true;
}

static bool has_strides(const ContractionOperand *operand) {
    return operand->first.count <= 1 && operand->second.count <= 1;
}

/* The node that a product reads. Where b has no strides and a view repeats nothing of it, as a
 * convolution's weights on the way back, the view: it is put in order once, for all rows. */
static NodeId read_node(Fuser *fuser, const Node *product, int which) {
    Graph *graph = fuser->graph;
    ContractionOperand operand = contraction_operand(graph, product, which);
    NodeId id = product->inputs[which];
    if (widens_both(graph, product)) id = node_of(fuser, id)->inputs[0];
    const Node *view = node_of(fuser, id = strip_reshapes(graph, id));
    if (!which || has_strides(&operand) || view->op != OP_view) return operand.node;
    Dim read = type_elements(graph->dimensions, &view->type);
    Dim all = type_elements(graph->dimensions, &node_of(fuser, operand.node)->type);
    return dim_bound(read) <= dim_bound(all) ? id : operand.node;
}

static void mark_read(Fuser *fuser) {
    Graph *graph = fuser->graph;
    vector_each(Output, output, graph->outputs) want_in_memory(fuser, output->value);
    vector_each(Node, node, graph->nodes) {
        if (node->op == OP_matmul)
            for (int i = 0; i < 2; i++) fuser->in_memory[read_node(fuser, node, i)] = true;
        if (node->op == OP_view) mark_viewed(fuser, node);
        if (node->op == OP_check || node->op == OP_gather || op_info[node->op].class == LOOP_row)
            want_in_memory(fuser, node->inputs[0]);
        if (node->op == OP_list) want_in_memory(fuser, node->inputs[1]);
        if (op_is_whole(node->op)) {
            want_in_memory(fuser, node->inputs[0]);
            want_in_memory(fuser, (NodeId)(node - graph->nodes.items));
        }
    }
}

/* A reshape computes nothing: it is where its operand is. */
static void inherit_placement(Fuser *fuser, Node *node) {
    if (node->op == OP_reshape) node->placement = node_of(fuser, node->inputs[0])->placement;
    for (int i = 0; i < node->input_count && !is_placed(&node->placement); i++)
        node->placement = node_of(fuser, node->inputs[i])->placement;
}

static void store_what_crosses(Fuser *fuser, const Node *node) {
    for (int i = 0; i < node->input_count; i++) {
        NodeId source = strip_reshapes(fuser->graph, node->inputs[i]);
        const Node *from = node_of(fuser, source);
        if (!is_leaf(from->op) && devices_differ(&from->placement, &node->placement))
            fuser->in_memory[source] = true;
    }
}

static void spread_placements(Fuser *fuser) {
    for (NodeId id = 0; id < fuser->graph->nodes.count; id++) {
        Node *node = node_of(fuser, id);
        inherit_placement(fuser, node);
        if (node->op != OP_reshape) store_what_crosses(fuser, node);
    }
}

void mark_in_memory(Fuser *fuser) {
    mark_read(fuser);
    spread_placements(fuser);
}
