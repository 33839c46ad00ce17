/* Pump: batches are made as in training, go through the function if there is one, and into the sink,
 * in order. */
#include "runtime/pump.h"

#include "runtime/budget.h"
#include "runtime/format/safetensors.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/memory.h"
#include "runtime/path.h"
#include "runtime/step.h"
#include "runtime/type.h"

#include <pthread.h>
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
    FlowSinkField *fields;
    int field_count;
    FlowSinkArguments arguments;
    FlowWriter *writer;
    int64_t written; /* records */
} Pump;

static bool has_prefix(const char *name, const char *prefix) {
    return !strncmp(name, prefix, strlen(prefix));
}

static FlowStatus load_weights(Pump *pump, const FlowLoad *load) {
    const FlowProgram *program = pump->settings->program;
    Safetensors *file = NULL;
    char *path;
    FlowStatus status = path_find(load->path, program->folder, &path);
    if (!status.exit) status = safetensors_open(path, &file);
    for (int i = 0; i < program->storage_count && !status.exit; i++) {
        const FlowStorage *storage = &program->storage[i];
        if (has_prefix(storage->name, load->prefix))
            status = safetensors_read(file, storage, pump->memory + storage->offset);
    }
    safetensors_close(file);
    free(path);
    return status;
}

static FlowStatus open_function(Pump *pump) {
    const FlowProgram *program = pump->settings->program;
    if (!pump->run->function) return flow_ok;
    if (holding_take(NULL, HOLDING_program, program->memory_size))
        pump->memory = memory_zeroed(program->memory_size);
    if (!pump->memory)
        return flow_failure(FLOW_EXIT_resource, "no memory: the program needs %zu MB",
                            program->memory_size >> 20);
    FlowStatus status = call_new(pump->run->function, pump->settings->sizes,
                                 pump->settings->numbers, &pump->numbers, &pump->call);
    for (int i = 0; i < pump->run->load_count && !status.exit; i++)
        status = load_weights(pump, &pump->run->loads[i]);
    return status;
}

/* What the sink gets of each batch: the function's results, or its records. */
static FlowStatus name_fields(Pump *pump) {
    const FlowSection *last = stage_section(pump->stage);
    const FlowFunction *function = pump->run->function;
    const Places places = settings_places(pump->settings);
    pump->field_count = function ? function->result_count : last->output_count;
    pump->fields = calloc((size_t)pump->field_count + 1, sizeof *pump->fields);
    if (!pump->fields)
        return flow_failure(FLOW_EXIT_resource, "no memory for `%s`", pump->run->name);
    for (int i = 0; i < pump->field_count; i++) {
        FlowSinkField *field = &pump->fields[i];
        *field = pump->run->fields[i];
        field->path = path_said(&places, field->path, field->option);
        field->name = function ? function->results[i].name : last->outputs[i].name;
        field->type = function ? type_at(&function->results[i].type, pump->settings->sizes)
                               : last->outputs[i].type;
        if (function) field->values = pump->memory + function->results[i].offset;
    }
    return flow_ok;
}

static FlowStatus open_sink(Pump *pump) {
    const FlowRun *run = pump->run;
    const Places places = settings_places(pump->settings);
    pump->arguments = run->arguments;
    pump->arguments.path = path_said(&places, run->arguments.path, run->arguments.option);
    int64_t records = stage_records(pump->stage);
    return run->sink->open(&pump->arguments, pump->fields, pump->field_count,
                           records < 0 ? INT64_MAX : records, &pump->writer);
}

static FlowStatus open_pump(Pump *pump) {
    pump->numbers.seed = pump->settings->seed;
    FlowStatus status = open_function(pump);
    if (!status.exit)
        status = stage_open(pump->run->pipeline, settings_places(pump->settings),
                            pump->settings->sizes, pump->numbers.seed, &pump->stage);
    if (!status.exit) status = name_fields(pump);
    if (!status.exit) status = open_sink(pump);
    return status;
}

