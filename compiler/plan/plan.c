/* Plan: storage, then each function by itself: order, barriers, phases, memory. */
#include "compiler/plan/plan.h"
#include "compiler/plan/scan.h"

#include "compiler/passes/operand.h"

#include <assert.h>

enum {
    FEW_ROWS = 16,           /* a product of so few rows is split by columns, */
    COLUMN_SPLIT_LEAST = 64, /* when it has as many as this */
    LOOK_AHEAD = 8,          /* kernels that may run next, looked at to avoid a barrier */
};

typedef Vector(int) Numbers;

/* A kernel that must run later; data: because it reads what this one stores. */
typedef struct Edge {
    int kernel;
    bool data;
} Edge;

typedef Vector(Edge) Edges;

/* What is known of the threads' accesses to a value or a weight since the last barrier. */
typedef struct Access {
    int write_phase, read_phase; /* -1: never */
    Dim write_share, read_share; /* read_share NULL: read across shares or with several */
    bool write_columns, read_columns;
} Access;

typedef struct Planner {
    Arena *arena;
    const Plan *program_plan;
    FunctionPlan *plan;
    const Graph *graph;
    bool *stored;
    NodeId *target; /* of each node: the weight it is the new value of, or NODE_NONE */
    NodeId *update; /* of each weight node: its new value, or NODE_NONE */
    bool *late;     /* of each weight node: is copied at the end */
    Access *accesses;
    Edges *users; /* of each kernel */
    int *waits;   /* of each kernel: how many must run before */
    int *data_waits;
    int *last_use;     /* of each node: phase */
    int kernel, phase; /* while visiting */
    bool needs_barrier;
    NodeId node;
} Planner;

static const Node *node_of(const Planner *planner, NodeId id) {
    return graph_node(planner->graph, id);
}

/* Kernels. */

static Dim loops_share(Dimensions *table, const Loops *loops) {
    Dim inner = loops->kind == KERNEL_columns   ? loops->columns
                : loops->kind == KERNEL_scatter ? loops->depth
                                                : loops->rows;
    return dim_multiply(table, loops->outer, inner);
}

/* All placed nodes of a kernel want the same, some more than others. Code is written for the CPU
 * alone. */
static void give_device(const Planner *planner, KernelPlan *kernel) {
    for (size_t i = 0; i < kernel->node_count; i++) {
        const Placement *placement = &node_of(planner, kernel->nodes[i])->placement;
        bool firmer = kernel->wanted.soft && !placement->soft && is_placed(placement);
        if (!is_placed(&kernel->wanted) || firmer) kernel->wanted = *placement;
    }
    kernel->given = (Placement){.device = DEVICE_cpu};
}

static void collect_kernels(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    size_t *counts = arena_new_array(planner->arena, size_t, plan->kernel_count + 1);
    vector_each(Node, node, planner->graph->nodes)
        if (node->kernel != NO_KERNEL) counts[node->kernel]++;
    NodeId **lists = arena_new_array(planner->arena, NodeId *, plan->kernel_count + 1);
    for (int k = 0; k < plan->kernel_count; k++)
        lists[k] = arena_new_array(planner->arena, NodeId, counts[k]);
    for (NodeId id = 0; id < planner->graph->nodes.count; id++) {
        int k = node_of(planner, id)->kernel;
        if (k != NO_KERNEL) lists[k][plan->kernels[k].node_count++] = id;
    }
    for (int k = 0; k < plan->kernel_count; k++) {
        KernelPlan *kernel = &plan->kernels[k];
        kernel->nodes = lists[k];
        kernel->loops = kernel_loops(planner->graph, kernel->nodes, kernel->node_count);
        kernel->share = loops_share(planner->graph->dimensions, &kernel->loops);
        give_device(planner, kernel);
        if (kernel->loops.kind == KERNEL_scan) plan_scan(planner->program_plan, plan, k);
        if (kernel->loops.kind == KERNEL_external) kernel->share = NULL;
    }
}

static void visit_kernel(Planner *planner, int k, VisitRead *visit) {
    const KernelPlan *kernel = &planner->plan->kernels[k];
    planner->kernel = k;
    for (size_t i = 0; i < kernel->node_count; i++) {
        planner->node = kernel->nodes[i];
        each_read(planner->graph, k, &kernel->loops, kernel->nodes[i], visit, planner);
    }
}

/* What is stored. */

