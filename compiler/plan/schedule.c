/* Schedule: an order of the kernels with few barriers. A thread waits where it reads what another
 * one has written since the last barrier, or writes what another one has read. */
#include "compiler/plan/planner.h"

#include "compiler/passes/operand.h"

#include <assert.h>

enum { LOOK_AHEAD = 8 /* kernels that may run next, looked at to avoid a barrier */ };

typedef Vector(int) Numbers;

/* Kernels that may run now. */
typedef struct Ready {
    Numbers others, updates; /* heaps; updates: that may wait */
} Ready;

/* What must run before. */

static void add_edge(Planner *planner, int before, int after, bool data) {
    vector_push(planner->arena, &planner->users[before], (Edge){after, data});
    planner->waits[after]++;
    if (data) planner->data_waits[after]++;
}

static void add_read_edges(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    (void)index;
    int writer = node_of(planner, read)->kernel;
    if (writer != NO_KERNEL && writer != planner->kernel)
        add_edge(planner, writer, planner->kernel, true);
    if (planner->update[read] == NODE_NONE || planner->late[read]) return;
    int updater = node_of(planner, planner->update[read])->kernel;
    if (updater != planner->kernel) add_edge(planner, planner->kernel, updater, false);
}

/* What each kernel computes of held values, found by walking down to what lies in memory. */
typedef struct Holds {
    NodeId *after; /* of each node, or NODE_NONE */
    int *seen;     /* the last kernel, and 1 more, that was found to compute with it */
} Holds;

static void add_hold_edges(Planner *planner, const Holds *holds, int k, NodeId id) {
    const Node *node = node_of(planner, id);
    for (int i = 0; i < node->input_count; i++) {
        const NodeId from = node->inputs[i], after = holds->after[from];
        if (node_of(planner, from)->kernel != NO_KERNEL || holds->seen[from] == k + 1) continue;
        holds->seen[from] = k + 1;
        const int before = after == NODE_NONE ? NO_KERNEL : node_of(planner, after)->kernel;
        if (before != NO_KERNEL && before < k) add_edge(planner, before, k, true);
        add_hold_edges(planner, holds, k, from);
    }
}

static void keep_holds(Planner *planner) {
    const size_t count = planner->graph->nodes.count + 1;
    if (!planner->graph->holds.count) return;
    const Holds holds = {arena_new_array(planner->arena, NodeId, count),
                         arena_new_array(planner->arena, int, count)};
    for (size_t id = 0; id < count; id++) holds.after[id] = NODE_NONE;
    vector_each(Hold, hold, planner->graph->holds) holds.after[hold->held] = hold->after;
    for (int k = 0; k < planner->plan->kernel_count; k++) {
        const KernelPlan *kernel = &planner->plan->kernels[k];
        for (size_t i = 0; i < kernel->node_count; i++)
            add_hold_edges(planner, &holds, k, kernel->nodes[i]);
    }
}

/* Barriers. */

/* A weight and its new value in place are one. */
static Access *access_of(Planner *planner, NodeId id) {
    NodeId target = planner->target[id];
    return &planner->accesses[target != NODE_NONE && !planner->late[target] ? target : id];
}

/* Does the kernel read only what lies in its thread's share? By rows: the row's elements; by
 * columns: the column's. */
static bool stays_in_share(const Planner *planner, NodeId read, IndexKind index) {
    const KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    if (index == INDEX_record) return kernel->records;
    if (!kernel->by_columns)
        return index == INDEX_full || index == INDEX_row || index == INDEX_output;
    const Node *node = node_of(planner, planner->node);
    if (node->op != OP_matmul || index == INDEX_row) return index == INDEX_full;
    ContractionOperand b = contraction_operand(planner->graph, node, 1);
    return b.node == read && is_in_order(planner->graph, &b) &&
           contraction_operand(planner->graph, node, 0).node != read;
}

static void check_barrier(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    if (node_of(planner, read)->kernel == planner->kernel) return;
    const Access *access = access_of(planner, read);
    const KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    if (access->write_phase == planner->phase &&
        (!stays_in_share(planner, read, index) || !same_split(split_of(kernel), access->write)))
        planner->needs_barrier = true;
}

/* One thread launches kernels on a GPU, so others wait for it, and it for them. */
static bool needs_barrier(Planner *planner, int k) {
    planner->needs_barrier = runs_on_gpu(&planner->plan->kernels[k]) || planner->launched;
    visit_kernel(planner, k, check_barrier, planner);
    const KernelPlan *kernel = &planner->plan->kernels[k];
    for (size_t i = 0; i < kernel->node_count; i++) {
        const Access *access = access_of(planner, kernel->nodes[i]);
        if (access->read_phase == planner->phase && !same_split(split_of(kernel), access->read))
            planner->needs_barrier = true;
    }
    return planner->needs_barrier;
}

static void note_read(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    Access *access = access_of(planner, read);
    const KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    Split split = split_of(kernel);
    if (!stays_in_share(planner, read, index) ||
        (access->read_phase == planner->phase && !same_split(access->read, split)))
        split.count = NULL;
    access->read_phase = planner->phase;
    access->read = split;
    planner->last_use[read] = planner->phase;
}

static void note_kernel(Planner *planner, int k) {
    KernelPlan *kernel = &planner->plan->kernels[k];
    kernel->phase = planner->phase;
    visit_kernel(planner, k, note_read, planner);
    for (size_t i = 0; i < kernel->node_count; i++) {
        Access *access = access_of(planner, kernel->nodes[i]);
        access->write_phase = planner->phase;
        access->write = split_of(kernel);
        planner->last_use[kernel->nodes[i]] = planner->phase;
    }
}

