/* Estimate: what each kernel computes and moves, at the largest sizes.
 *
 * The kernels are gone over twice in their order, as one step follows another, through a cache that
 * loses what was touched longest ago. What it has lost when a kernel wants it again is `far`. */
#include "compiler/plan/planner.h"

#include "compiler/passes/operand.h"
#include "compiler/plan/scan.h"

enum { CACHE_BYTES = 16 << 20 /* that the caches of one processor are taken to hold */ };

/* Something in memory, between the one that was touched next and the one touched before. */
typedef struct Block {
    size_t size;
    int next, before; /* places in blocks, or -1 */
    bool near;
} Block;

typedef struct Estimator {
    Planner *planner;
    Map by_place; /* Place to 1 + its place in blocks */
    Vector(Block) blocks;
    int first, last; /* touched last, and longest ago; or -1 */
    size_t held;
    double *elements; /* of each node: that the kernel reads at most */
    Vector(NodeId) reads;
    double bytes, far; /* of the kernel */
} Estimator;

static double bound(Dim dim) {
    return (double)dim_bound(dim);
}

static double element_size(const Planner *planner, NodeId id) {
    return element_info[node_of(planner, id)->type.element].size;
}

static double elements_of(const Planner *planner, NodeId id) {
    return (double)type_size_bound(&node_of(planner, id)->type) / element_size(planner, id);
}

/* The cache. */

static void take_out(Estimator *all, int at) {
    Block *block = &all->blocks.items[at];
    if (block->next >= 0) all->blocks.items[block->next].before = block->before;
    else all->first = block->before;
    if (block->before >= 0) all->blocks.items[block->before].next = block->next;
    else all->last = block->next;
    all->held -= block->size;
    block->near = false;
}

static void put_first(Estimator *all, int at) {
    Block *block = &all->blocks.items[at];
    block->next = -1, block->before = all->first;
    if (all->first >= 0) all->blocks.items[all->first].next = at;
    else all->last = at;
    all->first = at;
    all->held += block->size;
    block->near = true;
}

static int block_at(Estimator *all, const Place *place) {
    int64_t key[3] = {place->kind, (int64_t)place->offset,
                      place->kind == PLACE_memory ? 0 : place->index};
    int known = (int)(uintptr_t)map_get_bytes(&all->by_place, key, sizeof key) - 1;
    if (known < 0) {
        known = (int)all->blocks.count;
        vector_push(all->planner->arena, &all->blocks, (Block){0});
        map_put_bytes(&all->by_place, key, sizeof key, (void *)(uintptr_t)(known + 1));
    }
    return known;
}

static void touch(Estimator *all, int at, size_t size) {
    Block *block = &all->blocks.items[at];
    bool near = block->near;
    if (near) take_out(all, at);
    else all->far += (double)size;
    block->size = size;
    put_first(all, at);
    while (all->held > CACHE_BYTES && all->last != all->first) take_out(all, all->last);
}

/* Does the value lie in memory, not in a buffer of its band? */
static bool moves(const Planner *planner, NodeId id) {
    PlaceKind kind = planner->plan->places[id].kind;
    return kind != PLACE_band && kind != PLACE_none;
}

static void count(Estimator *all, NodeId id, double bytes) {
    const Planner *planner = all->planner;
    if (!moves(planner, id)) return;
    all->bytes += bytes;
    touch(all, block_at(all, &planner->plan->places[id]), (size_t)bytes);
}

/* Elements of an operand of a product, of both where they are one value. */
static double product_elements(const Planner *planner, const Loops *loops, const Node *matmul,
                               NodeId read) {
    double each = bound(loops->outer) * bound(loops->depth), lines = 0;
    if (contraction_operand(planner->graph, matmul, 0).node == read) lines += bound(loops->rows);
    if (contraction_operand(planner->graph, matmul, 1).node == read) lines += bound(loops->columns);
    return each * lines;
}

