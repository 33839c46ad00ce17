/* Stage: slots go round through two queues: `vacant` brings them to workers, `ready` back to the
 * step, which gives them out in order. Workers wake up when half of their slots are vacant and then
 * fill them in one go. Slots that the step's threads fill stay with them. */
#include "runtime/clock.h"
#include "runtime/stage_state.h"
#include "runtime/timeline.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Start and stop. */

static FlowStatus no_memory(const Stage *stage) {
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory or threads for its batches",
                        stage->pipeline->name);
}

bool stage_helps(const Stage *stage, int workers) {
    return workers && stage->allowed && stage->team->threads == 1 && !stage_is_fed(stage);
}

/* A batch that is made in microseconds is no time to sleep in. */
static int shared_slots(const Stage *stage) {
    size_t fit = SMALL_HELD / (slots_size(stage, 1) + 1);
    return fit < SHARED_SLOTS ? SHARED_SLOTS : fit > SMALL_SLOTS ? SMALL_SLOTS : (int)fit;
}

/* So many that with the step's batch taken away a whole queue is left. */
static int slots_for_queue(int workers, bool helped, int queue) {
    return (workers + helped) * ((queue + workers) / workers);
}

/* Where nobody says otherwise. */
static int usual_slots(const Stage *stage, int workers, bool helped) {
    return helped ? (workers + 1) * shared_slots(stage) : workers * WORKER_SLOTS;
}

static int slots_of(const Stage *stage, int workers, bool helped) {
    int queue = stage->pipeline->queue, usual = usual_slots(stage, workers, helped);
    if (!workers) return TEAM_SLOTS;
    if (queue) return slots_for_queue(workers, false, queue);
    int tuned = slots_for_queue(workers, helped, stage->queue);
    return tuned > usual ? tuned : usual;
}

static int slots_for(const Stage *stage, int workers) {
    return slots_of(stage, workers, stage_helps(stage, workers));
}

static bool make_queues(Stage *stage, int slots) {
    if (slots < stage->slot_count) slots = stage->slot_count;
    stage->vacant = queue_new(slots, 1, QUEUE_newest);
    stage->ready = queue_new(slots, 1, QUEUE_oldest);
    Batch **held = realloc(stage->held, (size_t)slots * sizeof *held);
    if (held) stage->held = held;
    Batch **own = realloc(stage->own, (size_t)slots * sizeof *own);
    if (own) stage->own = own;
    Batch **spare = realloc(stage->spare, (size_t)slots * sizeof *spare);
    if (spare) stage->spare = spare;
    if (!stage->vacant || !stage->ready || !held || !own || !spare) return false;
    for (int i = 0; i < stage->slot_count; i++) queue_push(stage->vacant, stage->slots[i]);
    return true;
}

/* Of the step's threads when there are so many workers. */
static int own_slots(const Stage *stage, int workers) {
    if (!workers) return stage->slot_count;
    return stage_helps(stage, workers) ? slots_used(stage) / (workers + 1) : 0;
}

static void deal_slots(Stage *stage, int workers) {
    int own = own_slots(stage, workers);
    void *slot;
    while (stage->own_count > own) queue_push(stage->vacant, stage->own[--stage->own_count]);
    while (stage->own_count < own && queue_try_pop(stage->vacant, &slot))
        stage->own[stage->own_count++] = slot;
}

size_t stage_needs(const Stage *stage, int workers, int threads) {
    size_t slots = slots_size(stage, slots_of(stage, workers, false)), needs;
    size_t scratch = scratch_size(stage, workers ? workers : threads);
    return __builtin_add_overflow(slots, scratch, &needs) ? SIZE_MAX : needs;
}

FlowStatus stage_prepare(Stage *stage, int workers, int threads) {
    bool room = slots_grow(stage, slots_of(stage, workers, false)) &&
                (workers ? workers_grow(stage, workers) : slots_hands(stage, threads));
    return room ? flow_ok : no_memory(stage);
}

static int deepest_slots(int makers) {
    return makers * DEEPER * WORKER_SLOTS;
}

/* The most slots that there will be: a few workers may need more for a queue than many. */
static int room_for(const Stage *stage, int slots, int workers) {
    for (int i = 2; i < 2 * (stage->allowed + workers + 1); i++) {
        int needed = slots_of(stage, i / 2, i % 2), deepest = deepest_slots(i / 2 + i % 2);
        if (needed > slots) slots = needed;
        if (deepest > slots) slots = deepest;
    }
    return slots;
}

