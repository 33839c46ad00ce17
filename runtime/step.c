/* Step: one parallel region, in which every thread runs the whole function for its shares.
 */
#include "runtime/step.h"

typedef struct Step {
    _Alignas(64) const FlowFunction *function; /* on few lines, which all threads wait for */
    FlowFrame frame;
    Stage *stage;
} Step;

static void run_step(void *argument, int thread, int threads) {
    const Step *step = argument;
    if (step->stage) stage_ask_next(step->stage, thread);
    step->function->run(&step->frame, thread, threads);
    if (step->stage) stage_fill_next(step->stage, thread, threads);
}

static void run(const Call *call, char *memory, int64_t batch, FlowGuard *guard, Stage *stage,
                Team *team) {
    FlowBarrier barrier = {0};
    Step step = {
        .function = call->function,
        .frame = {.memory = memory,
                  .inputs = call->inputs,
                  .batch = batch,
                  .barrier = &barrier,
                  .sizes = call->sizes.values,
                  .observer = call->observer,
                  .guard = guard,
                  .ahead = call->ahead,
                  .asked = stage ? stage_asked(stage) : NULL},
        .stage = stage,
    };
    team_run(team, run_step, &step);
}

void step_run_alone(const Call *call, char *memory, int64_t batch, Team *team) {
    run(call, memory, batch, NULL, NULL, team);
}

void step_run(Call *call, char *memory, const Batch *batch, Stage *stage, Team *team) {
    call->sizes.values = batch->sizes;
    call_bind(call, (const void *const *)batch->arrays, batch->records);
    call->guard = (FlowGuard){.place = FLOW_NOWHERE};
    run(call, memory, batch->records, &call->guard, stage, team);
}
