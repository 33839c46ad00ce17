/* Stage: worker w of W makes the batches w, w + W, w + 2W, …, each in a slot of its own
 * that goes round through two queues: `vacant` brings it to the worker, `ready` back to the
 * step. The step takes from the workers in turn, so the order needs no sorting. Workers
 * wake up when half of their slots are vacant and then fill them in one go. */
#include "runtime/stage.h"

#include "runtime/bounds.h"
#include "runtime/clock.h"
#include "runtime/holdings.h"
#include "runtime/memory.h"
#include "runtime/queue.h"
#include "runtime/rejects.h"
#include "runtime/vocabularies.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 4, /* records asked from memory before they are needed */
};

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
    Holding holding;
    const FlowSection *section; /* the last, whose outputs are a batch's */
    Records *source;
    int64_t records, batches;
    int64_t first, next, end; /* batches: the first, the one to take, one past the last */
    int64_t input_time;
    char **scratch; /* one a thread that makes batches */
    int scratch_count;
    Batch *slots;
    int slot_count;
    Worker *workers;
    int worker_count, worker_slots;
    Batch *taken;     /* by the step */
    Rejects *rejects; /* or NULL: the first one stops the run */
    /* Of a feed, whose batches are told apart in turn: */
    pthread_mutex_t mutex;
    pthread_cond_t claimed;
    int64_t claimed_batches, claimed_records;
    bool drained;
};

static bool is_fed(const Stage *stage) {
    return stage->records < 0;
}

/* Making batches. */

/* Finds the row's record and asks for its bytes. */
static int64_t fetch(const Stage *stage, const Permutation *shuffle, const Batch *batch,
                     int64_t row) {
    int64_t record = records_find(stage->source, shuffle, batch->first + row);
    records_prefetch(stage->source, record, batch->epoch);
    return record;
}

static bool make_record(const Stage *stage, int64_t record, char *scratch, const Batch *batch,
                        int64_t row, FlowStatus *failure) {
    void *outputs[FIELD_LIMIT];
    for (int i = 0; i < stage->section->output_count; i++)
        outputs[i] = (char *)batch->arrays[i] +
                     (size_t)row * flow_type_size(&stage->section->outputs[i].type);
    return records_make(stage->source, record, batch->epoch, scratch, outputs, failure);
}

/* The smallest row that failed is told. */
static void note_failure(Batch *batch, int64_t row) {
    long long before = batch->failure;
    while (row < before && !atomic_compare_exchange_weak(&batch->failure, &before, row)) continue;
}

static void fill_rows(const Stage *stage, Batch *batch, char *scratch, int64_t first, int64_t end) {
    Permutation shuffle = records_shuffle(stage->source, batch->epoch);
    int64_t ahead[AHEAD];
    for (int64_t row = first; row < end && row < first + AHEAD; row++)
        ahead[row % AHEAD] = fetch(stage, &shuffle, batch, row);
    for (int64_t row = first; row < end; row++) {
        int64_t record = ahead[row % AHEAD];
        if (row + AHEAD < end) ahead[row % AHEAD] = fetch(stage, &shuffle, batch, row + AHEAD);
        if (make_record(stage, record, scratch, batch, row, NULL)) continue;
        note_failure(batch, row);
        if (!batch->rejected) return;
        batch->rejected[row] = true;
    }
}

static void begin_batch(Batch *batch, int64_t rows) {
    batch->records = batch->rows = rows;
    batch->failure = no_failure;
    if (batch->rejected) memset(batch->rejected, 0, (size_t)rows);
}

static void number_batch(const Stage *stage, Batch *batch, int64_t number) {
    batch->number = number;
    batch->epoch = number / stage->batches;
    batch->first = number % stage->batches * stage->pipeline->batch;
    int64_t left = stage->records - batch->first;
    begin_batch(batch, left < stage->pipeline->batch ? left : stage->pipeline->batch);
}

/* A whole batch, or what comes before its patience ends; 0: the feed has ended. */
static int64_t wait_for_records(const Stage *stage, int64_t first) {
    int64_t patience = stage->pipeline->patience;
    int64_t have = records_wait(stage->source, first + 1, 0);
    int64_t deadline = patience ? clock_nanoseconds() + patience : 0;
    if (have > first) have = records_wait(stage->source, first + stage->pipeline->batch, deadline);
    return have > first ? have - first : 0;
}

/* The same of a feed, whose batches are numbered one after the other. False: there is none. */
static bool claim_batch(Stage *stage, Batch *batch, int64_t number) {
    pthread_mutex_lock(&stage->mutex);
    while (stage->claimed_batches < number && !stage->drained)
        pthread_cond_wait(&stage->claimed, &stage->mutex);
    batch->number = number;
    batch->epoch = 0;
    batch->first = stage->claimed_records;
    begin_batch(batch, stage->drained ? 0 : wait_for_records(stage, batch->first));
    stage->drained |= !batch->rows;
    stage->claimed_records += batch->rows;
    stage->claimed_batches++;
    pthread_cond_broadcast(&stage->claimed);
    pthread_mutex_unlock(&stage->mutex);
    return batch->rows > 0;
}

