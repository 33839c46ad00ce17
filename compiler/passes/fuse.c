/* Fuse: groups nodes into kernels, each computed by one set of loops.
 *
 * A node is *stored* (an output, or wanted by another kernel), *local* (wanted only by its own
 * kernel) or *inline* (without kernel: leaves, movements, generators, scalars, and what is cheaper
 * to compute again than to load). Nodes are visited in order. One may join the latest kernel of
 * its operands, or a later one, when it finds each operand that this kernel computes at the same
 * point of the loops; otherwise it starts a kernel. Kernel numbers therefore respect the data
 * flow: a kernel reads only what smaller ones store.
 *
 * A kernel runs on one device. What nobody placed goes where its first placed operand is; what
 * crosses to another device is stored.
 *
 * A scan, or an extern, and its parts are a kernel by themselves; its operands are stored. The
 * body is fused like any graph, but each of its results is a node of its own, because it has a
 * place of its own. */
#include "compiler/passes/fuser.h"

#include "compiler/passes/operand.h"
#include "compiler/passes/pass.h"

enum {
    INLINE_SIZE_LIMIT = 24, /* nodes computed again at each use */
    NODES_LIMIT = 256,      /* of one kernel */
    COMPANY_LIMIT = 16,     /* nodes of a kernel that takes another which reads nothing of it, */
    MEETING_LIMIT = 4,      /* if what so many nodes make of that does not meet the kernel's own */
    OUTPUTS_LIMIT = 16,     /* of one kernel */
};

/* Holds become reshapes that change nothing; `after` remembers what they wait for. */
static void release_holds(Fuser *fuser) {
    for (NodeId id = 0; id < fuser->graph->nodes.count; id++) {
        Node *node = node_of(fuser, id);
        bool holds = node->op == OP_hold;
        fuser->after[id] = holds ? node->inputs[1] : NODE_NONE;
        if (!holds) continue;
        vector_push(fuser->arena, &fuser->graph->holds, (Hold){id, node->inputs[1]});
        node->op = OP_reshape;
        node->input_count = 1;
        node->inputs[1] = NODE_NONE;
    }
}

/* Would the kernel find what it computes itself at the right point of its loops? */
static bool agrees(Fuser *fuser, int kernel, const Loops *loops, NodeId id, IndexKind index) {
    Node *node = node_of(fuser, id);
    Dimensions *table = fuser->graph->dimensions;
    if (fuser->latest[id] < kernel) return true;
    if (node->kernel == kernel)
        return index != INDEX_other && native_index(table, loops, &node->type) == index;
    if (node->kernel != NO_KERNEL) return true;
    for (int i = 0; i < node->input_count; i++) {
        IndexKind inner = needed_index(fuser->graph, loops, node, i, index);
        if (!agrees(fuser, kernel, loops, node->inputs[i], inner)) return false;
    }
    return true;
}

static int operands_latest(Fuser *fuser, const Node *node) {
    int latest = NO_KERNEL;
    for (int i = 0; i < node->input_count; i++)
        if (fuser->latest[node->inputs[i]] > latest) latest = fuser->latest[node->inputs[i]];
    return latest;
}

static int operands_depth(Fuser *fuser, const Node *node, int kernel) {
    int depth = 0;
    for (int i = 0; i < node->input_count; i++) {
        NodeId id = node->inputs[i];
        if (fuser->latest[id] == kernel && fuser->depth[id] > depth) depth = fuser->depth[id];
    }
    return depth;
}

static bool operands_agree(Fuser *fuser, int kernel, const Loops *loops, const Node *node,
                           IndexKind index) {
    for (int i = 0; i < node->input_count; i++) {
        IndexKind inner = op_info[node->op].class == LOOP_reduce
                              ? INDEX_full
                              : needed_index(fuser->graph, loops, node, i, index);
        if (!agrees(fuser, kernel, loops, node->inputs[i], inner)) return false;
    }
    return true;
}

static bool elementwise_fits(Fuser *fuser, int kernel, const Node *node) {
    Loops *loops = &fuser->kernels.items[kernel].loops;
    IndexKind index = native_index(fuser->graph->dimensions, loops, &node->type);
    if (index == INDEX_other) return false;
    if (loops->kind == KERNEL_rows && index == INDEX_full && !keeps_rows(loops) &&
        operands_depth(fuser, node, kernel) > 0)
        return false;
    return operands_agree(fuser, kernel, loops, node, index);
}

static bool same_loops(const Loops *a, const Loops *b) {
    return a->kind == b->kind && a->outer == b->outer && a->rows == b->rows &&
           a->depth == b->depth && a->columns == b->columns;
}

static bool reduction_fits(Fuser *fuser, int kernel, const Node *node) {
    Open *open = &fuser->kernels.items[kernel];
    Loops wanted = node_loops(fuser->graph, node);
    bool same = same_loops(&open->loops, &wanted);
    if (!same && !(open->elementwise && wanted.kind == KERNEL_rows)) return false;
    Dimensions *table = fuser->graph->dimensions;
    const Type *operand = &node_of(fuser, node->inputs[0])->type;
    if (!same && native_index(table, &open->loops, operand) != INDEX_full) return false;
    if (!keeps_rows(&wanted) && operands_depth(fuser, node, kernel) > 0) return false;
    return operands_agree(fuser, kernel, &wanted, node, INDEX_row);
}

