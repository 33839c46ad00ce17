/* Stage: worker w of W makes the batches w, w + W, w + 2W, …, each in a slot of its own
 * that goes round through two queues: `vacant` brings it to the worker, `ready` back to the
 * step. The step takes from the workers in turn, so the order needs no sorting. Workers
 * wake up when half of their slots are vacant and then fill them in one go. */
#include "runtime/stage.h"

#include "runtime/clock.h"
#include "runtime/memory.h"
#include "runtime/permutation.h"
#include "runtime/queue.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    SLOTS = 4,             /* of a worker, unless the pipeline says how long its queue is */
    TEAM_SLOTS = 2,        /* without workers: the step's, and the next */
    AHEAD = 4,             /* records asked from memory before they are needed */
    LINE = 64,             /* bytes that one prefetch brings */
    PREFETCH_LIMIT = 1024, /* bytes; the hardware goes on by itself */
    CHECK_LIMIT = 1 << 10,
};

/* A batch's failure is position * CHECK_LIMIT + check, so the smallest one comes first. */
static const long long no_failure = INT64_MAX;

typedef struct Worker {
    Stage *stage;
    int64_t first; /* batch */
    pthread_t thread;
    bool running;
    Queue *vacant, *ready;
} Worker;

struct Stage {
    const FlowPipeline *pipeline;
    Sizes sizes;
    FlowField *fields; /* with the paths that were found and sizes that are known */
    FlowType outputs[FIELD_LIMIT];
    FlowReader *reader;
    int64_t records, batches;
    int64_t first, next, end; /* batches: the first, the one to take, one past the last */
    int64_t input_time;
    Batch *slots;
    int slot_count;
    Worker *workers;
    int worker_count, worker_slots;
    Batch *taken; /* by the step */
};

/* Making batches. */

/* Where a batch's records stand in the order of its epoch. */
typedef struct Order {
    Permutation permutation;
    bool shuffled;
    int64_t first;
} Order;

static Order order_of(const Stage *stage, int64_t number) {
    const FlowPipeline *pipeline = stage->pipeline;
    return (Order){
        .permutation =
            permutation_new(stage->records, pipeline->shuffle_seed, number / stage->batches),
        .shuffled = pipeline->shuffled,
        .first = number % stage->batches * pipeline->batch,
    };
}

static int64_t record_at(const Order *order, int64_t row) {
    int64_t position = order->first + row;
    return order->shuffled ? permutation_at(&order->permutation, position) : position;
}

static void prefetch(const void *bytes, size_t size) {
    size_t length = size < PREFETCH_LIMIT ? size : PREFETCH_LIMIT;
    for (size_t at = 0; at < length; at += LINE) __builtin_prefetch((const char *)bytes + at);
}

/* Finds the row's record and asks for its bytes. */
static int64_t fetch(const Stage *stage, const Order *order, int64_t row) {
    const void *values[FIELD_LIMIT];
    int64_t record = record_at(order, row);
    stage->pipeline->source->read(stage->reader, record, values);
    for (int i = 0; i < stage->pipeline->field_count; i++)
        prefetch(values[i], flow_type_size(&stage->fields[i].type));
    return record;
}

static int make_record(const Stage *stage, int64_t record, const Batch *batch, int64_t row) {
    const FlowPipeline *pipeline = stage->pipeline;
    const void *values[FIELD_LIMIT];
    void *outputs[FIELD_LIMIT];
    pipeline->source->read(stage->reader, record, values);
    for (int i = 0; i < pipeline->output_count; i++)
        outputs[i] = (char *)batch->arrays[i] + (size_t)row * flow_type_size(&stage->outputs[i]);
    return pipeline->record(stage->sizes.values, values, outputs);
}

static void note_failure(Batch *batch, int64_t row, int failed) {
    long long failure = row * CHECK_LIMIT + failed, before = batch->failure;
    while (failure < before && !atomic_compare_exchange_weak(&batch->failure, &before, failure))
        continue;
}

static void fill_rows(const Stage *stage, Batch *batch, int64_t first, int64_t end) {
    Order order = order_of(stage, batch->number);
    int64_t ahead[AHEAD];
    for (int64_t row = first; row < end && row < first + AHEAD; row++)
        ahead[row % AHEAD] = fetch(stage, &order, row);
    for (int64_t row = first; row < end; row++) {
        int64_t record = ahead[row % AHEAD];
        if (row + AHEAD < end) ahead[row % AHEAD] = fetch(stage, &order, row + AHEAD);
        int failed = make_record(stage, record, batch, row);
        if (failed) {
            note_failure(batch, row, failed);
            return;
        }
    }
}

static void number_batch(const Stage *stage, Batch *batch, int64_t number) {
    int64_t left = stage->records - number % stage->batches * stage->pipeline->batch;
    batch->number = number;
    batch->records = left < stage->pipeline->batch ? left : stage->pipeline->batch;
    batch->failure = no_failure;
}

