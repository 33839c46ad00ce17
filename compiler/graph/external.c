/* External: names, type rules, copies, and which there are. */
#include "compiler/graph/external.h"

#include "compiler/graph/list.h"
#include "compiler/graph/scan.h"
#include "lang/base/c_words.h"

#include <ctype.h>
#include <string.h>

static bool is_identifier(const char *name) {
    if (!isalpha((unsigned char)*name)) return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_') return false;
    return true;
}

const char *external_name_problem(const char *name) {
    if (!is_identifier(name)) return "does not begin with a letter";
    if (is_c_word(name)) return "means something else in C";
    bool ours = !strncmp(name, "flow_", 5) || !strncmp(name, "Flow", 4);
    return ours ? "belongs to the names of flowc's own functions" : NULL;
}

Problem external_infer(const Graph *graph, Node *node) {
    const Node *list = graph_node(graph, node->inputs[0]);
    node->type = type_scalar(TYPE_bool);
    if (!node->external) return (Problem){E0203, "an extern without function"};
    if (list->op != OP_list && list->op != OP_constant)
        return (Problem){E0203, "an extern takes a list"};
    return (Problem){0};
}

Problem external_infer_part(const External *external, Node *node) {
    if (node->part < 0 || (size_t)node->part >= external->results.count)
        return (Problem){E0203, "the extern has no such part"};
    node->type = external->results.items[node->part];
    return (Problem){0};
}

NodeId external_copy(Arena *arena, Graph *to, const Graph *from, NodeId id, const NodeId *map) {
    Node node = *graph_node(from, id);
    const NodeId *operands = list_operands(arena, from, id);
    int count = list_size(from, node.inputs[0]);
    NodeId list = list_none(to, node.range);
    for (int i = 0; i < count; i++) list = list_add(to, list, map[operands[i]], node.range);
    NodeId *renamed = arena_new_array(arena, NodeId, from->nodes.count);
    renamed[node.inputs[0]] = list;
    return graph_copy_node(to, from, id, renamed);
}

static void add_new(Arena *arena, ExternalList *list, const External *external) {
    vector_each(const External *, known, *list)
        if (!strcmp((*known)->name, external->name)) return;
    vector_push(arena, list, external);
}

void external_collect(Arena *arena, const Graph *graph, ExternalList *list) {
    vector_each(Node, node, graph->nodes) {
        if (node->op == OP_extern) add_new(arena, list, node->external);
        if (node->op == OP_scan) external_collect(arena, node->scan->body, list);
    }
}