/* A heap has the smallest number on top. */
static void heap_push(Arena *arena, Numbers *heap, int number) {
    vector_push(arena, heap, number);
    for (size_t i = heap->count - 1; i > 0 && heap->items[(i - 1) / 2] > number; i = (i - 1) / 2) {
        heap->items[i] = heap->items[(i - 1) / 2];
        heap->items[(i - 1) / 2] = number;
    }
}

static int heap_pop(Numbers *heap) {
    int top = heap->items[0], last = heap->items[--heap->count];
    size_t i = 0;
    for (size_t child = 1; child < heap->count; i = child, child = 2 * i + 1) {
        if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child]) child++;
        if (heap->items[child] >= last) break;
        heap->items[i] = heap->items[child];
    }
    heap->items[i] = last;
    return top;
}

/* The first of the next few that needs no barrier, or else the first. Where memory counts more than
 * barriers, the first, in a phase of its own. */
static int choose(Planner *planner, Numbers *ready, bool *barrier) {
    *barrier = true;
    if (planner->graph->wishes.recompute) return heap_pop(ready);
    int looked[LOOK_AHEAD] = {0}, count = 0, chosen = -1;
    while (count < LOOK_AHEAD && ready->count && chosen < 0) {
        looked[count] = heap_pop(ready);
        if (!needs_barrier(planner, looked[count])) chosen = looked[count];
        count++;
    }
    *barrier = chosen < 0;
    if (*barrier) chosen = looked[0];
    for (int i = 0; i < count; i++)
        if (looked[i] != chosen) heap_push(planner->arena, ready, looked[i]);
    return chosen;
}

/* On a GPU updates come last, to be one launch. */
static void release(Planner *planner, Ready *ready, int k) {
    heap_push(planner->arena, may_wait(planner, k) ? &ready->updates : &ready->others, k);
}

/* The weights that a kernel updates. */
static int64_t updated_bytes(const Planner *planner, const KernelPlan *kernel) {
    int64_t bytes = 0;
    for (size_t i = 0; i < kernel->node_count; i++) {
        NodeId target = planner->target[kernel->nodes[i]];
        if (target != NODE_NONE) bytes += type_size_bound(&node_of(planner, target)->type);
    }
    return bytes;
}

/* Of each kernel that is left another one that it waits for: for data, if there is such. */
static const int *waited_for(Planner *planner, const bool *done) {
    const int count = planner->plan->kernel_count;
    int *before = arena_new_array(planner->arena, int, (size_t)count + 1);
    for (int data = 0; data < 2; data++)
        for (int k = 0; k < count; k++) {
            if (done[k]) continue;
            vector_each(Edge, edge, planner->users[k])
                if (edge->data == data && !done[edge->kernel]) before[edge->kernel] = k;
        }
    return before;
}

/* Every kernel left waits: some update weights that others, which need their results, still have to
 * read. Those that wait for each other are found going back, always to data first, so that one
 * whose data is complete is always among them. Of these the one with the least to put back gives up
 * updating in place. */
static int break_cycle(Planner *planner, const bool *done) {
    const FunctionPlan *plan = planner->plan;
    const int *before = waited_for(planner, done);
    int k = 0, least = -1;
    int64_t least_bytes = INT64_MAX;
    while (done[k]) k++;
    for (int i = 0; i < plan->kernel_count; i++) k = before[k];
    const int first = k;
    do {
        const int64_t bytes = updated_bytes(planner, &plan->kernels[k]);
        if (!planner->data_waits[k] && bytes < least_bytes) least = k, least_bytes = bytes;
        k = before[k];
    } while (k != first);
    assert(least >= 0 && "kernels that need each other");
    const KernelPlan *kernel = &plan->kernels[least];
    for (size_t i = 0; i < kernel->node_count; i++)
        if (planner->target[kernel->nodes[i]] != NODE_NONE)
            planner->late[planner->target[kernel->nodes[i]]] = true;
    return least;
}

static void release_users(Planner *planner, Ready *ready, const bool *done, int k) {
    vector_each(Edge, edge, planner->users[k]) {
        planner->waits[edge->kernel]--;
        if (edge->data) planner->data_waits[edge->kernel]--;
        if (!planner->waits[edge->kernel] && !done[edge->kernel])
            release(planner, ready, edge->kernel);
    }
}

/* In front, where they part nothing: kernels that do nothing. How many there are. */
static int order_taken_in(FunctionPlan *plan, bool *done) {
    int count = 0;
    for (int k = 0; k < plan->kernel_count; k++) {
        if (!is_taken_in(&plan->kernels[k])) continue;
        done[k] = true;
        plan->order[count++] = k;
    }
    return count;
}

void order_kernels(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    for (int k = 0; k < plan->kernel_count; k++) visit_kernel(planner, k, add_read_edges, planner);
    keep_holds(planner);
    Ready ready = {0};
    bool *done = arena_new_array(planner->arena, bool, plan->kernel_count + 1);
    const int taken_in = order_taken_in(plan, done);
    for (int k = 0; k < plan->kernel_count; k++)
        if (!planner->waits[k] && !done[k]) release(planner, &ready, k);
    for (int i = taken_in; i < plan->kernel_count; i++) {
        Numbers *next = ready.others.count ? &ready.others : &ready.updates;
        if (!next->count) heap_push(planner->arena, next, break_cycle(planner, done));
        bool barrier;
        int k = choose(planner, next, &barrier);
        plan->kernels[k].barrier = barrier;
        if (barrier) planner->phase++;
        note_kernel(planner, k);
        planner->launched = runs_on_gpu(&plan->kernels[k]);
        done[k] = true;
        plan->order[i] = k;
        release_users(planner, &ready, done, k);
    }
    plan->phase_count = planner->phase + 1;
}