static void fill_next(void *stage, int thread, int threads) {
    stage_fill_next(stage, thread, threads);
}

/* The records that all threads of the team write. */
typedef struct Sharing {
    Pump *pump;
    int64_t records;
    pthread_mutex_t lock;
    FlowStatus status; /* the first failure */
} Sharing;

static void write_share(void *argument, int thread, int threads) {
    Sharing *sharing = argument;
    const Pump *pump = sharing->pump;
    FlowStatus status =
        pump->run->sink->share(pump->writer, pump->written, sharing->records, thread, threads);
    if (!status.exit) return;
    pthread_mutex_lock(&sharing->lock);
    if (!sharing->status.exit) sharing->status = status;
    pthread_mutex_unlock(&sharing->lock);
}

static FlowStatus write_records(Pump *pump, int64_t records) {
    const FlowSink *sink = pump->run->sink;
    if (!sink->share) return sink->write(pump->writer, pump->written, records);
    Sharing sharing = {pump, records, PTHREAD_MUTEX_INITIALIZER, flow_ok};
    team_run(&pump->team, write_share, &sharing);
    return sharing.status;
}

static FlowStatus write_batch(Pump *pump, const Batch *batch) {
    if (pump->run->function) step_run(&pump->call, pump->memory, batch, pump->stage, &pump->team);
    else if (stage_wants_team(pump->stage)) team_run(&pump->team, fill_next, pump->stage);
    if (!batch->records) return flow_ok;
    for (int i = 0; i < pump->field_count && !pump->run->function; i++)
        pump->fields[i].values = batch->arrays[i];
    FlowStatus status = write_records(pump, batch->records);
    pump->written += batch->records;
    return status;
}

/* What stands before a record that can't be made is written. *more: false when there is no batch. */
static FlowStatus run_batch(Pump *pump, bool *more) {
    const Batch *batch;
    FlowStatus status = stage_take(pump->stage, &batch);
    *more = batch != NULL;
    if (!batch) return status;
    FlowStatus written = write_batch(pump, batch);
    stage_release(pump->stage);
    return status.exit ? status : written;
}

static FlowStatus run_all(Pump *pump) {
    int64_t batches = stage_batches(pump->stage);
    int workers = budget_workers(pump->settings, pump->stage, pump->run->pipeline);
    FlowStatus status = stage_start(pump->stage, 0, batches, workers, &pump->team);
    if (!status.exit) budget_print(pump->settings);
    bool more = true;
    for (int64_t i = 0; i != batches && more && !status.exit && !interrupted(); i++)
        status = run_batch(pump, &more);
    if (status.exit || !interrupted()) return status;
    return flow_failure(FLOW_EXIT_interrupted, "interrupted after %lld records",
                        (long long)pump->written);
}

/* How the run has ended, and what of a stopped one stays. */
static FlowStatus close_sink(Pump *pump, FlowStatus status) {
    FlowEnd end = !status.exit                           ? FLOW_END_whole
                  : status.exit == FLOW_EXIT_interrupted ? FLOW_END_stopped
                                                         : FLOW_END_failed;
    if (!pump->writer) return status;
    FlowStatus closed = pump->run->sink->close(pump->writer, end);
    if (end == FLOW_END_failed || !closed.exit) return status;
    if (closed.exit != FLOW_EXIT_interrupted || !closed.text[0] || !status.text[0]) return closed;
    return flow_failure(FLOW_EXIT_interrupted, "%.200s; they are in %s", status.text, closed.text);
}

FlowStatus pump_run(const Settings *settings) {
    Pump pump = {.settings = settings, .run = settings->run, .team.threads = settings->threads};
    budget_begin(settings);
    FlowStatus status = open_pump(&pump);
    if (!status.exit) status = run_all(&pump);
    status = close_sink(&pump, status);
    stage_close(pump.stage);
    call_free(&pump.call);
    free(pump.fields);
    free(pump.memory);
    return status;
}
