/* Kernels: what each one is made of, which values must lie in memory, which weights can be updated
 * where they lie, and what is split over threads. */
#include "compiler/plan/planner.h"

#include "compiler/graph/scan.h"
#include "compiler/plan/scan.h"
#include "runtime/device/launch_limits.h"

enum {
    FEW_ROWS = 16,           /* a product of so few rows is split by columns, */
    COLUMN_SPLIT_LEAST = 64, /* when it has as many as this */
};

static Dim column_units(Dimensions *table, const Loops *loops) {
    return dim_divide(table, loops->columns, dim_constant(table, columns_unit(loops)));
}

static Dim loops_share(Dimensions *table, const Loops *loops) {
    Dim inner = loops->kind == KERNEL_columns   ? column_units(table, loops)
                : loops->kind == KERNEL_scatter ? loops->depth
                                                : loops->rows;
    return dim_multiply(table, loops->outer, inner);
}

static bool is_deployed_on_cpu(const Planner *planner) {
    const Program *program = planner->program_plan->program;
    vector_each(Export, export, program->exports)
        if (&export->function == planner->plan->function) return !program->deploys_on_gpus;
    return false;
}

/* Of a node; of a loop also what its body asks for. */
typedef void VisitPlacement(const Placement *placement, Placement *wanted);
static void visit_placements(const Node *node, VisitPlacement *visit, Placement *wanted) {
    visit(&node->placement, wanted);
    if (node->op != OP_scan) return;
    vector_each(Node, inner, node->scan->body->nodes)
        if (inner->kernel != NO_KERNEL) visit_placements(inner, visit, wanted);
}

static void want(const Placement *placement, Placement *wanted) {
    bool firmer = wanted->soft && !placement->soft && is_placed(placement);
    if (!is_placed(wanted) || firmer) *wanted = *placement;
}

/* Where another device is asked for, not just preferred. */
static void give_up_where_others_differ(const Placement *placement, Placement *wanted) {
    if (!placement->soft && devices_differ(placement, wanted)) wanted->device = DEVICE_any;
}

static bool asks_for_several(const Planner *planner, const KernelPlan *kernel) {
    Placement wanted = kernel->wanted;
    visit_placements(node_of(planner, kernel->nodes[0]), give_up_where_others_differ, &wanted);
    return is_placed(&kernel->wanted) && !is_placed(&wanted);
}

/* NULL: a GPU may; plan_scan says what of the body may not. */
static const char *why_on_cpu(const Planner *planner, const KernelPlan *kernel) {
    const Function *function = planner->plan->function;
    const bool loop = kernel->loops.kind == KERNEL_scan;
    if (function->of_turn && function->loop_given.device != DEVICE_gpu)
        return "its loop runs on the CPU";
    if (loop && makes_records(function)) return "a loop over what a record has runs on the CPU";
    if (loop && planner->graph->wishes.replicas > 1) return "replicas leave loops to the CPU";
    if (loop && asks_for_several(planner, kernel))
        return "the body of the loop asks for several devices";
    if (kernel->loops.kind == KERNEL_external) return "a C function runs on the CPU";
    return is_deployed_on_cpu(planner) ? "it runs on a GPU only as `flowc export` makes it" : NULL;
}

/* Of what the program doesn't say; a single replica is gpu(0). --device is for what is trained:
 * stages are where they were placed. */
static Placement usual_device(const Planner *planner, const KernelPlan *kernel) {
    const Function *function = planner->plan->function;
    const signed char *decided = function->decided;
    if (planner->graph->wishes.replicas) return (Placement){.device = DEVICE_gpu};
    int device = decided ? decided[kernel - planner->plan->kernels] : DECIDED_cpu;
    const Placement usual =
        function->of_record ? (Placement){0} : planner->program_plan->program->usual;
    if (is_placed(&usual) || device == DECIDED_cpu) return usual;
    return (Placement){.device = DEVICE_gpu, .index = device};
}

static Placement planned_device(const Planner *planner, const KernelPlan *kernel) {
    const Function *function = planner->plan->function;
    if (function->of_turn) return function->loop_given;
    return is_placed(&kernel->wanted) ? kernel->wanted : usual_device(planner, kernel);
}

