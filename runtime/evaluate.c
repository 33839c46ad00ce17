/* Evaluate: its data is opened while training begins, as the first step should not wait for
 * it. */
#include "runtime/evaluate.h"

#include "runtime/device/gpus.h"
#include "runtime/interrupt.h"

static void *open_stage(void *argument) {
    Evaluation *evaluation = argument;
    evaluation->status = stage_open(evaluation->pipeline, evaluation->places,
                                    evaluation->call.sizes, evaluation->seed, &evaluation->stage);
    if (!evaluation->status.exit) evaluation->status = stage_check_counted(evaluation->stage);
    evaluation->opened = true;
    return NULL;
}

FlowStatus evaluation_start(Evaluation *evaluation, const FlowPipeline *pipeline, Places places,
                            int workers, int64_t seed, Call call) {
    *evaluation = (Evaluation){
        .pipeline = pipeline, .places = places, .workers = workers, .seed = seed, .call = call};
    evaluation->opening = !pthread_create(&evaluation->thread, NULL, open_stage, evaluation);
    if (evaluation->opening) return flow_ok;
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no thread to open it", pipeline->name);
}

bool evaluation_has_failed(const Evaluation *evaluation) {
    bool failed = evaluation->opened && evaluation->status.exit;
    return failed && evaluation->status.exit != FLOW_EXIT_interrupted;
}

static void wait_until_open(Evaluation *evaluation) {
    if (evaluation->opening) pthread_join(evaluation->thread, NULL);
    evaluation->opening = false;
}

FlowStatus evaluation_prepare(Evaluation *evaluation, const Team *team) {
    wait_until_open(evaluation);
    if (evaluation->status.exit || !evaluation->stage) return evaluation->status;
    return stage_prepare(evaluation->stage, evaluation->workers, team->threads);
}

static FlowStatus run_batch(Evaluation *evaluation, char *memory, Team *team, Averages *averages) {
    const Batch *batch;
    FlowStatus status = stage_take(evaluation->stage, &batch);
    if (status.exit) return status;
    step_run(&evaluation->call, memory, batch, evaluation->stage, team);
    averages_add(averages, evaluation->call.function, memory, batch->records);
    stage_release(evaluation->stage);
    return gpus_status();
}

FlowStatus evaluation_run(Evaluation *evaluation, char *memory, Team *team, Averages *averages) {
    wait_until_open(evaluation);
    if (evaluation->status.exit == FLOW_EXIT_interrupted) return flow_ok;
    if (evaluation->status.exit) return evaluation->status;
    int64_t batches = stage_batches(evaluation->stage);
    FlowStatus status = stage_start(evaluation->stage, NULL, batches, evaluation->workers, team);
    for (int64_t i = 0; i < batches && !status.exit && !interrupted(); i++)
        status = run_batch(evaluation, memory, team, averages);
    stage_stop(evaluation->stage);
    return status;
}

void evaluation_free(Evaluation *evaluation) {
    wait_until_open(evaluation);
    stage_close(evaluation->stage);
    call_free(&evaluation->call);
}
