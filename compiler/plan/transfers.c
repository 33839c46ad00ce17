/* Transfers: between the calls of kernels, what brings values to the devices that read them.
 * Inputs are copied at the start, scratch when a kernel on another device is the first to read it.
 * Weights and states outlive functions, so the run itself notes where they are up to date: it is
 * told where they are needed and where they were written. */
#include "compiler/plan/planner.h"

#include "runtime/device/launch_limits.h"

enum { CPU = -1 };
_Static_assert((int)EVERY_GPU == (int)FLOW_EVERY_GPU, "one number for the replicas");

typedef struct Tracker {
    const Plan *program;
    FunctionPlan *plan;
    uint64_t *valid;   /* of each node in scratch, and of inputs: the devices that have it */
    bool *summed;      /* of each node: it becomes whole, and kernels don't wait for that yet */
    uint64_t *storage; /* of each weight and state: those that it is known to be up to date on */
    int device;        /* of the kernel whose reads are visited */
    int kernel;
} Tracker;

static uint64_t bit_of(int device) {
    return (uint64_t)1 << (device + 1);
}

static int device_of(const KernelPlan *kernel) {
    return runs_on_gpu(kernel) ? kernel->given.index : CPU;
}

static bool is_storage(const Place *place) {
    return place->kind == PLACE_memory && place->index >= 0;
}

static void add(Tracker *tracker, Transfer transfer) {
    Transfer *added = arena_new_item(tracker->program->arena, Transfer);
    *added = transfer;
    vector_push(tracker->program->arena, &tracker->plan->bands, (Band){.transfer = added});
}

static void copy(Tracker *tracker, NodeId node, int from, int to) {
    add(tracker, (Transfer){.kind = TRANSFER_copy, .node = node, .from = from, .to = to});
    tracker->valid[node] |= bit_of(to);
}

/* From GPU to GPU, where both have the value at the same place: no replicas, no records. */
static bool goes_across(const Tracker *tracker, const Place *place, int from, int to) {
    return place->kind == PLACE_memory && !makes_records(tracker->plan->function) && from != CPU &&
           to != CPU && from != EVERY_GPU && to != EVERY_GPU;
}

static void bring(Tracker *tracker, NodeId node, int device) {
    const Place *place = &tracker->plan->places[node];
    uint64_t *known = is_storage(place) ? &tracker->storage[place->index] : &tracker->valid[node];
    if (place->kind == PLACE_none || place->kind == PLACE_band || *known & bit_of(device)) return;
    if (is_storage(place)) {
        add(tracker, (Transfer){.kind = TRANSFER_need, .node = node, .to = device});
        *known |= bit_of(device);
        return;
    }
    int from = CPU;
    while (!(*known & bit_of(from))) from++;
    const bool by_cpu = from != CPU && device != CPU && !goes_across(tracker, place, from, device);
    if (by_cpu) copy(tracker, node, from, CPU), from = CPU;
    copy(tracker, node, from, device);
}

static void await(Tracker *tracker) {
    add(tracker, (Transfer){.kind = TRANSFER_await, .to = EVERY_GPU});
    memset(tracker->summed, 0, tracker->plan->graph->nodes.count * sizeof *tracker->summed);
}

static void bring_read(void *context, NodeId read, IndexKind index) {
    Tracker *tracker = context;
    (void)index;
    if (tracker->summed[read]) await(tracker);
    if (graph_node(tracker->plan->graph, read)->kernel != tracker->kernel)
        bring(tracker, read, tracker->device);
}

static void bring_operands(Tracker *tracker, int k) {
    const KernelPlan *kernel = &tracker->plan->kernels[k];
    tracker->kernel = k;
    tracker->device = device_of(kernel);
    for (size_t i = 0; i < kernel->node_count; i++)
        each_read(tracker->plan->graph, k, &kernel->loops, kernel->nodes[i], bring_read, tracker);
}

static void note_written(Tracker *tracker, NodeId node, int device) {
    const Place *place = &tracker->plan->places[node];
    tracker->valid[node] = bit_of(device);
    if (!is_storage(place)) return;
    tracker->storage[place->index] = bit_of(device);
    add(tracker, (Transfer){.kind = TRANSFER_owns, .node = node, .to = device});
}

