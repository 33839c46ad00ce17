/* Scan: a loop in the schedule of a function. Its body is planned like a record function: what it
 * reads and makes lies behind pointers that each turn sets. One buffer of the function, as long as
 * the loop runs, holds the body's scratch and, for each carried value, two places that turns read
 * and write in turn. */
#include "compiler/plan/scan.h"

#include "compiler/graph/scan.h"

static NodeId scan_node(const FunctionPlan *plan, int kernel) {
    return plan->kernels[kernel].nodes[0];
}

/* The turn, then the operands. */
static Function *body_function(Arena *arena, const Scan *scan, Placement given) {
    Function *function = arena_new_item(arena, Function);
    function->name = scan->body->name;
    function->graph = (Graph *)scan->body;
    function->of_record = function->of_turn = true;
    function->loop_given = given;
    int count = scan_operand_count(scan);
    for (int i = 0; i <= count; i++)
        vector_push(arena, &function->inputs,
                    (Input){.name = scan_input_name(arena, scan, i),
                            .kind = INPUT_field,
                            .index = i == count ? 0 : i + 1});
    return function;
}

/* Where the function leaves each result; NODE_NONE: nobody wants it. */
static NodeId *result_nodes(Arena *arena, const FunctionPlan *plan, int kernel,
                            const bool *stored) {
    const KernelPlan *scan = &plan->kernels[kernel];
    int count = scan_result_count(graph_node(plan->graph, scan->nodes[0])->scan);
    NodeId *nodes = arena_new_array(arena, NodeId, count + 1);
    for (int i = 0; i < count; i++) nodes[i] = NODE_NONE;
    for (size_t i = 1; i < scan->node_count; i++)
        if (stored[scan->nodes[i]])
            nodes[graph_node(plan->graph, scan->nodes[i])->part] = scan->nodes[i];
    return nodes;
}

static size_t slice_size(const Scan *scan, int result) {
    NodeId value = scan->body->outputs.items[result].value;
    return align_size((size_t)type_size_bound(&graph_node(scan->body, value)->type));
}

/* What the threads of a turn access of its values. */
typedef struct Turn {
    const Scan *scan;
    const FunctionPlan *body;
    bool apart;
} Turn;

static bool is_carried(const Scan *scan, const Node *node) {
    return node->op == OP_input &&
           scan_operand_kind(scan, scan_operand_of(scan, node->name)) == OPERAND_carried;
}

static void check_apart(void *context, NodeId read, IndexKind index) {
    Turn *turn = context;
    const Node *node = graph_node(turn->body->graph, read);
    bool own = index == INDEX_full || index == INDEX_row || index == INDEX_output;
    if ((is_carried(turn->scan, node) || node->kernel != NO_KERNEL) && !own) turn->apart = false;
}

/* Does each thread read only what it wrote itself, in this turn and the last? Then nobody has to
 * wait between turns. */
static bool threads_stay_apart(const Scan *scan, const FunctionPlan *body) {
    Turn turn = {.scan = scan, .body = body, .apart = body->phase_count <= 1};
    for (int k = 0; k < body->kernel_count && turn.apart; k++) {
        const KernelPlan *kernel = &body->kernels[k];
        if (kernel->loops.kind == KERNEL_scan || kernel->loops.kind == KERNEL_external ||
            kernel->by_columns || kernel->parts > 1 || kernel->share != body->kernels[0].share)
            return false;
        for (size_t i = 0; i < kernel->node_count; i++)
            each_read(body->graph, k, &kernel->loops, kernel->nodes[i], check_apart, &turn);
    }
    return turn.apart;
}

/* What keeps a kernel of the body from a GPU, or NULL. */
static const char *why_not_launched(const FunctionPlan *body) {
    for (int k = 0; k < body->kernel_count; k++)
        if (!runs_on_gpu(&body->kernels[k])) return body->kernels[k].held;
    return NULL;
}

