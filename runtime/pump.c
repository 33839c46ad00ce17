/* Pump: batches are made as in training, go through the function if there is one, and into the sink,
 * in order. */
#include "runtime/pump.h"

#include "runtime/format/safetensors.h"
#include "runtime/interrupt.h"
#include "runtime/memory.h"
#include "runtime/path.h"
#include "runtime/sink.h"
#include "runtime/step.h"
#include "runtime/type.h"

#include <stdlib.h>
#include <string.h>

typedef struct Pump {
    const Settings *settings;
    const FlowRun *run;
    Team team;
    char *memory;
    RunNumbers numbers;
    Call call;
    Stage *stage;
    Sink sink;
    int64_t written; /* records */
} Pump;

static bool has_prefix(const char *name, const char *prefix) {
    return !strncmp(name, prefix, strlen(prefix));
}

static FlowStatus load_weights(Pump *run, const FlowLoad *load) {
    const FlowProgram *program = run->settings->program;
    Safetensors *file = NULL;
    char *path;
    FlowStatus status = path_find(load->path, program->folder, &path);
    if (!status.exit) status = safetensors_open(path, &file);
    for (int i = 0; i < program->storage_count && !status.exit; i++) {
        const FlowStorage *storage = &program->storage[i];
        if (has_prefix(storage->name, load->prefix))
            status = safetensors_read(file, storage, run->memory + storage->offset);
    }
    safetensors_close(file);
    free(path);
    return status;
}

static FlowStatus open_function(Pump *run) {
    const FlowProgram *program = run->settings->program;
    if (!run->run->function) return flow_ok;
    run->memory = memory_zeroed(program->memory_size);
    if (!run->memory)
        return flow_failure(FLOW_EXIT_resource, "no memory: the program needs %zu MB",
                            program->memory_size >> 20);
    FlowStatus status = call_new(run->run->function, run->settings->sizes, run->settings->numbers,
                                 &run->numbers, &run->call);
    for (int i = 0; i < run->run->load_count && !status.exit; i++)
        status = load_weights(run, &run->run->loads[i]);
    return status;
}

static FlowStatus open_run(Pump *run) {
    run->numbers.seed = run->settings->seed;
    FlowStatus status = open_function(run);
    if (!status.exit)
        status = stage_open(run->run->pipeline, settings_places(run->settings),
                            run->settings->sizes, run->numbers.seed, &run->stage);
    if (!status.exit) status = sink_open(run->run->sink, run->run->path, &run->sink);
    return status;
}

static void fill_next(void *stage, int thread, int threads) {
    stage_fill_next(stage, thread, threads);
}

/* What the sink gets of the batch: the function's results, or its records. */
static int fields_of(const Pump *run, const Batch *batch, SinkField *fields) {
    const FlowSection *last = stage_section(run->stage);
    const FlowFunction *function = run->run->function;
    int count = function ? function->result_count : last->output_count;
    for (int i = 0; i < count; i++)
        fields[i] =
            function ? (SinkField){function->results[i].name,
                                   type_at(&function->results[i].type, run->settings->sizes),
                                   run->memory + function->results[i].offset}
                     : (SinkField){last->outputs[i].name, last->outputs[i].type, batch->arrays[i]};
    return count;
}

static FlowStatus run_batch(Pump *run) {
    const Batch *batch;
    SinkField fields[FIELD_LIMIT];
    FlowStatus status = stage_take(run->stage, &batch);
    if (status.exit) return status;
    if (run->run->function) step_run(&run->call, run->memory, batch, run->stage, &run->team);
    else team_run(&run->team, fill_next, run->stage);
    int count = fields_of(run, batch, fields);
    if (!run->written) sink_begin(&run->sink, fields, count);
    status = sink_write(&run->sink, fields, count, batch->records);
    run->written += batch->records;
    stage_release(run->stage);
    return status;
}

static FlowStatus run_all(Pump *run) {
    int64_t batches = stage_batches(run->stage);
    FlowStatus status = stage_start(
        run->stage, 0, batches,
        settings_workers(run->settings, run->run->pipeline, run->settings->workers), &run->team);
    for (int64_t i = 0; i < batches && !status.exit; i++) {
        if (interrupted())
            return flow_failure(FLOW_EXIT_interrupted, "interrupted after %lld records",
                                (long long)run->written);
        status = run_batch(run);
    }
    return status;
}

FlowStatus pump_run(const Settings *settings) {
    Pump run = {.settings = settings, .run = settings->run, .team.threads = settings->threads};
    FlowStatus status = open_run(&run);
    if (!status.exit) status = run_all(&run);
    FlowStatus closed = sink_close(&run.sink);
    stage_close(run.stage);
    if (run.run->function) call_free(&run.call);
    free(run.memory);
    return status.exit ? status : closed;
}
