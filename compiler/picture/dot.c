/* Dot: a graph for Graphviz. Every node is drawn where it is computed, so one that is computed in
 * several kernels is drawn in each. */
#include "compiler/picture/boxes.h"
#include "compiler/picture/picture.h"

static void add_escaped(Text *text, const char *string) {
    for (; *string; string++) {
        if (*string == '"' || *string == '\\') text_add(text, "\\");
        text_add_bytes(text, (unsigned char)*string < ' ' ? "?" : string, 1);
    }
}

static void add_label(Text *text, const char *name, const char *detail) {
    text_add(text, "label=\"");
    add_escaped(text, name);
    if (detail) text_add(text, "\\n");
    if (detail) add_escaped(text, detail);
    text_add(text, "\"");
}

/* The node as the box has it: its own, or that of the box that stores it. */
static void add_name(Text *text, const Boxes *all, int box, NodeId id) {
    int owner = all->owner[id] >= 0 ? all->owner[id] : box;
    text_format(text, "b%d_n%u", owner, id);
}

static bool is_drawn(const Boxes *all, NodeId id) {
    return graph_node(all->graph, id)->op != OP_constant;
}

static void add_member(Text *text, const Boxes *all, int box, NodeId id) {
    const Node *node = graph_node(all->graph, id);
    bool leaf = node->op == OP_input || node->op == OP_weight;
    const char *type = type_text(all->arena, &node->type);
    text_add(text, "    ");
    add_name(text, all, box, id);
    text_add(text, " [");
    add_label(text, leaf ? node->name : node_summary(all->arena, all->graph, id), type);
    text_add(text, leaf ? ", style=\"rounded,filled\"];\n" : "];\n");
}

static void add_inputs(Text *text, const Boxes *all, int box, NodeId id) {
    const Node *node = graph_node(all->graph, id);
    for (int i = 0; i < node->input_count; i++) {
        if (!is_drawn(all, node->inputs[i])) continue;
        text_add(text, "  ");
        add_name(text, all, box, node->inputs[i]);
        text_add(text, " -> ");
        add_name(text, all, box, id);
        text_add(text, " [tooltip=\"");
        add_escaped(text, value_summary(all->arena, all->graph, node->inputs[i]));
        text_add(text, "\"];\n");
    }
}

static void add_box(Text *text, const Boxes *all, int box) {
    const Box *drawn = &all->boxes.items[box];
    bool cluster = drawn->kind == BOX_kernel;
    if (cluster) {
        text_format(text, "  subgraph cluster_%d {\n    ", box);
        add_label(text, drawn->title, NULL);
        text_add(text, ";\n");
    }
    vector_each(NodeId, member, drawn->members)
        if (is_drawn(all, *member)) add_member(text, all, box, *member);
    if (cluster) text_add(text, "  }\n");
    vector_each(NodeId, reader, drawn->members) add_inputs(text, all, box, *reader);
}

static void add_outputs(Text *text, const Boxes *all) {
    int first = (int)(all->boxes.count - all->graph->outputs.count);
    for (size_t i = 0; i < all->graph->outputs.count; i++) {
        int box = first + (int)i;
        text_format(text, "  b%d [style=rounded, ", box);
        add_label(text, all->boxes.items[box].title, NULL);
        text_add(text, "];\n  ");
        add_name(text, all, box, all->graph->outputs.items[i].value);
        text_format(text, " -> b%d;\n", box);
    }
}

void picture_dot(const Graph *graph, Text *text) {
    Arena *arena = arena_new();
    const Boxes *all = boxes_new(arena, graph);
    text_add(text, "digraph {\n  ");
    add_label(text, graph->name ? graph->name : "", NULL);
    text_add(text, ";\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n");
    for (size_t i = 0; i < all->boxes.count; i++) add_box(text, all, (int)i);
    add_outputs(text, all);
    text_add(text, "}\n");
    arena_free(arena);
}