/* All placed nodes of a kernel want the same, some more than others. */
static void give_device(const Planner *planner, KernelPlan *kernel) {
    const Program *program = planner->program_plan->program;
    for (size_t i = 0; i < kernel->node_count; i++)
        visit_placements(node_of(planner, kernel->nodes[i]), want, &kernel->wanted);
    const Placement wanted = planned_device(planner, kernel);
    kernel->held = why_on_cpu(planner, kernel);
    bool here = wanted.index < program->gpus || wanted.index == EVERY_GPU;
    bool gpu = wanted.device == DEVICE_gpu && here && !kernel->held;
    kernel->given = gpu ? wanted : (Placement){.device = DEVICE_cpu};
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
        kernel->fused = lists[k];
        kernel->fused_count = kernel->node_count;
        kernel->computed_with = NO_KERNEL;
        kernel->loops = kernel_loops(planner->graph, kernel->nodes, kernel->node_count);
        kernel->share = loops_share(planner->graph->dimensions, &kernel->loops);
        give_device(planner, kernel);
        if (kernel->loops.kind == KERNEL_external) kernel->share = NULL;
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
    memset(planner->stored, 0, sizeof *planner->stored * planner->graph->nodes.count);
    for (int k = 0; k < planner->plan->kernel_count; k++)
        visit_kernel(planner, k, mark_stored, planner);
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
        node_of(planner, planner->node)->op == OP_matmul || reduces_rows(planner, kernel) ||
        (runs_on_gpu(kernel) && native == INDEX_row)) /* many threads have a row there */
        planner->late[read] = true;
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

typedef struct Counting {
    const Planner *planner;
    int kernel, count;
} Counting;

static void count_read(void *context, NodeId read, IndexKind index) {
    Counting *counting = context;
    int *counted = &counting->planner->counted[read];
    (void)index;
    if (node_of(counting->planner, read)->kernel == counting->kernel ||
        *counted == counting->planner->counts)
        return;
    *counted = counting->planner->counts;
    counting->count++;
}

int launch_operands(Planner *planner, int k) {
    const KernelPlan *kernel = &planner->plan->kernels[k];
    Counting counting = {planner, k, kernel->loops.kind == KERNEL_contraction}; /* sums of parts */
    planner->counts++;
    visit_kernel(planner, k, count_read, &counting);
    for (size_t i = 0; i < kernel->node_count; i++) {
        NodeId id = kernel->nodes[i];
        const LoopClass class = op_info[node_of(planner, id)->op].class;
        counting.count += planner->stored[id] + (class == LOOP_generate);
    }
    return counting.count;
}

/* Seed and epoch stand behind the fields of a record, then its outputs. */
static size_t launch_inputs(const Planner *planner) {
    const Function *function = planner->plan->function;
    if (!function->of_record) return function->inputs.count;
    int fields = 0;
    vector_each(Input, input, function->inputs)
        if (input->index >= fields) fields = input->index + 1;
    return (size_t)fields + planner->graph->outputs.count;
}

/* What a launch can't pass, the CPU runs. */
static void keep_small_launches(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    bool fits = launch_inputs(planner) <= FLOW_LAUNCH_INPUTS &&
                planner->graph->dimensions->bounded_count <= FLOW_LAUNCH_SIZES;
    for (int k = 0; k < plan->kernel_count; k++) {
        KernelPlan *kernel = &plan->kernels[k];
        if (!runs_on_gpu(kernel) || (fits && launch_operands(planner, k) < FLOW_LAUNCH_OPERANDS))
            continue;
        kernel->given = (Placement){.device = DEVICE_cpu};
        kernel->held = "its kernel takes more values than can be given to a GPU";
    }
}

/* What is made whole is so already where the CPU computed it or was given it, and stays there. */
static void follow_operands(Planner *planner) {
    for (int k = 0; k < planner->plan->kernel_count; k++) {
        KernelPlan *kernel = &planner->plan->kernels[k];
        const Node *node = node_of(planner, kernel->nodes[0]);
        if (!op_is_whole(node->op)) continue;
        int from = node_of(planner, strip_reshapes(planner->graph, node->inputs[0]))->kernel;
        kernel->given = from == NO_KERNEL ? (Placement){.device = DEVICE_cpu}
                                          : planner->plan->kernels[from].given;
    }
}

static void plan_loops(const Planner *planner) {
    for (int k = 0; k < planner->plan->kernel_count; k++)
        if (planner->plan->kernels[k].loops.kind == KERNEL_scan)
            plan_scan(planner->program_plan, planner->plan, k);
}

Graph *own_graph(Planner *planner) {
    Graph *own = arena_new_item(planner->arena, Graph);
    *own = *planner->graph;
    own->nodes.items = arena_new_array(planner->arena, Node, own->nodes.count + 1);
    memcpy(own->nodes.items, planner->graph->nodes.items, own->nodes.count * sizeof(Node));
    planner->plan->graph = planner->graph = own;
    return own;
}

void find_kernels(Planner *planner) {
    collect_kernels(planner);
    find_stored(planner);
    keep_small_launches(planner);
    find_attention(planner);
    find_stored(planner);
    plan_loops(planner);
    follow_operands(planner);
    find_updates(planner);
    choose_shares(planner);
    find_convolutions(planner);
    find_stored(planner);
    for (int k = 0; k < planner->plan->kernel_count; k++)
        find_parts(planner, &planner->plan->kernels[k]);
    for (int k = 0; k < planner->plan->kernel_count; k++)
        visit_kernel(planner, k, check_in_place, planner);
}