static void mark_stored(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    (void)index;
    int kernel = node_of(planner, read)->kernel;
    if (kernel != NO_KERNEL && kernel != planner->kernel) planner->stored[read] = true;
}

static bool is_external_result(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    return node->op == OP_part && graph_node(graph, node->inputs[0])->op == OP_extern;
}

static void find_stored(Planner *planner) {
    for (int k = 0; k < planner->plan->kernel_count; k++) visit_kernel(planner, k, mark_stored);
    vector_each(Output, output, planner->graph->outputs)
        planner->stored[strip_reshapes(planner->graph, output->value)] = true;
    for (NodeId id = 0; id < planner->graph->nodes.count; id++)
        if (is_external_result(planner->graph, id)) planner->stored[id] = true;
    vector_each(Node, node, planner->graph->nodes)
        if (node->op == OP_check) {
            NodeId source = strip_reshapes(planner->graph, node->inputs[0]);
            if (node_of(planner, source)->kernel != NO_KERNEL) planner->stored[source] = true;
        }
}

/* Updates in place. */

static void find_updates(Planner *planner) {
    for (size_t i = 0; i <= planner->graph->nodes.count; i++)
        planner->target[i] = planner->update[i] = NODE_NONE;
    vector_each(Output, output, planner->graph->outputs) {
        if (output->kind != OUTPUT_update) continue;
        NodeId value = strip_reshapes(planner->graph, output->value);
        planner->target[value] = output->target;
        planner->update[output->target] = value;
    }
}

/* Goes over each row several times. */
static bool reduces_rows(const Planner *planner, const KernelPlan *kernel) {
    for (size_t i = 0; i < kernel->node_count && kernel->loops.kind == KERNEL_rows; i++)
        if (op_info[node_of(planner, kernel->nodes[i])->op].class == LOOP_reduce) return true;
    return false;
}

/* A kernel that needs the old value at another place than where it writes the new one, or at
 * another time. */
static void check_in_place(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    NodeId update = planner->update[read];
    if (update == NODE_NONE || node_of(planner, update)->kernel != planner->kernel) return;
    const KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    const Loops *loops = &kernel->loops;
    IndexKind native =
        native_index(planner->graph->dimensions, loops, &node_of(planner, update)->type);
    if (index != native || native == INDEX_other ||
        node_of(planner, planner->node)->op == OP_matmul || reduces_rows(planner, kernel))
        planner->late[read] = true;
}

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

/* Shares. */

/* Is it a product that threads can split by columns? */
static bool wide_product(const Planner *planner, const KernelPlan *kernel) {
    const Node *node = node_of(planner, kernel->nodes[0]);
    int64_t outer;
    if (node->op != OP_matmul || dim_bound(kernel->loops.columns) < COLUMN_SPLIT_LEAST)
        return false;
    return dim_is_constant(kernel->loops.outer, &outer) && outer == 1;
}

/* A product is split by rows, which keeps a thread's rows with it from kernel to kernel. Splitting
 * wide ones by columns, so that each thread keeps its part of the weights, was slower on the one
 * machine it was tried on (784x128 weights in rows, 2 threads). */
static void choose_shares(Planner *planner) {
    for (int k = 0; k < planner->plan->kernel_count; k++) {
        KernelPlan *kernel = &planner->plan->kernels[k];
        if (!wide_product(planner, kernel) || dim_bound(kernel->loops.rows) > FEW_ROWS) continue;
        kernel->by_columns = true;
        kernel->share = kernel->loops.columns;
    }
}

/* Ordering and barriers. */

/* A weight and its new value in place are one. */
static Access *access_of(Planner *planner, NodeId id) {
    NodeId target = planner->target[id];
    return &planner->accesses[target != NODE_NONE && !planner->late[target] ? target : id];
}

/* Does the kernel read only what lies in its thread's share? By rows: the row's elements; by
 * columns: the column's. */
static bool stays_in_share(const Planner *planner, NodeId read, IndexKind index) {
    const KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    if (!kernel->by_columns)
        return index == INDEX_full || index == INDEX_row || index == INDEX_output;
    const Node *node = node_of(planner, planner->node);
    if (node->op != OP_matmul || index == INDEX_row) return index == INDEX_full;
    ContractionOperand b = contraction_operand(planner->graph, node, 1);
    return b.node == read && is_in_order(planner->graph, &b) &&
           contraction_operand(planner->graph, node, 0).node != read;
}

