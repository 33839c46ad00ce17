/* Looking at what steps gave. */
#include "runtime/run.h"

#include "runtime/clock.h"
#include "runtime/memory.h"
#include "runtime/timeline.h"
#include "runtime/trace.h"
#include "runtime/type.h"

#include <math.h>
#include <stdlib.h>

static FlowStatus not_finite(const Run *run, int64_t step, const Trace *trace) {
    return flow_failure(FLOW_EXIT_data, "%s is %s at step %lld (epoch %lld)%s", trace->what,
                        trace->fault, (long long)((step - 1) / run->group + 1),
                        (long long)((step - 1) / run->identity.batches) + 1, trace->where);
}

/* Was the step good? */
static bool is_finite(const Run *run, const Call *call) {
    const FlowResult *loss = &call->function->results[0];
    return isfinite(number_read(loss->type.element, run->memory + loss->offset));
}

static FlowStatus fault_of(const Run *run, int64_t step, const Call *call, const Batch *batch) {
    Trace trace = is_finite(run, call) ? trace_update(call, run->memory, batch)
                                       : trace_loss(call, run->memory, batch);
    return not_finite(run, step, &trace);
}

/* The batch of a step that went wrong while others were made after it: GPUs still have it. */
static FlowStatus fault_of_earlier(Run *run, const Made *made) {
    Batch batch = {.sizes = made->sizes, .records = made->records};
    const FlowFunction *function = made->call->function;
    bool good = true;
    made->call->sizes.values = made->sizes;
    for (int i = 0; i < function->input_count; i++) {
        const FlowInput *input = &function->inputs[i];
        if (input->kind != FLOW_INPUT_field) continue;
        const FlowType type = type_at(&input->type, made->call->sizes);
        const size_t size = flow_type_size(&type) * (size_t)made->records;
        void *values = batch.arrays[input->index] = memory_zeroed(size);
        good = good && values;
        if (values) gpus_input_again(i, values, size);
    }
    while (gpus_calls_ahead()) gpus_take_call(NULL, NULL);
    run->numbers = made->numbers;
    call_bind(made->call, (const void *const *)batch.arrays, made->records);
    FlowStatus status = good ? fault_of(run, made->step, made->call, &batch)
                             : flow_failure(FLOW_EXIT_resource, "no memory");
    for (int i = 0; i < FIELD_LIMIT; i++) free(batch.arrays[i]);
    return status;
}

FlowStatus look_at_step(Run *run, const Batch *batch) {
    const Made *made = &run->made[run->seen_count++ % GPUS_AHEAD];
    Call *call = made->call;
    if (gpus_calls_ahead()) {
        const int64_t begun = timeline_begin();
        gpus_take_call(run->memory, &call->guard);
        timeline_end(begun, "waits for what a GPU gives", NULL);
    }
    FlowStatus status = gpus_status();
    if (status.exit) return status;
    averages_add(&run->position.averages, call->function, run->memory, made->records);
    const bool good = is_finite(run, call) && call->guard.place == FLOW_NOWHERE;
    if (good) run->learnt = made->step;
    if (good) return flow_ok;
    return batch ? fault_of(run, made->step, call, batch) : fault_of_earlier(run, made);
}

FlowStatus look_at_steps(Run *run, int64_t ahead) {
    if (run->made_count - run->seen_count <= ahead) return flow_ok;
    const int64_t before = clock_nanoseconds();
    FlowStatus status = flow_ok;
    while (!status.exit && run->made_count - run->seen_count > ahead)
        status = look_at_step(run, NULL);
    run->step_time += clock_nanoseconds() - before;
    return status;
}