static bool set_workers(Stage *stage, int workers) {
    bool works = !workers || stage_helps(stage, workers);
    int slots = slots_for(stage, workers);
    if (slots > slots_used(stage) && !slots_use(stage, slots)) return false;
    if (works && !slots_hands(stage, stage->team->threads)) return false;
    deal_slots(stage, workers);
    return workers_set(stage, workers);
}

static bool start(Stage *stage, int workers) {
    return make_queues(stage, room_for(stage, slots_for(stage, workers), workers)) &&
           set_workers(stage, workers);
}

void stage_allow(Stage *stage, int workers) {
    stage->allowed = workers;
}

/* With so many slots; the step has one of them. */
static int queue_of(const Stage *stage, int slots) {
    int workers = stage->wanted, own = stage_helps(stage, workers) ? slots / (workers + 1) : 0;
    return workers ? slots - own - 1 : 0;
}

int stage_queue(const Stage *stage) {
    return queue_of(stage, slots_used(stage));
}

int stage_usual_queue(const Stage *stage) {
    int workers = stage->wanted;
    if (stage->pipeline->queue) return stage_queue(stage);
    return queue_of(stage, usual_slots(stage, workers, stage_helps(stage, workers)));
}

int stage_most_queue(const Stage *stage, size_t room) {
    int workers = stage->wanted, makers = workers + stage_helps(stage, workers);
    int usual = usual_slots(stage, workers, makers > workers), used = slots_used(stage);
    int most = deepest_slots(makers);
    size_t slot = slots_size(stage, 1) + 1, held = (size_t)makers * DEEPER_HELD / slot;
    if (held < (size_t)most) most = (int)held;
    if (most > used && room / slot < (size_t)(most - used)) most = used + (int)(room / slot);
    bool fixed = stage->pipeline->queue || most <= usual;
    return fixed ? stage_usual_queue(stage) : queue_of(stage, most);
}

void stage_set_queue(Stage *stage, int queue) {
    int before = stage->queue;
    stage->queue = queue;
    if (!slots_use(stage, slots_for(stage, stage->wanted))) stage->queue = before;
    set_workers(stage, stage->wanted);
}

int stage_set_workers(Stage *stage, int workers) {
    if (stage_is_fed(stage) && !workers) workers = 1;
    int most = stage->allowed > stage->wanted ? stage->allowed : stage->wanted;
    if (workers > most) workers = most;
    int before = stage->wanted;
    if (!set_workers(stage, workers)) set_workers(stage, before);
    return stage->wanted;
}

FlowStatus stage_start(Stage *stage, const Progression *done, int64_t end, int workers,
                       Team *team) {
    bool fed = stage_is_fed(stage);
    stage->team = team;
    stage->begun = stage->done = done ? *done : (Progression){0};
    stage->next = stage->done.low;
    stage->end = fed ? INT64_MAX : end;
    return start(stage, fed && !workers ? 1 : workers) ? flow_ok : no_memory(stage);
}

void stage_stop(Stage *stage) {
    workers_stop(stage);
    for (int i = 0; i < stage->hand_count; i++) stage->hands[i]->ahead.batch = -1;
    queue_free(stage->vacant);
    queue_free(stage->ready);
    stage->vacant = stage->ready = NULL;
    stage->team = NULL;
    stage->taken = stage->filling = NULL;
    stage->held_count = stage->own_count = stage->wanted = 0;
    stage->spare_count = stage->surplus = 0;
    stage->claimed = stage->delivered = 0;
}

/* Taking. */

/* The team is to make the batch. */
static bool begin_filling(Stage *stage) {
    stage->filling = claim_batch(stage, NULL);
    if (stage->filling) share_batch(stage, stage->filling, stage->team->threads);
    return stage->filling != NULL;
}

static void end_filling(Stage *stage) {
    if (stage->filling) order_hold(stage, stage->filling);
    stage->filling = NULL;
}

static void fill(void *argument, int thread, int threads) {
    Stage *stage = argument;
    make_share(stage, stage->filling, thread, threads);
}

static bool fill_now(Stage *stage) {
    if (!begin_filling(stage)) return false;
    team_run(stage->team, fill, stage);
    end_filling(stage);
    return true;
}

/* Makes a batch instead of waiting for one. */
static bool help(Stage *stage) {
    if (!stage_helps(stage, stage->wanted)) return false;
    Batch *batch = claim_batch(stage, NULL);
    if (!batch) return false;
    make_batch(stage, batch, stage->hands[0]);
    order_hold(stage, batch);
    return true;
}

/* Do workers have batches that are still to come? */
static bool are_in_hands(const Stage *stage) {
    return stage->claimed > stage->delivered + stage->held_count;
}

