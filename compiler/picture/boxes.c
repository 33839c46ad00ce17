/* Boxes: nodes gathered by the kernel that computes them. */
#include "compiler/picture/boxes.h"
#include "compiler/graph/print.h"
#include "compiler/graph/external.h"
#include "compiler/graph/scan.h"

#include <stdlib.h>

typedef struct Gathering {
    Boxes *all;
    const bool *needed;
    int *seen;     /* of each node: 1 + the last box that looked at it */
    int *arrow;    /* of each box: 1 + the arrow from it to the box at hand */
    int *arrow_to; /* of each box: 1 + the box that arrow[] speaks of */
    bool fused;
} Gathering;

static bool is_leaf(const Node *node) {
    return node->op == OP_input || node->op == OP_weight;
}

static int new_box(Boxes *all, BoxKind kind, const char *title) {
    vector_push(all->arena, &all->boxes, (Box){.kind = kind, .title = title});
    return (int)all->boxes.count - 1;
}

/* Which box stores a node. */

static const char *kernel_title(const Boxes *all, int kernel, Range range) {
    Text text = text_new(all->arena);
    text_format(&text, "kernel %d", kernel);
    if (range_is_of_program(range)) {
        text_add(&text, " · ");
        place_print(range, &text);
    }
    return text_string(&text);
}

static int box_of_node(Gathering *gathering, int *kernels, const Node *node) {
    Boxes *all = gathering->all;
    if (is_leaf(node))
        return new_box(all, node->op == OP_input ? BOX_input : BOX_weight, node->name);
    if (node->op == OP_constant) return -1;
    if (!gathering->fused) return new_box(all, BOX_node, "");
    if (node->kernel == NO_KERNEL) return -1;
    if (kernels[node->kernel] < 0)
        kernels[node->kernel] =
            new_box(all, BOX_kernel, kernel_title(all, node->kernel, node->range));
    return kernels[node->kernel];
}

static void add_stored_nodes(Gathering *gathering) {
    Boxes *all = gathering->all;
    int *kernels = arena_new_array(all->arena, int, all->graph->kernel_count + 1);
    for (int i = 0; i < all->graph->kernel_count; i++) kernels[i] = -1;
    for (NodeId id = 0; id < all->graph->nodes.count; id++) {
        const Node *node = graph_node(all->graph, id);
        all->owner[id] = gathering->needed[id] ? box_of_node(gathering, kernels, node) : -1;
        if (all->owner[id] >= 0)
            vector_push(all->arena, &all->boxes.items[all->owner[id]].members, id);
    }
}

/* Arrows, and what is computed on the way. */

static void add_arrow(Gathering *gathering, int to, NodeId value) {
    Boxes *all = gathering->all;
    int from = all->owner[value];
    if (gathering->arrow_to[from] != to + 1) {
        gathering->arrow_to[from] = to + 1;
        vector_push(all->arena, &all->arrows, (Arrow){.from = from, .to = to});
        gathering->arrow[from] = (int)all->arrows.count;
    }
    Arrow *arrow = &all->arrows.items[gathering->arrow[from] - 1];
    all->leaves[value] = true;
    vector_push(all->arena, &arrow->values, value);
}

/* Looks at a node that a box needs: one stored elsewhere is an arrow, one stored nowhere becomes
 * a member. */
static void reach(Gathering *gathering, int box, NodeId id) {
    Boxes *all = gathering->all;
    if (gathering->seen[id] == box + 1 || all->owner[id] == box) return;
    gathering->seen[id] = box + 1;
    if (all->owner[id] >= 0) add_arrow(gathering, box, id);
    else vector_push(all->arena, &all->boxes.items[box].members, id);
}

static int compare_ids(const void *a, const void *b) {
    NodeId left = *(const NodeId *)a, right = *(const NodeId *)b;
    return (left > right) - (left < right);
}

/* The list of members grows while it is read. */
static void reach_all(Gathering *gathering, int box) {
    Boxes *all = gathering->all;
    for (size_t i = 0; i < all->boxes.items[box].members.count; i++) {
        const Node *node = graph_node(all->graph, all->boxes.items[box].members.items[i]);
        for (int j = 0; j < node->input_count; j++) reach(gathering, box, node->inputs[j]);
    }
    NodeIds *members = &all->boxes.items[box].members;
    if (members->count) qsort(members->items, members->count, sizeof(NodeId), compare_ids);
}

static void add_outputs(Gathering *gathering) {
    Boxes *all = gathering->all;
    vector_each(Output, output, all->graph->outputs) {
        bool update = output->kind == OUTPUT_update;
        const char *title =
            update ? arena_format(all->arena, "new %s", output->name) : output->name;
        int box = new_box(all, BOX_output, title);
        reach(gathering, box, output->value);
    }
}

Boxes *boxes_new(Arena *arena, const Graph *graph) {
    Boxes *all = arena_new_item(arena, Boxes);
    size_t count = graph->nodes.count + graph->outputs.count + 1;
    *all = (Boxes){.arena = arena, .graph = graph};
    all->owner = arena_new_array(arena, int, count);
    all->leaves = arena_new_array(arena, bool, count);
    Gathering gathering = {all,
                           graph_needed(arena, graph),
                           arena_new_array(arena, int, count),
                           arena_new_array(arena, int, count),
                           arena_new_array(arena, int, count),
                           graph->kernel_count > 0};
    add_stored_nodes(&gathering);
    add_outputs(&gathering);
    for (size_t box = 0; box < all->boxes.count; box++) reach_all(&gathering, (int)box);
    return all;
}

/* Words. */

static void add_axes(Text *text, uint32_t axes) {
    const char *before = " over ";
    for (int i = 0; i < RANK_LIMIT; i++) {
        if (!(axes >> i & 1)) continue;
        text_format(text, "%s%d", before, i);
        before = ", ";
    }
}

static void add_scan(Text *text, const Scan *scan) {
    text_format(text, " of %s turns%s, %zu operations each", dim_text(text->arena, scan->turns),
                scan->backwards ? " backwards" : "", scan->body->nodes.count);
}

const char *node_summary(Arena *arena, const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    Text text = text_new(arena);
    text_add(&text, op_info[node->op].name);
    for (int i = 0; i < node->input_count; i++) {
        const Node *input = graph_node(graph, node->inputs[i]);
        if (input->op != OP_constant) continue;
        text_add(&text, " ");
        number_print(input->number, input->type.element, &text);
    }
    add_axes(&text, node->axes);
    if (node->op == OP_scan) add_scan(&text, node->scan);
    if (node->op == OP_extern) text_format(&text, " %s", node->external->name);
    if (node->op == OP_part) text_format(&text, " %d", node->part);
    return text_string(&text);
}

const char *value_summary(Arena *arena, const Graph *graph, NodeId id) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const Type *type = &graph_node(graph, id)->type;
    double size = (double)type_size_bound(type);
    int unit = 0;
    bool fixed = true;
    for (int i = 0; i < type->rank; i++) {
        int64_t value;
        fixed &= dim_is_constant(type->dims[i], &value);
    }
    if (size < 0) return type_text(arena, type);
    for (; size >= 1024 && unit < 4; unit++) size /= 1024;
    return arena_format(arena, "%s, %s%.4g %s", type_text(arena, type), fixed ? "" : "at most ",
                        size, units[unit]);
}
