/* Fuse, again: a value made of few loads and cheap nodes is computed by each kernel that wants it,
 * and stored by none. Of large values, several that are made of one that was not stored are all
 * computed again from that one: a pass over memory takes longer than a hundred operations on what
 * it brings. */
#include "compiler/passes/fuser.h"

#include <string.h>

enum {
    AGAIN_NODE_LIMIT = 6,  /* below a node that is computed again */
    AGAIN_LOAD_LIMIT = 3,  /* values as large as itself that it then reads */
    LARGE = 1 << 20,       /* bytes that do not stay in a core's caches */
    LARGE_COST_LIMIT = 40, /* of one node of a large value */
};

/* Does the kernel compute each of its values once? */
static bool is_one_pass(const Fuser *fuser, int kernel) {
    const Open *open = &fuser->kernels.items[kernel];
    return open->elementwise || open->loops.kind == KERNEL_contraction;
}

/* What other kernels than its own want of a value. */
typedef struct Uses {
    bool *stored, *repeated; /* repeated: at several points of a kernel */
} Uses;

static void mark_uses(Fuser *fuser, Uses uses, NodeId id, int kernel) {
    const Node *node = node_of(fuser, id);
    if (node->kernel != NO_KERNEL && node->kernel != kernel) {
        uses.stored[id] = true;
        uses.repeated[id] |= !is_one_pass(fuser, kernel);
    }
    if (node->kernel != NO_KERNEL) return;
    for (int i = 0; i < node->input_count; i++) mark_uses(fuser, uses, node->inputs[i], kernel);
}

static Uses find_uses(Fuser *fuser) {
    size_t count = fuser->graph->nodes.count;
    Uses uses = {arena_new_array(fuser->arena, bool, count + 1),
                 arena_new_array(fuser->arena, bool, count + 1)};
    memcpy(uses.stored, fuser->in_memory, count);
    vector_each(Node, node, fuser->graph->nodes)
        for (int i = 0; i < node->input_count && node->kernel != NO_KERNEL; i++)
            mark_uses(fuser, uses, node->inputs[i], node->kernel);
    return uses;
}

/* What computing a node again takes. */
typedef struct Again {
    Dim count; /* its elements */
    int cost_limit, nodes, load_count;
    NodeId loads[AGAIN_LOAD_LIMIT]; /* of values as large as itself */
} Again;

static bool add_load(Fuser *fuser, Again *again, NodeId id) {
    if (type_elements(fuser->graph->dimensions, &node_of(fuser, id)->type) != again->count)
        return true;
    for (int i = 0; i < again->load_count; i++)
        if (again->loads[i] == id) return true;
    if (again->load_count == AGAIN_LOAD_LIMIT) return false;
    again->loads[again->load_count++] = id;
    return true;
}

static bool is_repeatable(const Node *node, int cost_limit) {
    return is_elementwise(node->op) && op_info[node->op].cost <= cost_limit;
}

/* Is it made of what lies in memory and a few cheap nodes? */
static bool is_light(Fuser *fuser, const bool *stored, NodeId id, Again *again) {
    const Node *node = node_of(fuser, id);
    if (is_leaf(node->op)) return add_load(fuser, again, id);
    if (node->kernel != NO_KERNEL && stored[id]) return add_load(fuser, again, id);
    bool moves = node->op == OP_reshape || node->op == OP_broadcast ||
                 (node->op == OP_view && !is_guarded_view(fuser->graph, node));
    if (!moves && (!is_repeatable(node, again->cost_limit) || ++again->nodes > AGAIN_NODE_LIMIT))
        return false;
    for (int i = 0; i < node->input_count; i++)
        if (!is_light(fuser, stored, node->inputs[i], again)) return false;
    return true;
}

/* Takes a light node, with what only it wanted, out of its kernel. */
static void release(Fuser *fuser, const bool *stored, NodeId id) {
    Node *node = node_of(fuser, id);
    node->kernel = NO_KERNEL;
    for (int i = 0; i < node->input_count; i++) {
        NodeId below = node->inputs[i];
        if (node_of(fuser, below)->kernel == NO_KERNEL ? !is_leaf(node_of(fuser, below)->op)
                                                       : !stored[below])
            release(fuser, stored, below);
    }
}