static void note_results(Tracker *tracker, int k) {
    const KernelPlan *kernel = &tracker->plan->kernels[k];
    for (size_t i = 0; i < kernel->node_count; i++) {
        PlaceKind kind = tracker->plan->places[kernel->nodes[i]].kind;
        if (kind == PLACE_memory || kind == PLACE_output)
            note_written(tracker, kernel->nodes[i], device_of(kernel));
    }
}

/* A value that replicas have in parts or as shares becomes whole on each: where it lies, by and by;
 * else at once, as other values may come to lie where the parts do. */
static void add_reduction(Tracker *tracker, const Band *band) {
    const int k = band->kernels[0];
    const KernelPlan *kernel = &tracker->plan->kernels[k];
    const NodeId node = kernel->nodes[0];
    const NodeId value =
        strip_reshapes(tracker->plan->graph, graph_node(tracker->plan->graph, node)->inputs[0]);
    bring_operands(tracker, k);
    add(tracker,
        (Transfer){.kind = TRANSFER_reduce, .node = node, .value = value, .to = EVERY_GPU});
    Band *added = &tracker->plan->bands.items[tracker->plan->bands.count - 1];
    added->kernels = band->kernels;
    added->count = 1;
    note_results(tracker, k);
    tracker->summed[node] = true;
    const Place *places = tracker->plan->places;
    if (places[node].offset != places[value].offset) await(tracker);
}

static void add_band(Tracker *tracker, const Band *band) {
    size_t before = tracker->plan->bands.count;
    if (joins_replicas(tracker->plan, &tracker->plan->kernels[band->kernels[0]])) {
        add_reduction(tracker, band);
        return;
    }
    for (int i = 0; i < band->count; i++) bring_operands(tracker, band->kernels[i]);
    if (tracker->plan->bands.count > before)
        tracker->plan->kernels[band->kernels[0]].barrier = true;
    vector_push(tracker->program->arena, &tracker->plan->bands, *band);
    for (int i = 0; i < band->count; i++) note_results(tracker, band->kernels[i]);
}

/* New weights that were not written in place. */
static void add_late_copies(Tracker *tracker) {
    FunctionPlan *plan = tracker->plan;
    vector_each(Output, output, plan->graph->outputs) {
        if (output->kind != OUTPUT_update) continue;
        NodeId value = strip_reshapes(plan->graph, output->value);
        const Place *from = &plan->places[value], *to = &plan->places[output->target];
        if (from->kind != PLACE_memory || from->offset == to->offset) continue;
        int device = CPU;
        while (!(tracker->valid[value] & bit_of(device))) device++;
        add(tracker,
            (Transfer){
                .kind = TRANSFER_move, .node = output->target, .value = value, .to = device});
        note_written(tracker, output->target, device);
    }
    plan->late.count = 0;
}

static void bring_result(Tracker *tracker, NodeId node) {
    const Place *place = &tracker->plan->places[node];
    uint64_t *known = &tracker->valid[node];
    int from = CPU;
    if (is_storage(place) || place->kind != PLACE_memory) {
        bring(tracker, node, CPU);
        return;
    }
    while (!(*known & bit_of(from))) from++;
    if (from == CPU) return;
    if (from == EVERY_GPU && portion_of(tracker->plan, node).outer) {
        bring(tracker, node, CPU);
        return;
    }
    if (from == EVERY_GPU) from = 0;
    add(tracker, (Transfer){.kind = TRANSFER_result, .node = node, .from = from, .to = CPU});
    *known |= bit_of(CPU);
}

/* The checks of records are the CPU's. */
static void bring_results(Tracker *tracker) {
    const Graph *graph = tracker->plan->graph;
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result)
            bring_result(tracker, strip_reshapes(graph, output->value));
    vector_each(Node, node, graph->nodes)
        if (node->op == OP_check) bring(tracker, strip_reshapes(graph, node->inputs[0]), CPU);
}

bool uses_gpu(const FunctionPlan *plan) {
    for (int k = 0; k < plan->kernel_count; k++)
        if (runs_on_gpu(&plan->kernels[k])) return true;
    return false;
}

/* The GPU that all its kernels run on, or EVERY_GPU, or -1. */
static int only_gpu(const FunctionPlan *plan) {
    int gpu = plan->kernel_count ? device_of(&plan->kernels[0]) : CPU;
    for (int k = 1; k < plan->kernel_count; k++)
        if (device_of(&plan->kernels[k]) != gpu) return CPU;
    return gpu;
}