static bool same_share(const KernelPlan *kernel, Dim share, bool columns) {
    return kernel->share == share && kernel->by_columns == columns;
}

static void check_barrier(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    if (node_of(planner, read)->kernel == planner->kernel) return;
    const Access *access = access_of(planner, read);
    const KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    if (access->write_phase == planner->phase &&
        (!stays_in_share(planner, read, index) ||
         !same_share(kernel, access->write_share, access->write_columns)))
        planner->needs_barrier = true;
}

static bool needs_barrier(Planner *planner, int k) {
    planner->needs_barrier = false;
    visit_kernel(planner, k, check_barrier);
    const KernelPlan *kernel = &planner->plan->kernels[k];
    for (size_t i = 0; i < kernel->node_count; i++) {
        const Access *access = access_of(planner, kernel->nodes[i]);
        if (access->read_phase == planner->phase &&
            !same_share(kernel, access->read_share, access->read_columns))
            planner->needs_barrier = true;
    }
    return planner->needs_barrier;
}

static void note_read(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    Access *access = access_of(planner, read);
    const KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    Dim share = stays_in_share(planner, read, index) ? kernel->share : NULL;
    if (access->read_phase == planner->phase &&
        (access->read_share != share || access->read_columns != kernel->by_columns))
        share = NULL;
    access->read_phase = planner->phase;
    access->read_share = share;
    access->read_columns = kernel->by_columns;
    planner->last_use[read] = planner->phase;
}

static void note_kernel(Planner *planner, int k) {
    KernelPlan *kernel = &planner->plan->kernels[k];
    kernel->phase = planner->phase;
    visit_kernel(planner, k, note_read);
    for (size_t i = 0; i < kernel->node_count; i++) {
        Access *access = access_of(planner, kernel->nodes[i]);
        access->write_phase = planner->phase;
        access->write_share = kernel->share;
        access->write_columns = kernel->by_columns;
        planner->last_use[kernel->nodes[i]] = planner->phase;
    }
}

/* Kernels that may run now, as a heap with the smallest number on top. */
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

/* Every kernel left waits: one of them updates a weight that others, which need its results,
 * still have to read. The first kernel whose data is complete gives up updating in place. */
static int break_cycle(Planner *planner, const bool *done) {
    for (int k = 0; k < planner->plan->kernel_count; k++) {
        if (done[k] || planner->data_waits[k]) continue;
        const KernelPlan *kernel = &planner->plan->kernels[k];
        for (size_t i = 0; i < kernel->node_count; i++)
            if (planner->target[kernel->nodes[i]] != NODE_NONE)
                planner->late[planner->target[kernel->nodes[i]]] = true;
        return k;
    }
    assert(!"kernels that need each other");
    return -1;
}

static void release_users(Planner *planner, Numbers *ready, const bool *done, int k) {
    vector_each(Edge, edge, planner->users[k]) {
        planner->waits[edge->kernel]--;
        if (edge->data) planner->data_waits[edge->kernel]--;
        if (!planner->waits[edge->kernel] && !done[edge->kernel])
            heap_push(planner->arena, ready, edge->kernel);
    }
}

static void order_kernels(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    Numbers ready = {0};
    bool *done = arena_new_array(planner->arena, bool, plan->kernel_count + 1);
    for (int k = 0; k < plan->kernel_count; k++)
        if (!planner->waits[k]) heap_push(planner->arena, &ready, k);
    for (int i = 0; i < plan->kernel_count; i++) {
        if (!ready.count) heap_push(planner->arena, &ready, break_cycle(planner, done));
        bool barrier;
        int k = choose(planner, &ready, &barrier);
        plan->kernels[k].barrier = barrier;
        if (barrier) planner->phase++;
        note_kernel(planner, k);
        done[k] = true;
        plan->order[i] = k;
        release_users(planner, &ready, done, k);
    }
    plan->phase_count = planner->phase + 1;
}

/* Places. */

static int input_index(const FunctionPlan *plan, const char *name) {
    for (size_t i = 0; i < plan->function->inputs.count; i++)
        if (!strcmp(plan->function->inputs.items[i].name, name))
            return plan->record ? plan->function->inputs.items[i].index : (int)i;
    assert(!"an input that the function does not list");
    return -1;
}

