/* Demand: what a pipeline takes in memory, as runtime/stage.c and records_open.c take it; and what
 * a run takes, for those who print it and those who compare it with a limit. */
#include "compiler/plan/plan.h"

#include "runtime/bounds.h"

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Of all records that are made at a time. */
static size_t scratch_together(const FunctionPlan *plan) {
    return plan->scratch_size * (size_t)(plan->together ? plan->together : 1);
}

size_t record_memory(const Plan *plan, const Pipeline *pipeline) {
    size_t most = 0;
    vector_each(Section *, section, pipeline->sections) {
        if (!(*section)->plain)
            most = larger(most, scratch_together(plan_of(plan, &(*section)->record)));
        vector_each(Ordering, order, (*section)->orders) {
            if (order->condition.graph)
                most = larger(most, scratch_together(plan_of(plan, &order->condition)));
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
    vector_each(Section *, section, pipeline->sections) {
        int64_t together = *section == pipeline->section && !(*section)->plain
                               ? plan_of(plan, &(*section)->record)->together
                               : 0;
        vector_each(Field, field, (*section)->fields)
            size += aligned((double)type_size_bound(&field->type)) * (together ? together : 1);
    }
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
    demand.on_gpus = pipeline_on_gpus(plan, pipeline);
    return demand;
}

size_t memory_of_run(const Plan *plan, const Run *run) {
    if (!run->function) return 0;
    return plan->storage_size + plan_of(plan, run->function)->scratch_size;
}

/* Bills. */

static void add_charge(Arena *arena, Bill *bill, double size, const char *what) {
    vector_push(arena, &bill->charges, (Charge){size, what});
    bill->sum += size;
}

/* memory_size: of weights, states and scratch. */
static void add_memory(Arena *arena, const Plan *plan, size_t memory_size, const char *scratch,
                       Bill *bill) {
    if (plan->storage_size)
        add_charge(arena, bill, (double)plan->storage_size, "weights and states");
    add_charge(arena, bill, (double)(memory_size - plan->storage_size), scratch);
}

static void add_pipeline(Arena *arena, const Plan *plan, const Pipeline *pipeline, Bill *bill) {
    Demand demand = demand_of(plan, pipeline);
    int threads = demand.workers ? demand.workers : 1;
    add_charge(arena, bill, demand.batch * demand.slots,
               arena_format(arena, "%d batches of %s", demand.slots, pipeline->name));
    add_charge(arena, bill, demand.scratch * threads,
               arena_format(arena, "scratch of %d thread%s that make%s them", threads,
                            threads == 1 ? "" : "s", threads == 1 ? "s" : ""));
    if (demand.feed)
        add_charge(arena, bill, demand.feed,
                   arena_format(arena, "%s, read ahead", origin_text(pipeline)));
    if (!demand.workers) bill->each += demand.scratch;
}

static int files_of(const Run *run) {
    int files = 0;
    vector_each(Sink, sink, run->sinks) files += sink->files;
    return files;
}

double output_of(const Run *run) {
    return (double)files_of(run) * OUTPUT_HELD;
}

Bill bill_of_train(Arena *arena, const Plan *plan, const Train *train) {
    Bill bill = {.sum = 0};
    add_memory(arena, plan, plan->memory_size,
               "what steps work in: the largest scratch of all functions", &bill);
    add_pipeline(arena, plan, train->data, &bill);
    vector_each(Action, action, train->actions)
        if (action->pipeline) add_pipeline(arena, plan, action->pipeline, &bill);
    return bill;
}

Bill bill_of_run(Arena *arena, const Plan *plan, const Run *run) {
    Bill bill = {.sum = 0};
    int files = files_of(run);
    if (run->function)
        add_memory(arena, plan, memory_of_run(plan, run),
                   "what its function works in, a batch after the other", &bill);
    add_pipeline(arena, plan, run->pipeline, &bill);
    if (files)
        add_charge(arena, &bill, output_of(run),
                   files == 1
                       ? "output that is not written yet"
                       : arena_format(arena, "output that is not written yet, of %d files", files));
    return bill;
}