static bool copies_input(const FunctionPlan *plan, const Band *band) {
    const Transfer *transfer = band->transfer;
    return transfer && transfer->kind == TRANSFER_copy && transfer->from == CPU &&
           plan->places[transfer->node].kind == PLACE_input;
}

/* What is there from the start is copied at the start, right behind the beginning. */
static void copy_inputs_first(FunctionPlan *plan) {
    Band *bands = plan->bands.items;
    size_t place = 1;
    for (size_t i = place; i < plan->bands.count; i++) {
        if (!copies_input(plan, &bands[i])) continue;
        Band input = bands[i];
        memmove(bands + place + 1, bands + place, (i - place) * sizeof *bands);
        bands[place++] = input;
    }
}

/* Does the CPU wait for a value, but at the end? */
static bool is_waited_for(const FunctionPlan *plan) {
    vector_each(const Band, band, plan->bands) {
        const Transfer *transfer = band->transfer;
        if (transfer && transfer->to == CPU &&
            (transfer->kind == TRANSFER_copy || transfer->kind == TRANSFER_need))
            return true;
    }
    return false;
}

/* Is there room for what the CPU reads of a call when others are on their way? */
static bool keeps_results(const FunctionPlan *plan) {
    const size_t unit = FLOW_LAUNCH_RESULT_UNIT;
    size_t size = 0;
    int count = 0;
    vector_each(const Band, band, plan->bands) {
        if (!band->transfer || band->transfer->kind != TRANSFER_result) continue;
        const Type *type = &graph_node(plan->graph, band->transfer->node)->type;
        size += ((size_t)type_size_bound(type) + unit - 1) / unit * unit;
        count++;
    }
    return count <= FLOW_LAUNCH_RESULTS && size <= FLOW_LAUNCH_RESULT_ROOM;
}

static void add_transfers(const Plan *program, FunctionPlan *plan) {
    Arena *arena = program->arena;
    Tracker tracker = {.program = program,
                       .plan = plan,
                       .valid = arena_new_array(arena, uint64_t, plan->graph->nodes.count + 1),
                       .summed = arena_new_array(arena, bool, plan->graph->nodes.count + 1),
                       .storage =
                           arena_new_array(arena, uint64_t, program->program->storage.count + 1)};
    for (NodeId id = 0; id < plan->graph->nodes.count; id++) tracker.valid[id] = bit_of(CPU);
    const Band *bands = plan->bands.items;
    size_t count = plan->bands.count;
    memset(&plan->bands, 0, sizeof plan->bands);
    bool launches = uses_gpu(plan);
    const int replicas = plan->graph->wishes.replicas;
    if (launches)
        add(&tracker, (Transfer){.kind = TRANSFER_begin, .to = replicas > 1 ? replicas : 0});
    for (size_t i = 0; i < count; i++) add_band(&tracker, &bands[i]);
    add_late_copies(&tracker);
    bring_results(&tracker);
    if (!launches) return;
    add(&tracker, (Transfer){.kind = TRANSFER_end});
    copy_inputs_first(plan);
    const bool waits = is_waited_for(plan) || !keeps_results(plan);
    plan->one_gpu = waits ? 0 : 1 + only_gpu(plan);
}

static int gpus_of(const FunctionPlan *plan, const KernelPlan *kernel) {
    if (!runs_on_gpu(kernel)) return 0;
    return kernel->given.index == EVERY_GPU ? plan->graph->wishes.replicas
                                            : kernel->given.index + 1;
}

int gpu_count(const Plan *plan) {
    int count = 0;
    vector_each(FunctionPlan *, function, plan->functions)
        for (int k = 0; k < (*function)->kernel_count; k++) {
            int gpus = gpus_of(*function, &(*function)->kernels[k]);
            if (gpus > count) count = gpus;
        }
    return count;
}

Portion portion_of(const FunctionPlan *plan, NodeId node) {
    const Type *type = &graph_node(plan->graph, node)->type;
    const int axis = type_batch_axis(type);
    if (axis < 0) return (Portion){0, type_size_bound(type)};
    int64_t outer = dim_bound(type_count(plan->graph->dimensions, type, 0, axis));
    return (Portion){outer, type_size_bound(type) / plan->batch / outer};
}

void plan_transfers(const Plan *plan) {
    if (!gpu_count(plan)) return;
    vector_each(FunctionPlan *, function, plan->functions) add_transfers(plan, *function);
}
