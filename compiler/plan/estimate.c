/* Estimate: what each kernel computes and moves, at the largest sizes.
 *
 * The kernels are gone over twice in their order, as one step follows another, through a cache that
 * loses what was touched longest ago. What it has lost when a kernel wants it again is `far`. */
#include "compiler/plan/planner.h"

#include "compiler/plan/scan.h"

enum { CACHE_BYTES = 16 << 20 /* that the caches of one processor are taken to hold */ };

/* Something in memory, between the one that was touched next and the one touched before. */
typedef struct Block {
    size_t size;
    int next, before; /* places in blocks, or -1 */
    bool near;
    int reader, writer; /* the kernels that have counted it last, plus 1 */
} Block;

typedef struct Estimator {
    Planner *planner;
    Map by_place; /* Place to 1 + its place in blocks */
    Vector(Block) blocks;
    int first, last; /* touched last, and longest ago; or -1 */
    size_t held;
    double bytes, far; /* of the kernel */
    bool writes;
} Estimator;

static double bound(Dim dim) {
    return (double)dim_bound(dim);
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

static int block_at(Estimator *all, const Place *place, size_t size) {
    int64_t key[3] = {place->kind, (int64_t)place->offset,
                      place->kind == PLACE_memory ? 0 : place->index};
    int known = (int)(uintptr_t)map_get_bytes(&all->by_place, key, sizeof key) - 1;
    if (known < 0) {
        known = (int)all->blocks.count;
        vector_push(all->planner->arena, &all->blocks, (Block){.size = size});
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

/* A value counts once for reading it and once for writing it. */
static void count(Estimator *all, NodeId id) {
    const Planner *planner = all->planner;
    size_t size = (size_t)type_size_bound(&node_of(planner, id)->type);
    if (!moves(planner, id)) return;
    int at = block_at(all, &planner->plan->places[id], size);
    Block *block = &all->blocks.items[at];
    int *counted = all->writes ? &block->writer : &block->reader;
    if (*counted == planner->kernel + 1) return;
    *counted = planner->kernel + 1;
    all->bytes += (double)size;
    touch(all, at, size);
}

static void count_read(void *context, NodeId read, IndexKind index) {
    Estimator *all = context;
    (void)index;
    if (node_of(all->planner, read)->kernel != all->planner->kernel) count(all, read);
}

static void estimate_bytes(Estimator *all, int k) {
    Planner *planner = all->planner;
    KernelPlan *kernel = &planner->plan->kernels[k];
    all->bytes = all->far = 0;
    planner->kernel = k;
    all->writes = false;
    for (size_t i = 0; i < kernel->node_count; i++)
        each_read(planner->graph, k, &kernel->loops, kernel->nodes[i], count_read, all);
    all->writes = true;
    for (size_t i = 0; i < kernel->node_count; i++)
        if (planner->stored[kernel->nodes[i]]) count(all, kernel->nodes[i]);
    kernel->bytes = all->bytes;
    kernel->far = all->far;
    if (kernel->scan && scan_bytes(planner->plan, k) > kernel->bytes)
        kernel->bytes = scan_bytes(planner->plan, k);
}

static void forget_counted(Estimator *all) {
    vector_each(Block, block, all->blocks) block->reader = block->writer = 0;
}

/* Operations. */

static double operations_of(const Planner *planner, const Loops *loops, NodeId id) {
    const Node *node = node_of(planner, id);
    double count = (double)type_size_bound(&node->type) / element_info[node->type.element].size;
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
    for (size_t i = 0; i < kernel->node_count; i++)
        kernel->operations += operations_of(planner, &kernel->loops, kernel->nodes[i]);
}

void estimate_kernels(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    Estimator all = {
        .planner = planner, .by_place = map_new(planner->arena), .first = -1, .last = -1};
    for (int k = 0; k < plan->kernel_count; k++) estimate_operations(planner, k);
    for (int pass = 0; pass < 2; pass++) {
        forget_counted(&all);
        for (int i = 0; i < plan->kernel_count; i++) estimate_bytes(&all, plan->order[i]);
    }
}