/* maker: which scratch is used. */
static void fill_share(Stage *stage, Batch *batch, int maker, int thread, int threads) {
    fill_rows(stage, batch, stage->scratch[maker], batch->rows * thread / threads,
              batch->rows * (thread + 1) / threads);
}

/* Makes a record that failed once more, to hear why. */
static FlowStatus failure_of(const Stage *stage, const Batch *batch, int64_t row, int64_t *record) {
    FlowStatus failure = flow_failure(FLOW_EXIT_data, "pipeline `%s`: a record can't be read",
                                      stage->pipeline->name);
    Permutation shuffle = records_shuffle(stage->source, batch->epoch);
    *record = records_find(stage->source, &shuffle, batch->first + row);
    char *scratch = aligned_alloc(FLOW_ALIGNMENT, records_scratch(stage->source) + FLOW_ALIGNMENT);
    if (!scratch)
        return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", stage->pipeline->name);
    make_record(stage, *record, scratch, batch, row, &failure);
    free(scratch);
    return failure;
}

/* A record is told once; of a feed each comes only once. */
static FlowStatus reject(const Stage *stage, const Batch *batch, int64_t row) {
    Permutation shuffle = records_shuffle(stage->source, batch->epoch);
    int64_t record = records_find(stage->source, &shuffle, batch->first + row);
    if (!is_fed(stage) &&
        !rejects_note(stage->rejects, records_identity(stage->source, record, batch->epoch)))
        return flow_ok;
    FlowStatus failure = failure_of(stage, batch, row, &record);
    return rejects_add(stage->rejects, record, &failure);
}

static void move_row(const Stage *stage, Batch *batch, int64_t from, int64_t to) {
    for (int i = 0; i < stage->section->output_count; i++) {
        size_t size = flow_type_size(&stage->section->outputs[i].type);
        memcpy((char *)batch->arrays[i] + (size_t)to * size,
               (char *)batch->arrays[i] + (size_t)from * size, size);
    }
}

/* The good rows move up. */
static FlowStatus drop_rejected(Stage *stage, Batch *batch) {
    FlowStatus status = flow_ok;
    int64_t record;
    batch->records = batch->failure;
    for (int64_t row = batch->failure; row < batch->rows && !status.exit; row++)
        if (batch->rejected[row]) status = reject(stage, batch, row);
        else if (batch->records++ < row) move_row(stage, batch, row, batch->records - 1);
    if (status.exit || batch->records || is_fed(stage)) return status;
    return flow_failure(
        FLOW_EXIT_data, "pipeline `%s`: none of the %lld records of a batch can be made: %.300s",
        stage->pipeline->name, (long long)batch->rows, failure_of(stage, batch, 0, &record).text);
}

/* What becomes of the rows that could not be made. */
static FlowStatus settle(Stage *stage, Batch *batch) {
    int64_t record;
    if (batch->failure == no_failure) return flow_ok;
    if (batch->rejected) return drop_rejected(stage, batch);
    batch->records = batch->failure;
    return failure_of(stage, batch, batch->failure, &record);
}

/* Workers. */

