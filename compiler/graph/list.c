/* List: chains of list nodes, and the type rules of what takes and gives them. */
#include "compiler/graph/list.h"

#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"

NodeId list_none(Graph *graph, Range range) {
    return graph_constant(graph, TYPE_bool, 0, range);
}

NodeId list_add(Graph *graph, NodeId list, NodeId value, Range range) {
    return graph_make(graph, OP_list, list, value, NODE_NONE, range);
}

int list_size(const Graph *graph, NodeId list) {
    int size = 0;
    for (; graph_node(graph, list)->op == OP_list; list = graph_node(graph, list)->inputs[0])
        size++;
    return size;
}

const NodeId *list_operands(Arena *arena, const Graph *graph, NodeId call) {
    NodeId list = graph_node(graph, call)->inputs[0];
    int size = list_size(graph, list);
    NodeId *operands = arena_new_array(arena, NodeId, size + 1);
    for (; size > 0; list = graph_node(graph, list)->inputs[0])
        operands[--size] = graph_node(graph, list)->inputs[1];
    return operands;
}

NodeId list_part(Graph *graph, NodeId call, int part, Range range) {
    return graph_must_add(graph,
                          (Node){.op = OP_part, .inputs = {call}, .part = part, .range = range});
}

static Problem mismatch(const char *text) {
    return (Problem){E0203, text};
}

static Problem infer_list(const Graph *graph, Node *node) {
    const Node *rest = graph_node(graph, node->inputs[0]);
    const Node *head = graph_node(graph, node->inputs[1]);
    node->type = type_scalar(TYPE_bool);
    if (rest->op != OP_list && rest->op != OP_constant) return mismatch("a list goes on a list");
    return head->op == OP_list || head->op == OP_scan || head->op == OP_extern
               ? mismatch("a list has values")
               : (Problem){0};
}

static Problem infer_part(const Graph *graph, Node *node) {
    const Node *call = graph_node(graph, node->inputs[0]);
    if (call->op == OP_extern) return external_infer_part(call->external, node);
    if (call->op == OP_scan) return scan_infer_part(call->scan, node);
    return mismatch("a part is of a scan or an extern");
}

Problem list_infer(const Graph *graph, Node *node) {
    switch (node->op) {
    case OP_list: return infer_list(graph, node);
    case OP_scan: return scan_infer(graph, node);
    case OP_extern: return external_infer(graph, node);
    default: return infer_part(graph, node);
    }
}