static void fill_share(Stage *stage, Batch *batch, int thread, int threads) {
    fill_rows(stage, batch, batch->records * thread / threads,
              batch->records * (thread + 1) / threads);
}

static FlowStatus failure_of(const Stage *stage, const Batch *batch) {
    if (batch->failure == no_failure) return flow_ok;
    Order order = order_of(stage, batch->number);
    const FlowCheck *check = &stage->pipeline->checks[batch->failure % CHECK_LIMIT - 1];
    const FlowField *field = &stage->fields[check->field < 0 ? 0 : check->field];
    return flow_failure(
        FLOW_EXIT_data, "%s: record %lld: %s (%s)", field->path ? field->path : field->name,
        (long long)record_at(&order, batch->failure / CHECK_LIMIT), check->text, check->line);
}

/* Workers. */

static void *work(void *argument) {
    Worker *worker = argument;
    Stage *stage = worker->stage;
    void *item;
    for (int64_t number = worker->first; number < stage->end; number += stage->worker_count) {
        if (!queue_pop(worker->vacant, &item)) break;
        number_batch(stage, item, number);
        fill_share(stage, item, 0, 1);
        queue_push(worker->ready, item);
    }
    queue_close(worker->ready);
    return NULL;
}

static bool start_worker(Stage *stage, int index) {
    Worker *worker = &stage->workers[index];
    worker->stage = stage;
    worker->first = stage->first + index;
    int slots = stage->worker_slots;
    worker->vacant = queue_new(slots, slots > 1 ? slots / 2 : 1);
    worker->ready = queue_new(slots, 1);
    if (!worker->vacant || !worker->ready) return false;
    for (int i = 0; i < slots; i++) queue_push(worker->vacant, &stage->slots[index * slots + i]);
    return worker->running = !pthread_create(&worker->thread, NULL, work, worker);
}

static void stop_worker(Worker *worker) {
    if (worker->running) {
        queue_close(worker->vacant);
        pthread_join(worker->thread, NULL);
    }
    queue_free(worker->vacant);
    queue_free(worker->ready);
}

static Worker *worker_of(Stage *stage, int64_t number) {
    return &stage->workers[(number - stage->first) % stage->worker_count];
}

/* Slots. */

static bool make_slot(const Stage *stage, Batch *slot) {
    const FlowPipeline *pipeline = stage->pipeline;
    for (int i = 0; i < pipeline->output_count; i++) {
        size_t size = flow_type_size(&stage->outputs[i]);
        if (__builtin_mul_overflow(size, (size_t)pipeline->batch, &size)) return false;
        if (!(slot->arrays[i] = memory_zeroed(size))) return false;
    }
    return true;
}

static void drop_slots(Stage *stage) {
    for (int i = 0; i < stage->slot_count; i++)
        for (int j = 0; j < FIELD_LIMIT; j++) free(stage->slots[i].arrays[j]);
    free(stage->slots);
    stage->slots = NULL;
    stage->slot_count = 0;
}

/* Slots stay from one start to the next. */
static bool make_slots(Stage *stage, int count) {
    if (stage->slot_count == count) return true;
    drop_slots(stage);
    stage->slots = calloc((size_t)count, sizeof *stage->slots);
    if (!stage->slots) return false;
    stage->slot_count = count;
    for (int i = 0; i < count; i++)
        if (!make_slot(stage, &stage->slots[i])) return false;
    return true;
}

static Batch *team_slot(Stage *stage, int64_t number) {
    return &stage->slots[number % TEAM_SLOTS];
}

/* Start and stop. */

static FlowStatus no_memory(const Stage *stage) {
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory or threads for its batches",
                        stage->pipeline->name);
}

static void fill_first(void *argument, int thread, int threads) {
    Stage *stage = argument;
    fill_share(stage, team_slot(stage, stage->first), thread, threads);
}

static FlowStatus start_team(Stage *stage, Team *team) {
    if (!make_slots(stage, TEAM_SLOTS)) return no_memory(stage);
    if (stage->first == stage->end) return flow_ok;
    number_batch(stage, team_slot(stage, stage->first), stage->first);
    team_run(team, fill_first, stage);
    return flow_ok;
}

/* So many that with the step's batch taken away a whole queue is left. */
static int slots_of_worker(const Stage *stage) {
    int queue = stage->pipeline->queue;
    return queue ? (queue + stage->worker_count) / stage->worker_count : SLOTS;
}

static FlowStatus start_workers(Stage *stage) {
    stage->workers = calloc((size_t)stage->worker_count, sizeof *stage->workers);
    stage->worker_slots = slots_of_worker(stage);
    if (!stage->workers || !make_slots(stage, stage->worker_count * stage->worker_slots))
        return no_memory(stage);
    for (int i = 0; i < stage->worker_count; i++)
        if (!start_worker(stage, i)) return no_memory(stage);
    return flow_ok;
}