static void place_leaf(Planner *planner, NodeId id) {
    const Node *node = node_of(planner, id);
    Place *place = &planner->plan->places[id];
    if (node->op == OP_input)
        *place = (Place){PLACE_input, 0, input_index(planner->plan, node->name)};
    if (node->op != OP_weight) return;
    const Plan *all = planner->program_plan;
    int index = (int)(uintptr_t)map_get(&all->storage_by_name, node->name) - 1;
    assert(index >= 0 && "a weight that the program does not list");
    *place = (Place){PLACE_memory, all->storage[index], index};
}

/* A record function's results go where the caller wants them; the first place of each value. */
static bool place_record_result(Planner *planner, NodeId id) {
    int index = 0;
    vector_each(Output, output, planner->graph->outputs) {
        if (strip_reshapes(planner->graph, output->value) == id) {
            planner->plan->places[id] = (Place){PLACE_output, 0, index};
            return true;
        }
        index++;
    }
    return false;
}

static void place_value(Planner *planner, NodeId id, const bool *results) {
    NodeId target = planner->target[id];
    if (target != NODE_NONE && !planner->late[target]) {
        planner->plan->places[id] = planner->plan->places[target];
        return;
    }
    if (planner->plan->record && place_record_result(planner, id)) return;
    int kernel = node_of(planner, id)->kernel;
    bool forever = target != NODE_NONE || results[id];
    int last = forever ? planner->plan->phase_count : planner->last_use[id];
    size_t size = align_size((size_t)type_size_bound(&node_of(planner, id)->type));
    vector_push(planner->arena, &planner->plan->buffers,
                (Buffer){id, size, 0, planner->plan->kernels[kernel].phase, last});
}

static void place_all(Planner *planner, size_t base) {
    FunctionPlan *plan = planner->plan;
    bool *results = arena_new_array(planner->arena, bool, planner->graph->nodes.count + 1);
    vector_each(Output, output, planner->graph->outputs)
        if (output->kind == OUTPUT_result)
            results[strip_reshapes(planner->graph, output->value)] = true;
    for (NodeId id = 0; id < planner->graph->nodes.count; id++) place_leaf(planner, id);
    for (NodeId id = 0; id < planner->graph->nodes.count; id++)
        if (planner->stored[id]) place_value(planner, id, results);
    for (int k = 0; k < plan->kernel_count; k++)
        if (plan->kernels[k].scan) buffer_scan(planner->arena, plan, k, planner->stored);
    plan->scratch_size = place_buffers(planner->arena, plan, base) - base;
    vector_each(Buffer, buffer, plan->buffers)
        plan->places[buffer->node] = (Place){PLACE_memory, buffer->offset, -1};
    for (int k = 0; k < plan->kernel_count; k++)
        if (plan->kernels[k].scan) place_scan(planner->arena, plan, k);
    for (NodeId id = 0; id < planner->graph->nodes.count; id++) {
        NodeId target = planner->target[id];
        if (target == NODE_NONE || !planner->late[target]) continue;
        size_t size = (size_t)type_size_bound(&node_of(planner, target)->type);
        vector_push(planner->arena, &plan->late,
                    (LateCopy){plan->places[id].offset, plan->places[target].offset, size});
    }
}

/* Estimates. */

static double bound(Dim dim) {
    return (double)dim_bound(dim);
}

static void estimate_read(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    (void)index;
    KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    if (node_of(planner, read)->kernel != planner->kernel)
        kernel->bytes += (double)type_size_bound(&node_of(planner, read)->type);
}

static void estimate(Planner *planner, int k) {
    KernelPlan *kernel = &planner->plan->kernels[k];
    visit_kernel(planner, k, estimate_read);
    if (kernel->scan) {
        kernel->operations = scan_operations(planner->plan, k);
        return;
    }
    for (size_t i = 0; i < kernel->node_count; i++) {
        const Node *node = node_of(planner, kernel->nodes[i]);
        const Loops *loops = &kernel->loops;
        double count = (double)type_size_bound(&node->type) / element_info[node->type.element].size;
        double cost = op_info[node->op].cost ? op_info[node->op].cost : 1;
        double points = bound(loops->outer) * bound(loops->rows) * bound(loops->columns);
        if (node->op == OP_matmul) cost = 2 * bound(loops->depth);
        if (op_info[node->op].class == LOOP_reduce) count = points * bound(loops->depth);
        kernel->operations += count * cost;
        if (planner->stored[kernel->nodes[i]])
            kernel->bytes += (double)type_size_bound(&node->type);
    }
}

/* A function. */