static bool fits(Fuser *fuser, int kernel, const Node *node) {
    const Open *open = &fuser->kernels.items[kernel];
    if (open->node_count >= NODES_LIMIT || open->output_count >= OUTPUTS_LIMIT) return false;
    if (devices_differ(&open->placement, &node->placement)) return false;
    if (open->alone) return false;
    switch (op_info[node->op].class) {
    case LOOP_row:
    case LOOP_contract:
    case LOOP_scatter: return false;
    case LOOP_reduce: return reduction_fits(fuser, kernel, node);
    default: return elementwise_fits(fuser, kernel, node);
    }
}

/* Loops and a device, without padding. */
typedef struct LoopsKey {
    uintptr_t parts[7];
} LoopsKey;

static LoopsKey loops_key(const Loops *loops, const Placement *placement) {
    return (LoopsKey){{loops->kind, (uintptr_t)loops->outer, (uintptr_t)loops->rows,
                       (uintptr_t)loops->depth, (uintptr_t)loops->columns, placement->device,
                       (uintptr_t)placement->index}};
}

static void join(Fuser *fuser, int kernel, NodeId id) {
    Node *node = node_of(fuser, id);
    Open *open = &fuser->kernels.items[kernel];
    bool reduction = op_info[node->op].class == LOOP_reduce;
    fuser->depth[id] = operands_depth(fuser, node, kernel) + reduction;
    if (reduction && open->elementwise) open->loops = node_loops(fuser->graph, node);
    if (reduction ||
        native_index(fuser->graph->dimensions, &open->loops, &node->type) != INDEX_full)
        open->elementwise = false;
    node->kernel = fuser->latest[id] = kernel;
    open->node_count++;
    open->output_count += fuser->in_memory[id];
    if (!is_placed(&open->placement)) open->placement = node->placement;
    LoopsKey key = loops_key(&open->loops, &open->placement);
    map_put_bytes(&fuser->by_loops, &key, sizeof key, (void *)(uintptr_t)(kernel + 1));
}

static void start(Fuser *fuser, NodeId id) {
    Loops loops = node_loops(fuser->graph, node_of(fuser, id));
    LoopClass class = op_info[node_of(fuser, id)->op].class;
    bool elementwise = !has_own_loops(class) && class != LOOP_none;
    bool alone = starts_alone(node_of(fuser, id)->op);
    vector_push(fuser->arena, &fuser->kernels,
                (Open){.loops = loops, .alone = alone, .elementwise = elementwise});
    join(fuser, (int)fuser->kernels.count - 1, id);
}

/* An independent kernel with the same loops takes the node when nothing newer is needed: it may
 * read the same values. Much company only makes a kernel that equals no other and takes a C
 * compiler long; so does any of what reads nothing, as all weights' first values. */
static int independent_kernel(Fuser *fuser, const Node *node) {
    Loops loops = node_loops(fuser->graph, node);
    LoopsKey key = loops_key(&loops, &node->placement);
    uintptr_t found = (uintptr_t)map_get_bytes(&fuser->by_loops, &key, sizeof key);
    return (int)found - 1;
}

/* Is what is made of the node, by few others, soon put together with what the kernel computes, as
 * the next place of a window is? */
static bool meets(Fuser *fuser, int kernel, NodeId id) {
    for (int i = 0; i < MEETING_LIMIT && fuser->reader[id] != NODE_NONE; i++) {
        const Node *reader = node_of(fuser, fuser->reader[id]);
        for (int j = 0; j < reader->input_count; j++)
            if (node_of(fuser, reader->inputs[j])->kernel == kernel) return true;
        id = fuser->reader[id];
    }
    return false;
}

static void place(Fuser *fuser, NodeId id) {
    Node *node = node_of(fuser, id);
    int latest = operands_latest(fuser, node);
    if (latest != NO_KERNEL && fits(fuser, latest, node)) {
        join(fuser, latest, id);
        return;
    }
    int other = independent_kernel(fuser, node);
    bool joins =
        other > latest && fuser->reads[id] &&
        (fuser->kernels.items[other].node_count < COMPANY_LIMIT || meets(fuser, other, id));
    if (joins && fits(fuser, other, node)) join(fuser, other, id);
    else start(fuser, id);
}

static void find_readers(Fuser *fuser) {
    const size_t count = fuser->graph->nodes.count;
    bool *read = arena_new_array(fuser->arena, bool, count + 1);
    for (NodeId id = 0; id < count; id++) fuser->reader[id] = NODE_NONE;
    for (NodeId id = 0; id < count; id++)
        for (int i = 0; i < node_of(fuser, id)->input_count && fuser->needed[id]; i++) {
            const NodeId of = node_of(fuser, id)->inputs[i];
            fuser->reader[of] = read[of] ? NODE_NONE : id;
            read[of] = true;
        }
}