static void *work(void *argument) {
    Worker *worker = argument;
    Stage *stage = worker->stage;
    void *item;
    for (int64_t number = worker->first; number < stage->end; number += stage->worker_count) {
        if (!queue_pop(worker->vacant, &item)) break;
        if (is_fed(stage)) {
            if (!claim_batch(stage, item, number)) break;
        } else number_batch(stage, item, number);
        fill_share(stage, item, (int)(worker - stage->workers), 0, 1);
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
        queue_stop(worker->vacant);
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
    for (int i = 0; i < stage->section->output_count; i++) {
        size_t size = flow_type_size(&stage->section->outputs[i].type);
        if (__builtin_mul_overflow(size, (size_t)stage->pipeline->batch, &size)) return false;
        if (!(slot->arrays[i] = memory_zeroed(size))) return false;
    }
    if (!stage->rejects) return true;
    slot->rejected = malloc((size_t)stage->pipeline->batch);
    return slot->rejected != NULL;
}

/* SIZE_MAX: more than there can be. */
static size_t slot_size(const Stage *stage) {
    size_t size = stage->rejects ? (size_t)stage->pipeline->batch : 0, array;
    for (int i = 0; i < stage->section->output_count; i++)
        if (__builtin_mul_overflow(flow_type_size(&stage->section->outputs[i].type),
                                   (size_t)stage->pipeline->batch, &array) ||
            __builtin_add_overflow(size, array + FLOW_ALIGNMENT, &size))
            return SIZE_MAX;
    return size;
}

static size_t slots_size(const Stage *stage, int count) {
    size_t size;
    return __builtin_mul_overflow(slot_size(stage), (size_t)count, &size) ? SIZE_MAX : size;
}

static size_t scratch_size(const Stage *stage, int count) {
    return (records_scratch(stage->source) + FLOW_ALIGNMENT) * (size_t)count;
}

static void drop_slots(Stage *stage) {
    if (stage->slot_count)
        holding_give(&stage->holding, HOLDING_batches, slots_size(stage, stage->slot_count));
    for (int i = 0; stage->slots && i < stage->slot_count; i++) {
        for (int j = 0; j < FIELD_LIMIT; j++) free(stage->slots[i].arrays[j]);
        free(stage->slots[i].rejected);
    }
    free(stage->slots);
    stage->slots = NULL;
    stage->slot_count = 0;
}

/* Slots stay from one start to the next. */
static bool make_slots(Stage *stage, int count) {
    if (stage->slot_count == count) return true;
    drop_slots(stage);
    if (!holding_take(&stage->holding, HOLDING_batches, slots_size(stage, count))) return false;
    stage->slots = calloc((size_t)count, sizeof *stage->slots);
    stage->slot_count = count;
    if (!stage->slots) return false;
    for (int i = 0; i < count; i++)
        if (!make_slot(stage, &stage->slots[i])) return false;
    return true;
}

static void drop_scratch(Stage *stage) {
    if (stage->scratch_count)
        holding_give(&stage->holding, HOLDING_scratch, scratch_size(stage, stage->scratch_count));
    for (int i = 0; stage->scratch && i < stage->scratch_count; i++) free(stage->scratch[i]);
    free(stage->scratch);
    stage->scratch = NULL;
    stage->scratch_count = 0;
}

/* Scratch stays from one start to the next. */
static bool make_scratch(Stage *stage, int count) {
    if (stage->scratch_count == count) return true;
    drop_scratch(stage);
    if (!holding_take(&stage->holding, HOLDING_scratch, scratch_size(stage, count))) return false;
    stage->scratch = calloc((size_t)count, sizeof *stage->scratch);
    stage->scratch_count = count;
    if (!stage->scratch) return false;
    for (int i = 0; i < count; i++)
        if (!(stage->scratch[i] = memory_new(records_scratch(stage->source)))) return false;
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
    fill_share(stage, team_slot(stage, stage->first), thread, thread, threads);
}

static FlowStatus start_team(Stage *stage, Team *team) {
    if (!make_slots(stage, TEAM_SLOTS) || !make_scratch(stage, team->threads))
        return no_memory(stage);
    if (stage->first == stage->end) return flow_ok;
    number_batch(stage, team_slot(stage, stage->first), stage->first);
    team_run(team, fill_first, stage);
    return flow_ok;
}

/* So many that with the step's batch taken away a whole queue is left. */
static int slots_of_worker(const Stage *stage, int workers) {
    int queue = stage->pipeline->queue;
    return queue ? (queue + workers) / workers : WORKER_SLOTS;
}

static int slots_of(const Stage *stage, int workers) {
    return workers ? workers * slots_of_worker(stage, workers) : TEAM_SLOTS;
}

size_t stage_needs(const Stage *stage, int workers, int threads) {
    size_t slots = slots_size(stage, slots_of(stage, workers)), needs;
    size_t scratch = scratch_size(stage, workers ? workers : threads);
    return __builtin_add_overflow(slots, scratch, &needs) ? SIZE_MAX : needs;
}

FlowStatus stage_prepare(Stage *stage, int workers, int threads) {
    bool room = make_slots(stage, slots_of(stage, workers)) &&
                make_scratch(stage, workers ? workers : threads);
    return room ? flow_ok : no_memory(stage);
}

static FlowStatus start_workers(Stage *stage) {
    stage->workers = calloc((size_t)stage->worker_count, sizeof *stage->workers);
    stage->worker_slots = slots_of_worker(stage, stage->worker_count);
    bool room = stage->workers && make_slots(stage, stage->worker_count * stage->worker_slots) &&
                make_scratch(stage, stage->worker_count);
    if (!room) return no_memory(stage);
    for (int i = 0; i < stage->worker_count; i++)
        if (!start_worker(stage, i)) return no_memory(stage);
    return flow_ok;
}

FlowStatus stage_start(Stage *stage, int64_t first, int64_t end, int workers, Team *team) {
    stage->first = stage->next = first;
    stage->end = is_fed(stage) ? INT64_MAX : end;
    if (is_fed(stage) && !workers) workers = 1;
    stage->worker_count = workers;
    return workers ? start_workers(stage) : start_team(stage, team);
}

void stage_stop(Stage *stage) {
    if (is_fed(stage)) records_stop(stage->source);
    for (int i = 0; stage->workers && i < stage->worker_count; i++) stop_worker(&stage->workers[i]);
    free(stage->workers);
    stage->workers = NULL;
    stage->taken = NULL;
}

FlowStatus stage_take(Stage *stage, const Batch **batch) {
    void *item = team_slot(stage, stage->next);
    if (stage->worker_count) {
        int64_t before = clock_nanoseconds();
        *batch = NULL;
        if (!queue_pop(worker_of(stage, stage->next)->ready, &item))
            return is_fed(stage) ? records_ended(stage->source)
                                 : flow_failure(FLOW_EXIT_internal, "pipeline `%s` ended early",
                                                stage->pipeline->name);
        stage->input_time += clock_nanoseconds() - before;
    } else if (stage->next + 1 < stage->end) {
        number_batch(stage, team_slot(stage, stage->next + 1), stage->next + 1);
    }
    *batch = stage->taken = item;
    return settle(stage, stage->taken);
}

void stage_locate(const Stage *stage, const Batch *batch, int64_t place, char *text, size_t size) {
    Permutation shuffle = records_shuffle(stage->source, batch->epoch);
    int64_t row = place;
    for (int64_t i = 0; batch->rejected && i <= row; i++) row += batch->rejected[i];
    records_locate(stage->source, records_find(stage->source, &shuffle, batch->first + row),
                   batch->epoch, text, size);
}

void stage_fill_next(Stage *stage, int thread, int threads) {
    if (stage->worker_count || stage->next + 1 >= stage->end) return;
    int64_t before = thread ? 0 : clock_nanoseconds();
    fill_share(stage, team_slot(stage, stage->next + 1), thread, thread, threads);
    if (!thread) stage->input_time += clock_nanoseconds() - before;
}

bool stage_wants_team(const Stage *stage) {
    return !stage->worker_count;
}

void stage_release(Stage *stage) {
    if (is_fed(stage)) records_forget(stage->source, stage->taken->first + stage->taken->rows);
    if (stage->worker_count) queue_push(worker_of(stage, stage->next)->vacant, stage->taken);
    stage->taken = NULL;
    stage->next++;
}

/* Open and close. */

static FlowStatus open_rejects(Stage *stage, const Places *places) {
    const FlowPipeline *pipeline = stage->pipeline;
    if (pipeline->on_error == FLOW_ON_ERROR_stop) return flow_ok;
    if (vocabularies_are_learned(places->vocabularies))
        return rejects_new(NULL, NULL, &stage->rejects);
    return rejects_new(pipeline->name, path_said(places, pipeline->log, pipeline->log_option),
                       &stage->rejects);
}

FlowStatus stage_open(const FlowPipeline *pipeline, Places places, Sizes sizes, int64_t seed,
                      Stage **out) {
    Stage *stage = *out = calloc(1, sizeof *stage);
    if (!stage) return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", pipeline->name);
    stage->pipeline = pipeline;
    holding_open(&stage->holding, pipeline->name, pipeline->line);
    pthread_mutex_init(&stage->mutex, NULL);
    pthread_cond_init(&stage->claimed, NULL);
    Holding *before = holding_enter(&stage->holding);
    FlowStatus status = open_rejects(stage, &places);
    if (!status.exit)
        status = records_open(pipeline, places, sizes, seed, stage->rejects, &stage->source);
    holding_enter(before);
    if (status.exit) {
        stage_close(stage);
        *out = NULL;
        return status;
    }
    stage->section = records_section(stage->source);
    stage->records = records_count(stage->source);
    stage->batches = is_fed(stage) ? -1 : (stage->records + pipeline->batch - 1) / pipeline->batch;
    return flow_ok;
}

void stage_close(Stage *stage) {
    if (!stage) return;
    stage_stop(stage);
    drop_slots(stage);
    drop_scratch(stage);
    records_close(stage->source);
    rejects_free(stage->rejects);
    pthread_cond_destroy(&stage->claimed);
    pthread_mutex_destroy(&stage->mutex);
    holding_close(&stage->holding);
    free(stage);
}

const FlowSection *stage_section(const Stage *stage) {
    return stage->section;
}

int64_t stage_records(const Stage *stage) {
    return stage->records;
}

int64_t stage_batches(const Stage *stage) {
    return stage->batches;
}

FlowStatus stage_check_counted(const Stage *stage) {
    if (!is_fed(stage)) return flow_ok;
    return flow_failure(FLOW_EXIT_usage,
                        "pipeline `%s` (%s): standard input can be read once, and a train block "
                        "asks for any record at any time; put it into a file",
                        stage->pipeline->name, stage->pipeline->line);
}

int64_t stage_input_time(const Stage *stage) {
    return stage->input_time;
}
