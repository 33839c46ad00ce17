/* Pump: batches are made as in training, and go through the function, if any, into the outlets. */
#include "runtime/pump.h"

#include "runtime/budget.h"
#include "runtime/clock.h"
#include "runtime/device/gpus.h"
#include "runtime/format/safetensors.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/measure.h"
#include "runtime/memory.h"
#include "runtime/outlet.h"
#include "runtime/plural.h"
#include "runtime/step.h"
#include "runtime/timeline.h"

#include <stdio.h>
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
    Outlet *outlets;                     /* one for each of the run's */
    int64_t start, step_time, sink_time; /* nanoseconds */
    int64_t batches;
    int64_t written; /* records */
} Pump;

static bool has_prefix(const char *name, const char *prefix) {
    return !strncmp(name, prefix, strlen(prefix));
}

static FlowStatus load_weights(Pump *pump, const FlowLoad *load) {
    const FlowProgram *program = pump->settings->program;
    Safetensors *file = NULL;
    char *path;
    const Places places = settings_places(pump->settings);
    const PathOwner owner = pipeline_owner(pump->run->pipeline);
    FlowStatus status = path_to_read(&places, load->path, 0, owner, &path);
    if (!status.exit) status = safetensors_open(path, &file);
    if (!status.exit) status = vocabularies_read(pump->settings->vocabularies, file, path);
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
    size_t size = pump->run->memory_size;
    if (!pump->run->function)
        return pump->run->pipeline->on_gpus ? gpus_open(pump->settings->program, NULL, 0) : flow_ok;
    if (holding_take(NULL, HOLDING_program, size)) pump->memory = memory_zeroed(size);
    if (!pump->memory)
        return flow_failure(FLOW_EXIT_resource, "no memory: the program needs %zu MB", size >> 20);
    FlowStatus status = call_new(pump->run->function, pump->settings->sizes,
                                 pump->settings->numbers, &pump->numbers, &pump->call);
    if (!status.exit)
        status = profile_watch(pump->settings->profile, pump->run->function, &pump->call.observer);
    if (!status.exit && !pump->call.observer)
        status = timeline_watch(pump->run->function, &pump->call.observer);
    if (!status.exit) measure_open(&pump->call, pump->run->pipeline->batch);
    for (int i = 0; i < pump->run->load_count && !status.exit; i++)
        status = load_weights(pump, &pump->run->loads[i]);
    return status.exit ? status : gpus_open(pump->settings->program, pump->memory, size);
}

/* What the outlets take: the function's results, or the pipeline's outputs. */
static OutletPlace place_of(const Pump *pump) {
    int64_t records = stage_records(pump->stage);
    return (OutletPlace){.settings = pump->settings,
                         .function = pump->run->function,
                         .section = stage_section(pump->stage),
                         .memory = pump->memory,
                         .records = records < 0 ? INT64_MAX : records};
}

static FlowStatus open_outlets(Pump *pump) {
    int count = pump->run->outlet_count;
    OutletPlace place = place_of(pump);
    FlowStatus status = flow_ok;
    pump->outlets = calloc((size_t)count, sizeof *pump->outlets);
    if (!pump->outlets)
        return flow_failure(FLOW_EXIT_resource, "no memory for `%s`", pump->run->name);
    for (int i = 0; i < count && !status.exit; i++)
        status = outlet_open(&pump->outlets[i], &pump->run->outlets[i], &place);
    return status;
}

static FlowStatus open_pump(Pump *pump) {
    pump->numbers.seed = pump->settings->seed;
    FlowStatus status = open_function(pump);
    if (!status.exit)
        status = stage_open(pump->run->pipeline, settings_places(pump->settings),
                            pump->settings->sizes, pump->numbers.seed, &pump->stage);
    if (!status.exit) status = open_outlets(pump);
    return status;
}

/* All outlets get the records, so that they have as many when one has failed. */
static FlowStatus write_records(Pump *pump, const Batch *batch) {
    FlowStatus status = flow_ok;
    int64_t before = clock_nanoseconds(), entered = profile_enter(pump->settings->profile);
    int64_t begun = timeline_begin();
    for (int i = 0; i < pump->run->outlet_count; i++) {
        FlowStatus written = outlet_write(&pump->outlets[i], batch->arrays, pump->written,
                                          batch->records, &pump->team);
        if (!status.exit) status = written;
    }
    pump->sink_time += clock_nanoseconds() - before;
    pump->written += batch->records;
    profile_leave(pump->settings->profile, entered, "writing records");
    timeline_end(begun, "writes records", NULL);
    return status;
}

/* Does one thread write while the others make the next batch? Then records are written as they were
 * made, and no sink asks for the team. */
static bool writes_beside(const Pump *pump) {
    bool beside = !pump->run->function && stage_wants_team(pump->stage);
    for (int i = 0; i < pump->run->outlet_count; i++)
        if (pump->run->outlets[i].sink->share) beside = false;
    return beside;
}

typedef struct Turn {
    Pump *pump;
    const Batch *batch;
    bool writes; /* beside the making of the next batch */
    FlowStatus status;
} Turn;

static void write_or_make(void *argument, int thread, int threads) {
    Turn *turn = argument;
    if (!thread && turn->writes) turn->status = write_records(turn->pump, turn->batch);
    stage_fill_next(turn->pump->stage, thread, threads);
}

