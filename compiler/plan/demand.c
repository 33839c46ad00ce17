/* Demand: what a pipeline takes in memory, as runtime/stage.c and records_open.c take it. */
#include "compiler/plan/plan.h"

#include "runtime/bounds.h"

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

size_t record_memory(const Plan *plan, const Pipeline *pipeline) {
    size_t most = 0;
    vector_each(Section *, section, pipeline->sections) {
        if (!(*section)->plain)
            most = larger(most, plan_of(plan, &(*section)->record)->scratch_size);
        vector_each(Ordering, order, (*section)->orders) {
            if (order->kind == ORDER_filter)
                most = larger(most, plan_of(plan, &order->condition)->scratch_size);
        }
    }
    return most;
}

static double aligned(double size) {
    return (double)align_size((size_t)size);
}

/* Inputs work one at a time. */
static double scratch_of(const Plan *plan, const Pipeline *pipeline) {
    double size = aligned((double)record_memory(plan, pipeline)), most = 0;
    vector_each(Pipeline *, input, pipeline->join.inputs) {
        double needed = scratch_of(plan, *input);
        if (needed > most) most = needed;
    }
    size += aligned(most);
    vector_each(Section *, section, pipeline->sections)
        vector_each(Field, field, (*section)->fields)
            size += aligned((double)type_size_bound(&field->type));
    return size;
}

/* `queue` of them lie ready while one is at work. */
static int slots_of(const Pipeline *pipeline, int workers) {
    int queue = pipeline->queue.value;
    if (!workers) return TEAM_SLOTS;
    return workers * (queue ? (queue + workers) / workers : WORKER_SLOTS);
}

Demand demand_of(const Plan *plan, const Pipeline *pipeline) {
    bool comes = comes_as_it_comes(pipeline);
    Demand demand = {.workers = pipeline->threads.value};
    if (pipeline->origin.kind != ORIGIN_files) demand.feed = FEED_HELD;
    if (!demand.workers && (pipeline->queue.value || comes)) demand.workers = 1;
    vector_each(Field, field, pipeline->section->outputs) {
        demand.record += (double)type_size_bound(&field->type);
        demand.batch += (double)type_size_bound(&field->type) * (double)pipeline->batch + ALIGNMENT;
    }
    if (pipeline->on_error != ON_ERROR_stop) demand.batch += (double)pipeline->batch;
    demand.slots = slots_of(pipeline, demand.workers);
    demand.scratch = scratch_of(plan, pipeline) + ALIGNMENT;
    demand.least = demand.slots * demand.batch + demand.feed +
                   demand.scratch * (demand.workers ? demand.workers : 1);
    return demand;
}