static bool wait_for_ready(Stage *stage, void **batch) {
    int64_t before = clock_nanoseconds();
    bool some = queue_pop(stage->ready, batch);
    stage->wait_time += clock_nanoseconds() - before;
    return some;
}

static bool receive(Stage *stage) {
    void *batch;
    if (!queue_try_pop(stage->ready, &batch)) {
        if (help(stage)) return true;
        if (!wait_for_ready(stage, &batch)) return false;
    }
    order_hold(stage, batch);
    return true;
}

/* NULL: a feed has no more. */
static Batch *wait_for_batch(Stage *stage) {
    int64_t before = clock_nanoseconds();
    Batch *batch = NULL;
    for (bool more = true; more && !batch; batch = order_find(stage)) {
        bool workers = stage->wanted || are_in_hands(stage);
        more = workers ? receive(stage) : fill_now(stage);
    }
    stage->input_time += clock_nanoseconds() - before;
    return batch;
}

static FlowStatus end_of(const Stage *stage) {
    if (stage_is_fed(stage)) return records_ended(stage->source);
    return flow_failure(FLOW_EXIT_internal, "pipeline `%s` ended early", stage->pipeline->name);
}

static void tell_ready(const Stage *stage, int ready) {
    char name[96];
    snprintf(name, sizeof name, "batches of `%.64s` that lie ready", stage->pipeline->name);
    timeline_count(name, ready);
}

/* The queue, which lies in the cache of who filled it last, is only asked where it matters. */
static void note_ready(Stage *stage) {
    if (stage->held_count >= stage->least_ready && !timeline_is_on()) return;
    int ready = queue_count(stage->ready) + stage->held_count;
    if (ready < stage->least_ready) stage->least_ready = ready;
    if (timeline_is_on()) tell_ready(stage, ready);
}

static FlowAsked lines_of(const Batch *batch, int field) {
    const char *first = batch->arrays[field];
    return (FlowAsked){first, first + (size_t)batch->rows * batch->row_sizes[field]};
}

static void ask_for_lines(FlowAsked lines) {
    enum { LINE = 64 };
    for (; lines.next < lines.end; lines.next += LINE) __builtin_prefetch(lines.next);
}

/* Asks for what a step will read of a batch, if that fits beside what a step works on: of its
 * largest field during the step. */
static void ask_for_values(Stage *stage, const Batch *batch) {
    enum { MOST = 64 << 10 };
    const int fields = stage->section->output_count;
    size_t size = 0;
    int largest = 0;
    for (int i = 0; i < fields; i++) {
        size += (size_t)batch->rows * batch->row_sizes[i];
        if (batch->row_sizes[i] > batch->row_sizes[largest]) largest = i;
    }
    if (size > MOST) return;
    for (int i = 0; i < fields; i++)
        if (i != largest) ask_for_lines(lines_of(batch, i));
    stage->asked = lines_of(batch, largest);
}

static void ask_for(const Batch *batch) {
    __builtin_prefetch(&batch->number);
    __builtin_prefetch(&batch->rows);
    __builtin_prefetch(&batch->failure);
}

/* What workers have made lies in their caches: all that is ready is taken at once, and the next one
 * comes while the step works on this one. */
static void look_ahead(Stage *stage) {
    void *batch;
    stage->asked = (FlowAsked){0};
    if (!stage->held_count)
        while (queue_try_pop(stage->ready, &batch)) {
            order_hold(stage, batch);
            ask_for(batch);
        }
    if (stage->held_count) ask_for_values(stage, stage->held[0]);
}

FlowStatus stage_take(Stage *stage, const Batch **batch) {
    note_ready(stage);
    Batch *held = order_find(stage);
    *batch = stage->taken = held ? held : wait_for_batch(stage);
    if (!stage->taken) return end_of(stage);
    stage->delivered++;
    stage->given_batches++;
    stage->given_rows += stage->taken->rows;
    look_ahead(stage);
    if (!stage->wanted && !stage->held_count && !are_in_hands(stage)) begin_filling(stage);
    return settle(stage, stage->taken);
}

void stage_locate(const Stage *stage, const Batch *batch, int64_t place, char *text, size_t size) {
    Permutation shuffle = records_shuffle(stage->source, batch->epoch, batch->bucket);
    int64_t row = place;
    for (int64_t i = 0; batch->rejected && i <= row; i++) row += batch->rejected[i];
    records_locate(stage->source, records_find(stage->source, &shuffle, batch->first + row),
                   batch->epoch, text, size);
}

void stage_ask_next(Stage *stage, int thread) {
    if (stage->filling) ask_for_share(stage, stage->filling, thread);
}