FlowStatus stage_start(Stage *stage, int64_t first, int64_t end, int workers, Team *team) {
    stage->first = stage->next = first;
    stage->end = end;
    stage->worker_count = workers;
    return workers ? start_workers(stage) : start_team(stage, team);
}

void stage_stop(Stage *stage) {
    for (int i = 0; stage->workers && i < stage->worker_count; i++) stop_worker(&stage->workers[i]);
    free(stage->workers);
    stage->workers = NULL;
    stage->taken = NULL;
}

FlowStatus stage_take(Stage *stage, const Batch **batch) {
    void *item = team_slot(stage, stage->next);
    if (stage->worker_count) {
        int64_t before = clock_nanoseconds();
        if (!queue_pop(worker_of(stage, stage->next)->ready, &item))
            return flow_failure(FLOW_EXIT_internal, "pipeline `%s` ended early",
                                stage->pipeline->name);
        stage->input_time += clock_nanoseconds() - before;
    } else if (stage->next + 1 < stage->end) {
        number_batch(stage, team_slot(stage, stage->next + 1), stage->next + 1);
    }
    *batch = stage->taken = item;
    return failure_of(stage, stage->taken);
}

void stage_fill_next(Stage *stage, int thread, int threads) {
    if (stage->worker_count || stage->next + 1 >= stage->end) return;
    int64_t before = thread ? 0 : clock_nanoseconds();
    fill_share(stage, team_slot(stage, stage->next + 1), thread, threads);
    if (!thread) stage->input_time += clock_nanoseconds() - before;
}

void stage_release(Stage *stage) {
    if (stage->worker_count) queue_push(worker_of(stage, stage->next)->vacant, stage->taken);
    stage->taken = NULL;
    stage->next++;
}

/* Open and close. */

static FlowStatus find_fields(Stage *stage, const Places *places) {
    const FlowPipeline *pipeline = stage->pipeline;
    FlowStatus status = flow_ok;
    for (int i = 0; i < pipeline->field_count && !status.exit; i++) {
        const FlowField *field = &pipeline->fields[i];
        const char *path = path_said(places, field->path, field->option);
        char *found = NULL;
        if (path) status = path_find(path, places->folder, &found);
        stage->fields[i] = *field;
        stage->fields[i].path = found;
        stage->fields[i].type = type_at(&pipeline->fields[i].type, stage->sizes);
    }
    return status;
}

static FlowStatus open_source(Stage *stage, const Places *places) {
    const FlowPipeline *pipeline = stage->pipeline;
    FlowStatus status = find_fields(stage, places);
    if (!status.exit)
        status = pipeline->source->open(stage->fields, pipeline->field_count, &stage->reader);
    if (status.exit) return status;
    stage->records = pipeline->source->records(stage->reader);
    stage->batches = (stage->records + pipeline->batch - 1) / pipeline->batch;
    return flow_ok;
}

FlowStatus stage_open(const FlowPipeline *pipeline, Places places, Sizes sizes, Stage **out) {
    *out = NULL;
    if (pipeline->field_count > FIELD_LIMIT || pipeline->output_count > FIELD_LIMIT ||
        pipeline->batch < 1)
        return flow_failure(FLOW_EXIT_internal,
                            "pipeline `%s` (%s): more than %d fields, or no batch", pipeline->name,
                            pipeline->line, FIELD_LIMIT);
    Stage *stage = calloc(1, sizeof *stage);
    FlowField *fields = calloc((size_t)pipeline->field_count + 1, sizeof *fields);
    if (!stage || !fields) {
        free(stage);
        free(fields);
        return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", pipeline->name);
    }
    *stage = (Stage){.pipeline = pipeline, .sizes = sizes, .fields = fields};
    for (int i = 0; i < pipeline->output_count; i++)
        stage->outputs[i] = type_at(&pipeline->outputs[i].type, sizes);
    FlowStatus status = open_source(stage, &places);
    if (status.exit) stage_close(stage);
    else *out = stage;
    return status;
}

void stage_close(Stage *stage) {
    if (!stage) return;
    stage_stop(stage);
    drop_slots(stage);
    if (stage->reader) stage->pipeline->source->close(stage->reader);
    for (int i = 0; i < stage->pipeline->field_count; i++) free((char *)stage->fields[i].path);
    free(stage->fields);
    free(stage);
}

int64_t stage_records(const Stage *stage) {
    return stage->records;
}

int64_t stage_batches(const Stage *stage) {
    return stage->batches;
}

int64_t stage_input_time(const Stage *stage) {
    return stage->input_time;
}