/* That the loops of the kernel meet, an element of the value at each of their points. */
static double loop_elements(const Loops *loops, IndexKind index) {
    bool columns = loops->kind == KERNEL_columns;
    double rows = bound(loops->outer) * bound(columns ? loops->depth : loops->rows);
    if (index == INDEX_zero) return 1;
    if (index == INDEX_column) return bound(loops->columns);
    return index == INDEX_row ? rows : rows * bound(loops->columns);
}

static void note_read(void *context, NodeId read, IndexKind index) {
    Estimator *all = context;
    const Planner *planner = all->planner;
    const KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    const Node *node = node_of(planner, planner->node);
    const bool tiles = kernel->winograd && kernel->winograd->seen == read;
    const bool whole =
        kernel->scan || kernel->attention || tiles || kernel->loops.kind == KERNEL_external;
    if (node_of(planner, read)->kernel == planner->kernel) return;
    if (!all->elements[read]) vector_push(planner->arena, &all->reads, read);
    all->elements[read] += whole ? elements_of(planner, read)
                           : node->op == OP_matmul
                               ? product_elements(planner, &kernel->loops, node, read)
                               : loop_elements(&kernel->loops, index);
}

static void count_reads(Estimator *all, int k) {
    Planner *planner = all->planner;
    all->reads.count = 0;
    visit_kernel(planner, k, note_read, all);
    vector_each(NodeId, read, all->reads) {
        double elements = all->elements[*read], most = elements_of(planner, *read);
        count(all, *read, (elements < most ? elements : most) * element_size(planner, *read));
        all->elements[*read] = 0;
    }
}

static void estimate_bytes(Estimator *all, int k) {
    Planner *planner = all->planner;
    KernelPlan *kernel = &planner->plan->kernels[k];
    all->bytes = all->far = 0;
    count_reads(all, k);
    for (size_t i = 0; i < kernel->node_count; i++) {
        NodeId id = kernel->nodes[i];
        if (planner->stored[id])
            count(all, id, elements_of(planner, id) * element_size(planner, id));
    }
    kernel->bytes = all->bytes;
    kernel->far = all->far;
    if (kernel->scan && scan_bytes(planner->plan, k) > kernel->bytes)
        kernel->bytes = scan_bytes(planner->plan, k);
}

/* Operations. */

static double operations_of(const Planner *planner, const Loops *loops, NodeId id) {
    const Node *node = node_of(planner, id);
    double count = elements_of(planner, id);
    double cost = op_info[node->op].cost ? op_info[node->op].cost : 1;
    double points = bound(loops->outer) * bound(loops->rows) * bound(loops->columns);
    if (node->op == OP_matmul) cost = 2 * bound(loops->depth);
    if (op_info[node->op].class == LOOP_reduce) count = points * bound(loops->depth);
    return count * cost;
}

static void estimate_operations(Planner *planner, int k) {
    KernelPlan *kernel = &planner->plan->kernels[k];
    if (kernel->scan) {
        kernel->operations = scan_operations(planner->plan, k);
        return;
    }
    const Attention *attention = kernel->attention;
    if (attention) kernel->operations = attention->operations;
    for (size_t i = 0; i < kernel->node_count; i++) {
        const NodeId id = kernel->nodes[i];
        if (attention &&
            (id == attention->product || id == attention->most || id == attention->total))
            continue;
        const bool tiles = kernel->winograd && node_of(planner, id)->op == OP_matmul;
        kernel->operations +=
            tiles ? winograd_operations(kernel) : operations_of(planner, &kernel->loops, id);
    }
    kernel->operations *= seen_share(kernel);
}

void estimate_kernels(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    Estimator all = {
        .planner = planner, .by_place = map_new(planner->arena), .first = -1, .last = -1};
    all.elements = arena_new_array(planner->arena, double, planner->graph->nodes.count + 1);
    for (int k = 0; k < plan->kernel_count; k++) estimate_operations(planner, k);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < plan->kernel_count; i++) estimate_bytes(&all, plan->order[i]);
    for (int k = 0; k < plan->kernel_count; k++)
        if (!runs_on_gpu(&plan->kernels[k])) plan->bytes += plan->kernels[k].bytes;
}
