/* Together: functions of records with kernels on GPUs make several at a time, so that a launch is
 * for all of them. How many is bounded by what they work in; the runtime gives no more anyway. */
#include "compiler/plan/plan.h"

#include "runtime/bounds.h"

enum { TOGETHER_SIZE = 16 << 20 /* bytes of their scratch, if they are more than one */ };

size_t record_step(const Type *type) {
    return align_size((size_t)type_size_bound(type));
}

/* Of a record, on a GPU: scratch, and what lies in places of its own. */
static size_t record_size(const FunctionPlan *plan) {
    size_t size = plan->scratch_size;
    for (NodeId id = 0; id < plan->graph->nodes.count; id++) {
        PlaceKind kind = plan->places[id].kind;
        if (kind == PLACE_input || kind == PLACE_output)
            size += record_step(&graph_node(plan->graph, id)->type);
    }
    return size;
}

int64_t records_together(const FunctionPlan *plan) {
    if (!makes_records(plan->function) || !uses_gpu(plan)) return 0;
    size_t most = TOGETHER_SIZE / (record_size(plan) + 1);
    return most < 1 ? 1 : most < RECORDS_AT_ONCE ? (int64_t)most : RECORDS_AT_ONCE;
}

double together_memory(const FunctionPlan *plan) {
    return (double)plan->together * (double)record_size(plan);
}

static double largest(double a, double b) {
    return a > b ? a : b;
}

static double section_on_gpus(const Plan *plan, const Section *section) {
    double most = section->plain ? 0 : together_memory(plan_of(plan, &section->record));
    vector_each(Ordering, order, section->orders)
        if (order->condition.graph)
            most = largest(most, together_memory(plan_of(plan, &order->condition)));
    return most;
}

/* One function uses the room after the other. */
double pipeline_on_gpus(const Plan *plan, const Pipeline *pipeline) {
    double most = 0;
    vector_each(Section *, section, pipeline->sections)
        most = largest(most, section_on_gpus(plan, *section));
    vector_each(Pipeline *, input, pipeline->join.inputs)
        most = largest(most, pipeline_on_gpus(plan, *input));
    return most;
}

/* Of all pipelines, with as many threads as they ask for, or those. */
static double stages_on_gpus(const Plan *plan, int threads) {
    double size = 0;
    vector_each(Pipeline *, pipeline, plan->program->pipelines) {
        const Demand demand = demand_of(plan, *pipeline);
        size += demand.on_gpus * (demand.workers ? demand.workers : threads);
    }
    return size;
}

double memory_on_gpus(const Plan *plan, int threads) {
    return (double)plan->memory_size + stages_on_gpus(plan, threads);
}