/* Is any of what it is computed of in memory, beside the seed of what is generated? */
static bool reads_memory(Fuser *fuser, const Node *node) {
    bool reads = node->op == OP_input || node->op == OP_weight;
    for (int i = 0; i < node->input_count && op_info[node->op].class != LOOP_generate; i++)
        reads |=
            fuser->reads[node->inputs[i]] || node_of(fuser, node->inputs[i])->kernel != NO_KERNEL;
    return reads;
}

static int inline_size(Fuser *fuser, const Node *node) {
    int size = 1;
    for (int i = 0; i < node->input_count; i++)
        if (node_of(fuser, node->inputs[i])->kernel == NO_KERNEL)
            size += fuser->size[node->inputs[i]];
    return size;
}

/* Waits for the kernel that wants it: 0.9 * m of an optimizer belongs to the gradient's tile. */
static bool is_cheap_of_leaves(Fuser *fuser, const Node *node) {
    return is_elementwise(node->op) && op_info[node->op].cost <= INLINE_COST_LIMIT &&
           operands_latest(fuser, node) == NO_KERNEL;
}

static bool stays_inline(Fuser *fuser, NodeId id) {
    const Node *node = node_of(fuser, id);
    if (node->op == OP_input || node->op == OP_weight || node->op == OP_reshape) return true;
    if (node->op == OP_list) return true;
    if (node->op == OP_constant) return !fuser->in_memory[id];
    if (fuser->in_memory[id] || fuser->size[id] > INLINE_SIZE_LIMIT) return false;
    if (is_uniform_sum(fuser->graph, node) || is_widening(fuser->graph, node)) return true;
    LoopClass class = op_info[node->op].class;
    if (class == LOOP_generate || class == LOOP_move || class == LOOP_gather) return true;
    if (is_cheap_of_leaves(fuser, node)) return true;
    return class == LOOP_elementwise &&
           dim_is_one(type_elements(fuser->graph->dimensions, &node->type));
}

/* Copying may have found another way to the value. All parts of what runs are stored. */
static bool is_wanted(Fuser *fuser, NodeId id) {
    const Node *node = node_of(fuser, id);
    return fuser->needed[id] || (node->op == OP_part && fuser->needed[node->inputs[0]]);
}

static void visit(Fuser *fuser, NodeId id) {
    Node *node = node_of(fuser, id);
    fuser->size[id] = inline_size(fuser, node);
    fuser->reads[id] = reads_memory(fuser, node);
    if (!is_wanted(fuser, id)) return;
    if (starts_alone(node->op) || node->op == OP_part) {
        if (node->op != OP_part) start(fuser, id);
        else join(fuser, node_of(fuser, node->inputs[0])->kernel, id);
        return;
    }
    if (!stays_inline(fuser, id)) {
        place(fuser, id);
        return;
    }
    fuser->latest[id] = operands_latest(fuser, node);
    NodeId after = fuser->after[id];
    if (after != NODE_NONE && fuser->latest[after] > fuser->latest[id])
        fuser->latest[id] = fuser->latest[after];
    fuser->depth[id] = operands_depth(fuser, node, fuser->latest[id]);
}

/* Numbers the kernels that still have nodes, in the same order. */
static void renumber(Fuser *fuser) {
    int *numbers = arena_new_array(fuser->arena, int, fuser->kernels.count + 1);
    vector_each(Node, node, fuser->graph->nodes)
        if (node->kernel != NO_KERNEL) numbers[node->kernel] = 1;
    int count = 0;
    for (size_t i = 0; i < fuser->kernels.count; i++)
        if (numbers[i]) numbers[i] = count++;
    vector_each(Node, node, fuser->graph->nodes)
        if (node->kernel != NO_KERNEL) node->kernel = numbers[node->kernel];
    fuser->graph->kernel_count = count;
}

static Graph *fuse_body(Arena *arena, const Graph *graph);

static Graph *fuse_graph(Arena *arena, const Graph *graph, bool body) {
    Graph *fused = fuse_copy(arena, graph, fuse_body);
    Fuser fuser = {.arena = arena, .graph = fused, .body = body, .by_loops = map_new(arena)};
    separate_outputs(&fuser);
    fuser.needed = graph_needed(arena, fused);
    size_t count = fused->nodes.count + 1;
    fuser.in_memory = arena_new_array(arena, bool, count);
    fuser.after = arena_new_array(arena, NodeId, count);
    fuser.latest = arena_new_array(arena, int, count);
    fuser.size = arena_new_array(arena, int, count);
    fuser.reads = arena_new_array(arena, bool, count);
    fuser.reader = arena_new_array(arena, NodeId, count);
    fuser.depth = arena_new_array(arena, int, count);
    for (size_t i = 0; i < count; i++) fuser.latest[i] = NO_KERNEL;
    release_holds(&fuser);
    mark_in_memory(&fuser);
    find_readers(&fuser);
    for (NodeId id = 0; id < fused->nodes.count; id++) visit(&fuser, id);
    compute_again(&fuser);
    renumber(&fuser);
    return fused;
}

static Graph *fuse_body(Arena *arena, const Graph *graph) {
    return fuse_graph(arena, graph, true);
}

Graph *fuse(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    return fuse_graph(arena, graph, false);
}