/* What views read would be found by much index arithmetic for each element. */
static bool *find_viewed(Fuser *fuser) {
    bool *viewed = arena_new_array(fuser->arena, bool, fuser->graph->nodes.count + 1);
    vector_each(Node, node, fuser->graph->nodes)
        if (node->op == OP_view) viewed[strip_reshapes(fuser->graph, node->inputs[0])] = true;
    return viewed;
}

/* Can the stored value be computed again from what lies in memory? */
static bool is_light_value(Fuser *fuser, const bool *stored, NodeId id, Again *again) {
    const Node *node = node_of(fuser, id);
    again->count = type_elements(fuser->graph->dimensions, &node->type);
    bool light = is_repeatable(node, again->cost_limit);
    for (int i = 0; i < node->input_count && light; i++)
        light = is_light(fuser, stored, node->inputs[i], again);
    return light;
}

/* ---- Large values. -------------------------------------------------------------------------- */

typedef Vector(NodeId) NodeIds;

/* Those of a kernel that are stored only because others want them, each at one point of its loops,
 * and can be computed again once `source` is stored. */
static NodeIds made_of(Fuser *fuser, Uses uses, const bool *viewed, const NodeIds *kernel,
                       NodeId source) {
    NodeIds made = {0};
    uses.stored[source] = true;
    vector_each(NodeId, id, *kernel) {
        if (*id <= source || !uses.stored[*id] || uses.repeated[*id] || viewed[*id] ||
            fuser->in_memory[*id])
            continue;
        Again again = {.cost_limit = LARGE_COST_LIMIT};
        if (!is_light_value(fuser, uses.stored, *id, &again)) continue;
        for (int i = 0; i < again.load_count; i++)
            if (again.loads[i] == source) vector_push(fuser->arena, &made, *id);
    }
    uses.stored[source] = false;
    return made;
}

/* Stores the value of which most others are made, the last one of several. */
static void store_instead(Fuser *fuser, Uses uses, const bool *viewed, const NodeIds *kernel) {
    NodeIds most = {0};
    NodeId best = NODE_NONE;
    vector_each(NodeId, id, *kernel) {
        const Node *node = node_of(fuser, *id);
        if (uses.stored[*id] || viewed[*id] || type_size_bound(&node->type) < LARGE) continue;
        NodeIds made = made_of(fuser, uses, viewed, kernel, *id);
        if (made.count < 2 || made.count < most.count) continue;
        most = made;
        best = *id;
    }
    if (best == NODE_NONE) return;
    uses.stored[best] = true;
    vector_each(NodeId, id, most) release(fuser, uses.stored, *id);
}

static bool has_large(const Fuser *fuser, const bool *stored, const NodeIds *kernel) {
    int count = 0;
    vector_each(NodeId, id, *kernel) {
        const Node *node = graph_node(fuser->graph, *id);
        count += stored[*id] && !fuser->in_memory[*id] && type_size_bound(&node->type) >= LARGE;
    }
    return count > 1;
}

static void store_large_instead(Fuser *fuser, Uses uses, const bool *viewed) {
    NodeIds *kernels = arena_new_array(fuser->arena, NodeIds, fuser->kernels.count + 1);
    for (NodeId id = 0; id < fuser->graph->nodes.count; id++) {
        int kernel = node_of(fuser, id)->kernel;
        if (kernel != NO_KERNEL && is_one_pass(fuser, kernel))
            vector_push(fuser->arena, &kernels[kernel], id);
    }
    for (size_t i = 0; i < fuser->kernels.count; i++)
        if (has_large(fuser, uses.stored, &kernels[i]))
            store_instead(fuser, uses, viewed, &kernels[i]);
}

void compute_again(Fuser *fuser) {
    Uses uses = find_uses(fuser);
    bool *viewed = find_viewed(fuser);
    store_large_instead(fuser, uses, viewed);
    for (NodeId id = 0; id < fuser->graph->nodes.count; id++) {
        Node *node = node_of(fuser, id);
        if (!uses.stored[id] || fuser->in_memory[id] || viewed[id] || node->kernel == NO_KERNEL)
            continue;
        Again again = {.cost_limit = INLINE_COST_LIMIT};
        if (is_light_value(fuser, uses.stored, id, &again)) release(fuser, uses.stored, id);
    }
}