void stage_fill_next(Stage *stage, int thread, int threads) {
    if (!stage->filling) return;
    int64_t before = stage->hands[thread]->busy;
    make_share(stage, stage->filling, thread, threads);
    if (thread) return;
    int64_t time = stage->hands[thread]->busy - before;
    stage->input_time += time;
    stage->team_time += time;
}

FlowAsked *stage_asked(Stage *stage) {
    return stage->asked.next < stage->asked.end ? &stage->asked : NULL;
}

bool stage_wants_team(const Stage *stage) {
    return stage->filling != NULL;
}

void stage_release(Stage *stage) {
    end_filling(stage);
    order_release(stage, stage->taken);
    if (stage->taken->own && own_slots(stage, stage->wanted))
        stage->own[stage->own_count++] = stage->taken;
    else slots_return(stage, stage->taken);
    stage->taken = NULL;
}

/* Open and close. */

const char *stage_place(const Stage *stage) {
    const FlowSection *first = &stage->pipeline->sections[0];
    return first->field_count ? first->fields[0].path : NULL;
}

static void add_beats(Stage *stage, const char *log) {
    snprintf(stage->name, sizeof stage->name, "pipeline `%.64s`", stage->pipeline->name);
    stage->opening.name = stage->logging.name = stage->name;
    stage->opening.place = stage_place(stage);
    stage->logging.place = log;
    beat_add(&stage->opening);
    beat_add(&stage->logging);
}

static FlowStatus open_records(Stage *stage, Places places, Sizes sizes, int64_t seed) {
    const FlowPipeline *pipeline = stage->pipeline;
    const char *log;
    FlowStatus status =
        path_to_write(&places, pipeline->log, pipeline->log_option, pipeline_owner(pipeline), &log);
    add_beats(stage, log);
    if (!status.exit && pipeline->on_error != FLOW_ON_ERROR_stop)
        status = rejects_new(pipeline->name, log, &stage->rejects);
    if (status.exit) return status;
    beat_begin(&stage->opening, "opens its files");
    status = records_open(pipeline, places, sizes, seed, stage->rejects, &stage->source);
    beat_end(&stage->opening);
    return status;
}

FlowStatus stage_open(const FlowPipeline *pipeline, Places places, Sizes sizes, int64_t seed,
                      Stage **out) {
    Stage *stage = *out = aligned_alloc(_Alignof(Stage), sizeof *stage);
    if (!stage) return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", pipeline->name);
    memset(stage, 0, sizeof *stage);
    stage->pipeline = pipeline;
    pthread_mutex_init(&stage->mutex, NULL);
    pthread_mutex_init(&stage->claiming, NULL);
    holding_open(&stage->holding, pipeline->name, pipeline->line);
    Holding *before = holding_enter(&stage->holding);
    FlowStatus status = open_records(stage, places, sizes, seed);
    holding_enter(before);
    if (status.exit) {
        stage_close(stage);
        *out = NULL;
        return status;
    }
    stage->section = records_section(stage->source);
    stage->records = records_count(stage->source);
    stage->batches = records_batches(stage->source);
    return flow_ok;
}

void stage_close(Stage *stage) {
    if (!stage) return;
    stage_stop(stage);
    workers_free(stage);
    slots_free(stage);
    records_close(stage->source);
    rejects_free(stage->rejects);
    beat_remove(&stage->opening);
    beat_remove(&stage->logging);
    pthread_mutex_destroy(&stage->claiming);
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
    if (!stage_is_fed(stage)) return flow_ok;
    return flow_failure(FLOW_EXIT_usage,
                        "pipeline `%s` (%s): its records come one after the other, and a train "
                        "block asks for any record at any time; put them into a file",
                        stage->pipeline->name, stage->pipeline->line);
}

FlowStatus stage_verdict(const Stage *stage) {
    return rejects_verdict(stage->rejects);
}

const Progression *stage_done(const Stage *stage) {
    return &stage->done;
}

int64_t stage_input_time(const Stage *stage) {
    return stage->input_time;
}

int64_t stage_team_time(const Stage *stage) {
    return stage->team_time;
}

DepthPace stage_depth_pace(const Stage *stage) {
    return (DepthPace){stage->wait_time, stage->idle_time, stage->given_batches};
}

int stage_least_ready(Stage *stage) {
    int least = stage->least_ready;
    stage->least_ready = INT_MAX;
    return least;
}

int64_t stage_busy_time(const Stage *stage) {
    int64_t time = 0;
    for (int i = 0; i < stage->hand_count; i++) time += stage->hands[i]->busy;
    return time;
}
