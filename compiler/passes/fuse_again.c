/* Fuse, again: a value made of few loads and cheap nodes is computed by each kernel that wants it,
 * and stored by none. */
#include "compiler/passes/fuser.h"

#include <string.h>

enum {
    AGAIN_NODE_LIMIT = 6, /* below a node that is computed again */
    AGAIN_LOAD_LIMIT = 3, /* values as large as itself that it then reads */
};

/* Marks what a kernel other than its own wants. */
static void mark_uses(Fuser *fuser, bool *stored, NodeId id, int kernel) {
    const Node *node = node_of(fuser, id);
    if (node->kernel != NO_KERNEL && node->kernel != kernel) stored[id] = true;
    if (node->kernel != NO_KERNEL) return;
    for (int i = 0; i < node->input_count; i++) mark_uses(fuser, stored, node->inputs[i], kernel);
}

static bool *find_stored(Fuser *fuser) {
    bool *stored = arena_new_array(fuser->arena, bool, fuser->graph->nodes.count + 1);
    memcpy(stored, fuser->in_memory, fuser->graph->nodes.count);
    vector_each(Node, node, fuser->graph->nodes)
        for (int i = 0; i < node->input_count && node->kernel != NO_KERNEL; i++)
            mark_uses(fuser, stored, node->inputs[i], node->kernel);
    return stored;
}

/* What computing a node again takes. */
typedef struct Again {
    Dim count; /* its elements */
    int nodes, load_count;
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

static bool is_repeatable(const Node *node) {
    return is_elementwise(node->op) && op_info[node->op].cost <= INLINE_COST_LIMIT;
}

/* Is it made of what lies in memory and a few cheap nodes? */
static bool is_light(Fuser *fuser, const bool *stored, NodeId id, Again *again) {
    const Node *node = node_of(fuser, id);
    if (is_leaf(node->op)) return add_load(fuser, again, id);
    if (node->kernel != NO_KERNEL && stored[id]) return add_load(fuser, again, id);
    bool moves = node->op == OP_reshape || node->op == OP_broadcast ||
                 (node->op == OP_view && !is_guarded_view(fuser->graph, node));
    if (!moves && (!is_repeatable(node) || ++again->nodes > AGAIN_NODE_LIMIT)) return false;
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

void compute_again(Fuser *fuser) {
    bool *stored = find_stored(fuser), *viewed = find_viewed(fuser);
    for (NodeId id = 0; id < fuser->graph->nodes.count; id++) {
        Node *node = node_of(fuser, id);
        if (!stored[id] || fuser->in_memory[id] || viewed[id] || node->kernel == NO_KERNEL ||
            !is_repeatable(node))
            continue;
        Again again = {.count = type_elements(fuser->graph->dimensions, &node->type)};
        bool light = true;
        for (int i = 0; i < node->input_count; i++)
            light = light && is_light(fuser, stored, node->inputs[i], &again);
        if (light) release(fuser, stored, id);
    }
}