static void prepare(Planner *planner) {
    Arena *arena = planner->arena;
    FunctionPlan *plan = planner->plan;
    size_t nodes = planner->graph->nodes.count + 1, kernels = (size_t)plan->kernel_count + 1;
    plan->kernels = arena_new_array(arena, KernelPlan, kernels);
    plan->order = arena_new_array(arena, int, kernels);
    plan->places = arena_new_array(arena, Place, nodes);
    planner->stored = arena_new_array(arena, bool, nodes);
    planner->target = arena_new_array(arena, NodeId, nodes);
    planner->update = arena_new_array(arena, NodeId, nodes);
    planner->late = arena_new_array(arena, bool, nodes);
    planner->accesses = arena_new_array(arena, Access, nodes);
    planner->last_use = arena_new_array(arena, int, nodes);
    planner->users = arena_new_array(arena, Edges, kernels);
    planner->waits = arena_new_array(arena, int, kernels);
    planner->data_waits = arena_new_array(arena, int, kernels);
    for (size_t i = 0; i < nodes; i++)
        planner->accesses[i] = (Access){.write_phase = -1, .read_phase = -1};
}

FunctionPlan *plan_function(const Plan *program_plan, const Function *function, bool record) {
    Arena *arena = program_plan->arena;
    FunctionPlan *plan = arena_new_item(arena, FunctionPlan);
    plan->function = function;
    plan->graph = function->graph;
    plan->record = record;
    plan->kernel_count = function->graph->kernel_count;
    plan->batch = function->graph->batch ? dim_bound(function->graph->batch) : 1;
    Planner planner = {
        .arena = arena, .program_plan = program_plan, .plan = plan, .graph = function->graph};
    prepare(&planner);
    collect_kernels(&planner);
    find_stored(&planner);
    find_updates(&planner);
    choose_shares(&planner);
    for (int k = 0; k < plan->kernel_count; k++) visit_kernel(&planner, k, check_in_place);
    for (int k = 0; k < plan->kernel_count; k++) visit_kernel(&planner, k, add_read_edges);
    order_kernels(&planner);
    place_all(&planner, record ? 0 : program_plan->storage_size);
    for (int k = 0; k < plan->kernel_count; k++) estimate(&planner, k);
    return plan;
}

/* A program. */

static void add_function(Plan *plan, const Function *function, bool record) {
    if (plan_of(plan, function)) return;
    FunctionPlan *added = plan_function(plan, function, record);
    vector_push(plan->arena, &plan->functions, added);
    size_t size = plan->storage_size + added->scratch_size;
    if (!record && size > plan->memory_size) plan->memory_size = size;
}

static void add_section(Plan *plan, const Section *section) {
    add_function(plan, &section->record, true);
    vector_each(Ordering, order, section->orders)
        if (order->kind == ORDER_filter) add_function(plan, &order->condition, true);
}

static void place_storage(Plan *plan) {
    size_t offset = 0;
    plan->storage = arena_new_array(plan->arena, size_t, plan->program->storage.count + 1);
    plan->storage_by_name = map_new(plan->arena);
    for (size_t i = 0; i < plan->program->storage.count; i++) {
        const Storage *storage = &plan->program->storage.items[i];
        plan->storage[i] = offset;
        map_put(&plan->storage_by_name, storage->name, (void *)(uintptr_t)(i + 1));
        offset += align_size((size_t)type_size_bound(&storage->type));
    }
    plan->storage_size = plan->memory_size = offset;
}

const FunctionPlan *plan_of(const Plan *plan, const Function *function) {
    vector_each(FunctionPlan *, known, plan->functions)
        if ((*known)->function == function) return *known;
    return NULL;
}

Plan *plan_program(Arena *arena, const Program *program) {
    Plan *plan = arena_new_item(arena, Plan);
    plan->arena = arena;
    plan->program = program;
    place_storage(plan);
    vector_each(Pipeline *, pipeline, program->pipelines)
        vector_each(Section *, section, (*pipeline)->sections) add_section(plan, *section);
    vector_each(Train, train, program->trains) {
        add_function(plan, &train->initialise, false);
        add_function(plan, &train->step, false);
        if (train->accumulate.graph) add_function(plan, &train->accumulate, false);
        vector_each(Action, action, train->actions)
            if (action->function) add_function(plan, action->function, false);
    }
    vector_each(Run, run, program->runs)
        if (run->function) add_function(plan, run->function, false);
    vector_each(Export, export, program->exports) add_function(plan, &export->function, false);
    return plan;
}
