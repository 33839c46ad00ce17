/* Place: where the values of a function lie: inputs and weights where they are, new values of
 * weights over the old ones, all else in scratch. */
#include "compiler/plan/planner.h"

#include "compiler/plan/scan.h"

#include <assert.h>

static int input_index(const FunctionPlan *plan, const char *name) {
    for (size_t i = 0; i < plan->function->inputs.count; i++)
        if (!strcmp(plan->function->inputs.items[i].name, name))
            return plan->function->of_record ? plan->function->inputs.items[i].index : (int)i;
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

/* What replicas have becomes whole where it lies, if nobody wants the parts afterwards: sums may
 * then go on while other kernels do. */

static bool is_scratch(const Planner *planner, NodeId id, const bool *results) {
    return planner->target[id] == NODE_NONE && !results[id] && planner->stored[id] &&
           planner->plan->places[id].kind == PLACE_none;
}

/* The value that the node's place is; NODE_NONE: it has its own. */
static NodeId place_of_parts(const Planner *planner, NodeId id, const bool *results) {
    const Node *node = node_of(planner, id);
    if (!op_is_whole(node->op) || planner->target[id] != NODE_NONE || !planner->stored[id])
        return NODE_NONE;
    const KernelPlan *kernel = &planner->plan->kernels[node->kernel];
    const NodeId parts = strip_reshapes(planner->graph, node->inputs[0]);
    const bool ends = runs_on_gpu(kernel) && planner->last_use[parts] == kernel->phase;
    return ends && is_scratch(planner, parts, results) ? parts : NODE_NONE;
}

/* What place_value asks, of each node. */
typedef struct Wanted {
    bool *results;  /* it is one of the function's */
    NodeId *wholes; /* that comes to lie where it lies, or NODE_NONE */
    NodeId *parts;  /* where it comes to lie, or NODE_NONE */
} Wanted;

static Wanted wanted_places(const Planner *planner) {
    const Graph *graph = planner->graph;
    const size_t count = graph->nodes.count + 1;
    const Wanted wanted = {arena_new_array(planner->arena, bool, count),
                           arena_new_array(planner->arena, NodeId, count),
                           arena_new_array(planner->arena, NodeId, count)};
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result)
            wanted.results[strip_reshapes(graph, output->value)] = true;
    for (NodeId id = 0; id < graph->nodes.count; id++) wanted.wholes[id] = NODE_NONE;
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        wanted.parts[id] = place_of_parts(planner, id, wanted.results);
        if (wanted.parts[id] != NODE_NONE) wanted.wholes[wanted.parts[id]] = id;
    }
    return wanted;
}

/* The last phase that wants it. */
static int last_phase(const Planner *planner, NodeId id, const Wanted *wanted) {
    const NodeId whole = wanted->wholes[id];
    if (whole != NODE_NONE) return last_phase(planner, whole, wanted);
    const bool forever = planner->target[id] != NODE_NONE || wanted->results[id];
    return forever ? planner->plan->phase_count : planner->last_use[id];
}

static void place_value(Planner *planner, NodeId id, const Wanted *wanted) {
    NodeId target = planner->target[id];
    if (target != NODE_NONE && !planner->late[target]) {
        planner->plan->places[id] = planner->plan->places[target];
        return;
    }
    if (wanted->parts[id] != NODE_NONE) return;
    if (planner->plan->function->of_record && place_record_result(planner, id)) return;
    int kernel = node_of(planner, id)->kernel, last = last_phase(planner, id, wanted);
    size_t size = align_size((size_t)type_size_bound(&node_of(planner, id)->type));
    vector_push(planner->arena, &planner->plan->buffers,
                (Buffer){id, size, 0, planner->plan->kernels[kernel].phase, last, 0});
}

void place_all(Planner *planner, size_t base) {
    FunctionPlan *plan = planner->plan;
    for (NodeId id = 0; id < planner->graph->nodes.count; id++) place_leaf(planner, id);
    const Wanted wanted = wanted_places(planner);
    for (NodeId id = 0; id < planner->graph->nodes.count; id++)
        if (planner->stored[id] && plan->places[id].kind != PLACE_band)
            place_value(planner, id, &wanted);
    for (int k = 0; k < plan->kernel_count; k++)
        if (plan->kernels[k].scan) buffer_scan(planner->arena, plan, k, planner->stored);
        else buffer_parts(planner, k);
    plan->scratch_size = place_buffers(planner->arena, plan, base) - base;
    vector_each(Buffer, buffer, plan->buffers)
        if (buffer->parts_of) plan->kernels[buffer->parts_of - 1].parts_sums = buffer->offset;
        else plan->places[buffer->node] = (Place){PLACE_memory, buffer->offset, -1};
    for (NodeId id = 0; id < planner->graph->nodes.count; id++)
        if (wanted.parts[id] != NODE_NONE) plan->places[id] = plan->places[wanted.parts[id]];
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