static void run_turn(Pump *pump, Turn *turn) {
    Profile *profile = pump->settings->profile;
    int64_t entered = profile_enter(profile), made = stage_team_time(pump->stage);
    int64_t before = clock_nanoseconds(), begun = timeline_begin();
    if (pump->run->function) {
        measure_begin(&pump->call, turn->batch->records, pump->team.threads);
        step_run(&pump->call, pump->memory, turn->batch, pump->stage, &pump->team);
        measure_end(&pump->call);
    } else if (stage_wants_team(pump->stage)) team_run(&pump->team, write_or_make, turn);
    pump->step_time += clock_nanoseconds() - before;
    timeline_end(begun, pump->run->name, NULL);
    pump->batches++;
    profile_spend(profile, stage_team_time(pump->stage) - made, profile_batches_made);
    profile_leave(profile, entered, profile_threads_meet);
}

static FlowStatus write_batch(Pump *pump, const Batch *batch) {
    Turn turn = {pump, batch, batch->records && writes_beside(pump), flow_ok};
    run_turn(pump, &turn);
    FlowStatus status = gpus_status();
    if (status.exit || !batch->records) return status;
    return turn.writes ? turn.status : write_records(pump, batch);
}

/* What stands before a record that can't be made is written. *more: there was a batch. */
static FlowStatus run_batch(Pump *pump, bool *more) {
    const Batch *batch;
    int64_t entered = profile_enter(pump->settings->profile), begun = timeline_begin();
    FlowStatus status = stage_take(pump->stage, &batch);
    timeline_end(begun, "takes a batch", NULL);
    profile_leave(pump->settings->profile, entered, profile_batches_awaited);
    *more = batch != NULL;
    if (!batch) return status;
    FlowStatus written = write_batch(pump, batch);
    stage_release(pump->stage);
    return status.exit ? status : written;
}

static FlowStatus run_all(Pump *pump) {
    int64_t batches = stage_batches(pump->stage);
    int workers = budget_workers(pump->settings, pump->stage, pump->run->pipeline);
    FlowStatus status = stage_start(pump->stage, NULL, batches, workers, &pump->team);
    if (!status.exit) budget_print(pump->settings);
    bool more = true;
    for (int64_t i = 0; i != batches && more && !status.exit && !interrupted(); i++)
        status = run_batch(pump, &more);
    if (!status.exit && !interrupted()) return stage_verdict(pump->stage);
    if (status.exit) return status;
    return flow_failure(FLOW_EXIT_interrupted, "interrupted after %lld record%s",
                        (long long)pump->written, plural(pump->written));
}

/* Short runs say nothing. */
static void tell_pace(const Pump *pump) {
    enum { TALKATIVE = 2000000000 /* nanoseconds */ };
    char text[512];
    const FlowRun *run = pump->run;
    int64_t time = clock_nanoseconds() - pump->start, made = stage_team_time(pump->stage);
    Pace pace = {.input = stage_input_time(pump->stage),
                 .step = run->function ? pump->step_time - made : 0,
                 .sink = pump->sink_time,
                 .batches = pump->batches};
    Bottleneck bottleneck = stage_bottleneck(pump->stage);
    if (time < TALKATIVE || progress_is_off(pump->settings->progress)) return;
    pace_text(&pace, &bottleneck, run->outlets[run->outlet_count - 1].sink->name, text,
              sizeof text);
    fprintf(stderr, "%s: %lld record%s in %.1f s; %s\n", run->name, (long long)pump->written,
            plural(pump->written), (double)time / 1e9, text);
}

static FlowEnd end_of(FlowStatus status) {
    return !status.exit                           ? FLOW_END_whole
           : status.exit == FLOW_EXIT_interrupted ? FLOW_END_stopped
                                                  : FLOW_END_failed;
}

/* The names of the parts that stay: "a.csv.part and b.csv.part". */
typedef struct Parts {
    char names[256];
    size_t used;
} Parts;

static void add_part(Parts *parts, const char *name) {
    size_t room = sizeof parts->names - parts->used;
    int added =
        snprintf(parts->names + parts->used, room, "%s%s", parts->used ? " and " : "", name);
    parts->used += (size_t)added < room ? (size_t)added : room - 1;
}

/* The end is closed last: when it has its name, all have. */
static FlowStatus close_outlets(Pump *pump, FlowStatus status) {
    Parts parts = {.used = 0};
    for (int i = 0; pump->outlets && i < pump->run->outlet_count; i++) {
        FlowEnd end = end_of(status);
        FlowStatus closed = outlet_close(&pump->outlets[i], end);
        if (closed.exit == FLOW_EXIT_interrupted && closed.text[0]) add_part(&parts, closed.text);
        else if (closed.exit && end != FLOW_END_failed) status = closed;
    }
    if (status.exit != FLOW_EXIT_interrupted || !parts.used) return status;
    return flow_failure(FLOW_EXIT_interrupted, "%s after %lld record%s; %s in %s",
                        status.text[0] ? "interrupted" : "the reader of standard output has gone",
                        (long long)pump->written, plural(pump->written),
                        pump->written == 1 ? "it is" : "they are", parts.names);
}

FlowStatus pump_run(const Settings *settings) {
    Pump pump = {.settings = settings, .run = settings->run, .team.threads = settings->threads};
    pump.start = clock_nanoseconds();
    budget_begin(settings);
    int64_t entered = profile_enter(settings->profile);
    FlowStatus status = open_pump(&pump);
    profile_leave(settings->profile, entered, profile_opening);
    if (!status.exit) status = run_all(&pump);
    if (!status.exit) tell_pace(&pump);
    entered = profile_enter(settings->profile);
    status = close_outlets(&pump, status);
    stage_close(pump.stage);
    call_free(&pump.call);
    free(pump.outlets);
    measure_close();
    gpus_close();
    free(pump.memory);
    profile_leave(settings->profile, entered, profile_closing);
    return status;
}