/* On a GPU with all of its body, or not at all. */
static FunctionPlan *plan_body(const Plan *program, const Scan *scan, KernelPlan *loop) {
    FunctionPlan *body = plan_function(program, body_function(program->arena, scan, loop->given));
    if (!runs_on_gpu(loop)) return body;
    const char *held = why_not_launched(body);
    if (!held) return body;
    loop->held = held;
    loop->given = (Placement){.device = DEVICE_cpu};
    return plan_function(program, body_function(program->arena, scan, loop->given));
}

void plan_scan(const Plan *program, FunctionPlan *plan, int kernel) {
    const Scan *scan = graph_node(plan->graph, scan_node(plan, kernel))->scan;
    KernelPlan *loop = &plan->kernels[kernel];
    loop->scan = arena_new_item(program->arena, ScanPlan);
    loop->scan->body = plan_body(program, scan, loop);
    loop->scan->waits = !threads_stay_apart(scan, loop->scan->body);
    loop->share = NULL;
}

/* Bytes of scratch: the body's, two of each carried value, one of each slice nobody wants. */
static size_t scratch_size(ScanPlan *plan, const Scan *scan) {
    size_t size = align_size(plan->body->scratch_size);
    plan->offsets_from = size;
    for (int i = 0; i < scan_result_count(scan); i++) {
        if (i < scan->carried) size += 2 * slice_size(scan, i);
        else if (plan->results[i] == NODE_NONE) size += slice_size(scan, i);
    }
    return size;
}

void buffer_scan(Arena *arena, FunctionPlan *plan, int kernel, const bool *stored) {
    KernelPlan *planned = &plan->kernels[kernel];
    const Scan *scan = graph_node(plan->graph, scan_node(plan, kernel))->scan;
    planned->scan->results = result_nodes(arena, plan, kernel, stored);
    size_t size = scratch_size(planned->scan, scan);
    vector_push(arena, &plan->buffers,
                (Buffer){scan_node(plan, kernel), size ? size : ALIGNMENT, 0, planned->phase,
                         planned->phase, 0});
}

void place_scan(Arena *arena, FunctionPlan *plan, int kernel) {
    const Scan *scan = graph_node(plan->graph, scan_node(plan, kernel))->scan;
    ScanPlan *scan_plan = plan->kernels[kernel].scan;
    scan_plan->memory = plan->places[scan_node(plan, kernel)].offset;
    size_t offset = scan_plan->memory + scan_plan->offsets_from;
    scan_plan->turn_places = arena_new_array(arena, Place, 2 * scan_result_count(scan) + 1);
    for (int i = 0; i < scan_result_count(scan); i++) {
        Place *places = &scan_plan->turn_places[2 * i];
        bool carried = i < scan->carried, unwanted = scan_plan->results[i] == NODE_NONE;
        if (!carried && !unwanted) continue;
        places[0] = (Place){PLACE_memory, offset, -1};
        places[1] = (Place){PLACE_memory, carried ? offset += slice_size(scan, i) : offset, -1};
        offset += slice_size(scan, i);
    }
}

double turns_of(const FunctionPlan *plan, int kernel) {
    return (double)dim_bound(graph_node(plan->graph, scan_node(plan, kernel))->scan->turns);
}

double scan_operations(const FunctionPlan *plan, int kernel) {
    const FunctionPlan *body = plan->kernels[kernel].scan->body;
    double operations = 0;
    for (int k = 0; k < body->kernel_count; k++) operations += body->kernels[k].operations;
    return operations * turns_of(plan, kernel);
}

double scan_bytes(const FunctionPlan *plan, int kernel) {
    const FunctionPlan *body = plan->kernels[kernel].scan->body;
    double bytes = 0;
    for (int k = 0; k < body->kernel_count; k++) bytes += body->kernels[k].bytes;
    return bytes * turns_of(plan, kernel);
}
