/* Recompute: the way back computes again what it needs of the way there, so that less is kept.
 *
 * The way there, all nodes up to the loss, is cut into stretches that hold about as many bytes
 * which the way back reads; each cut is where the fewest bytes are alive. What is alive at a cut
 * is kept. Everything else that the way back reads of a stretch, but of the last, is a copy made
 * of what is kept. The copy must not be the node itself again, nor be computed on the way there:
 * it starts at hold(kept, after), which is its first operand, after the other is known. */
#include "compiler/passes/pass.h"

#include "compiler/graph/list.h"

#include <math.h>

typedef struct Stretch {
    NodeId last;  /* node */
    NodeId after; /* in `to`: what its copies wait for, or NODE_NONE */
} Stretch;

typedef struct Recomputation {
    const Graph *from;
    Graph *to;
    NodeId loss;
    NodeId *map, *copies; /* in `to` */
    NodeId *last_use;     /* by the way there */
    bool *read_back, *kept;
    int *stretch; /* of each node of the way there */
    Vector(Stretch) stretches;
    NodeId latest; /* of the way back, in `to` */
} Recomputation;

/* Is there one for each record? All else is small, or a weight's. */
static bool is_activation(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    Dim count = type_elements(graph->dimensions, &node->type);
    int64_t value;
    return node->op != OP_input && !has_list_form(node->op) && !dim_is_constant(count, &value);
}

static double bytes_of(const Graph *graph, NodeId id) {
    return (double)type_size_bound(&graph_node(graph, id)->type);
}

/* Uses. */

static void find_uses(Recomputation *all, const bool *needed) {
    for (NodeId id = 0; id < all->from->nodes.count; id++) {
        const Node *node = graph_node(all->from, id);
        for (int i = 0; i < node->input_count && needed[id]; i++) {
            NodeId from = node->inputs[i];
            if (id <= all->loss) all->last_use[from] = id;
            else if (from <= all->loss && is_activation(all->from, from))
                all->read_back[from] = true;
        }
    }
}

/* Bytes of activations that are computed up to each node and read later on the way there. */
static double *live_bytes(Arena *arena, const Recomputation *all) {
    double *live = arena_new_array(arena, double, all->loss + 2), now = 0;
    double *ending = arena_new_array(arena, double, all->loss + 2);
    for (NodeId id = 0; id <= all->loss; id++) {
        if (is_activation(all->from, id) && all->last_use[id] != NODE_NONE) {
            now += bytes_of(all->from, id);
            ending[all->last_use[id]] += bytes_of(all->from, id);
        }
        now -= ending[id];
        live[id] = now;
    }
    return live;
}

/* Cuts. */

static double bytes_read_back(const Recomputation *all, int *count) {
    double bytes = 0;
    for (NodeId id = 0; id <= all->loss; id++)
        if (all->read_back[id]) bytes += bytes_of(all->from, id), ++*count;
    return bytes;
}

static void cut(Arena *arena, Recomputation *all) {
    int count = 0;
    const double *live = live_bytes(arena, all);
    double part = bytes_read_back(all, &count) / ceil(sqrt(count)), done = 0;
    for (NodeId id = 0, best = NODE_NONE; id < all->loss; id++) {
        if (all->read_back[id]) done += bytes_of(all->from, id);
        if (done < part / 2) continue;
        if (live[id] > 0 && (best == NODE_NONE || live[id] <= live[best])) best = id;
        if (done < part || best == NODE_NONE) continue;
        vector_push(arena, &all->stretches, (Stretch){best, NODE_NONE});
        done = 0;
        best = NODE_NONE;
    }
    vector_push(arena, &all->stretches, (Stretch){all->loss, NODE_NONE});
}

static void keep_live(Recomputation *all) {
    int stretch = 0;
    for (NodeId id = 0; id <= all->loss; id++) {
        if (id > all->stretches.items[stretch].last) stretch++;
        all->stretch[id] = stretch;
        all->kept[id] = all->last_use[id] != NODE_NONE &&
                        all->last_use[id] > all->stretches.items[stretch].last;
    }
}

/* Copies. */

static NodeId hold(Recomputation *all, NodeId id, NodeId after) {
    const Node *node = graph_node(all->to, id);
    return graph_must_add(all->to, (Node){.op = OP_hold,
                                          .inputs = {id, after},
                                          .type = node->type,
                                          .range = node->range,
                                          .placement = node->placement});
}

/* The value of a node of stretch `stretch`, computed again after `after`. */
static NodeId again(Recomputation *all, NodeId id, int stretch, NodeId after) {
    const Node *old = graph_node(all->from, id);
    bool starts = old->op == OP_input && old->type.rank > 0;
    if (!starts && !is_activation(all->from, id)) return all->map[id];
    if (all->copies[id] != NODE_NONE && all->stretch[id] == stretch && !all->kept[id])
        return all->copies[id];
    if (starts || all->kept[id] || all->stretch[id] != stretch)
        return hold(all, all->map[id], after);
    Node node = *old;
    for (int i = 0; i < node.input_count; i++)
        node.inputs[i] = again(all, node.inputs[i], stretch, after);
    return all->copies[id] = graph_must_add(all->to, node);
}

/* What a node of the way back reads for a node of either way. */
static NodeId read(Recomputation *all, NodeId id) {
    if (id > all->loss || !all->read_back[id] || all->kept[id]) return all->map[id];
    int stretch = all->stretch[id];
    Stretch *from = &all->stretches.items[stretch];
    if (from->last == all->loss || all->latest == NODE_NONE) return all->map[id];
    if (from->after == NODE_NONE) from->after = all->latest;
    return again(all, id, stretch, from->after);
}

static NodeId copy_back(Recomputation *all, NodeId id) {
    Node node = *graph_node(all->from, id);
    for (int i = 0; i < node.input_count; i++) node.inputs[i] = read(all, node.inputs[i]);
    NodeId copy = graph_must_add(all->to, node);
    if (is_activation(all->from, id)) all->latest = copy;
    return copy;
}

static NodeId loss_of(const Graph *graph) {
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result) return output->value;
    return NODE_NONE;
}

static NodeId *new_ids(Arena *arena, size_t count) {
    NodeId *ids = arena_new_array(arena, NodeId, count + 1);
    memset(ids, 0xff, sizeof *ids * (count + 1)); /* NODE_NONE */
    return ids;
}

static Graph *recompute_after(Arena *arena, const Graph *graph, NodeId loss) {
    size_t count = graph->nodes.count;
    Recomputation all = {.from = graph,
                         .to = graph_like(arena, graph),
                         .loss = loss,
                         .map = new_ids(arena, count),
                         .copies = new_ids(arena, count),
                         .last_use = new_ids(arena, count),
                         .read_back = arena_new_array(arena, bool, count + 1),
                         .kept = arena_new_array(arena, bool, count + 1),
                         .stretch = arena_new_array(arena, int, count + 1),
                         .latest = NODE_NONE};
    const bool *needed = graph_needed(arena, graph);
    find_uses(&all, needed);
    cut(arena, &all);
    keep_live(&all);
    for (NodeId id = 0; id < count; id++)
        if (needed[id])
            all.map[id] =
                id <= loss ? graph_copy_node(all.to, graph, id, all.map) : copy_back(&all, id);
    graph_copy_outputs(all.to, graph, all.map);
    return all.to;
}

Graph *recompute(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    NodeId loss = loss_of(graph);
    bool wanted = graph->wishes.recompute && loss != NODE_NONE;
    return wanted ? recompute_after(arena, graph, loss) : (Graph *)graph;
}
