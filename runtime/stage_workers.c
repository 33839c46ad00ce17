/* Stage_workers: threads that make batches ahead of time. Each claims the next number when a slot
 * is vacant, so a slow batch keeps one of them busy and no other. */
#include "runtime/clock.h"
#include "runtime/cpus.h"
#include "runtime/stage_state.h"
#include "runtime/timeline.h"

#include <stdio.h>
#include <stdlib.h>

/* A whole batch, or what comes before its patience ends; 0: the feed has ended. */
static int64_t wait_for_records(const Stage *stage, int64_t first) {
    int64_t patience = stage->pipeline->patience;
    int64_t have = records_wait(stage->source, first + 1, 0);
    int64_t deadline = patience ? clock_nanoseconds() + patience : 0;
    if (have > first) have = records_wait(stage->source, first + stage->pipeline->batch, deadline);
    return have > first ? have - first : 0;
}

/* The records of a feed are dealt to its batches in turn. False: there are no more. */
static bool deal_batch(Stage *stage, Batch *batch) {
    batch->number = stage->next;
    batch->epoch = 0;
    batch->first = stage->claimed_records;
    begin_batch(stage, batch, stage->drained ? 0 : wait_for_records(stage, batch->first));
    stage->drained |= !batch->rows;
    stage->claimed_records += batch->rows;
    stage->next += !stage->drained;
    return !stage->drained;
}

static bool number_next(Stage *stage, Batch *batch) {
    while (stage->next < stage->end && progression_has(&stage->begun, stage->next)) stage->next++;
    if (stage->next == stage->end) return false;
    number_batch(stage, batch, stage->next++);
    return true;
}

/* Is the worker one too many? Then another can have its slot. */
static bool leaves(Stage *stage, Worker *worker, Batch *slot) {
    pthread_mutex_lock(&stage->mutex);
    bool leaves = worker && worker->index >= stage->wanted;
    if (leaves) worker->left = true;
    pthread_mutex_unlock(&stage->mutex);
    if (leaves) queue_push(stage->vacant, slot);
    return leaves;
}

static Batch *wait_for_slot(Stage *stage) {
    void *slot;
    if (queue_try_pop(stage->vacant, &slot)) return slot;
    int64_t before = clock_nanoseconds();
    bool some = queue_pop(stage->vacant, &slot);
    stage->idle_time += clock_nanoseconds() - before;
    return some ? slot : NULL;
}

static Batch *vacant_slot(Stage *stage, const Worker *worker) {
    void *slot;
    if (worker) return wait_for_slot(stage);
    if (stage->own_count) return stage->own[--stage->own_count];
    if (stage->wanted) return NULL;
    return queue_pop(stage->vacant, &slot) ? slot : NULL;
}

Batch *claim_batch(Stage *stage, Worker *worker) {
    Batch *slot = vacant_slot(stage, worker);
    if (!slot) return NULL;
    slot->own = !worker;
    pthread_mutex_lock(&stage->claiming);
    bool left = leaves(stage, worker, slot);
    bool more = !left && (stage_is_fed(stage) ? deal_batch(stage, slot) : number_next(stage, slot));
    if (more) stage->claimed++;
    pthread_mutex_unlock(&stage->claiming);
    if (more) return slot;
    if (!left) queue_close(stage->vacant);
    return NULL;
}

/* The last one to leave a feed says that it has ended. */
static void leave(Stage *stage) {
    pthread_mutex_lock(&stage->mutex);
    bool last = --stage->working == 0;
    pthread_mutex_unlock(&stage->mutex);
    if (last && stage_is_fed(stage)) queue_close(stage->ready);
}

static void name_line(const Worker *worker) {
    char name[96];
    snprintf(name, sizeof name, "worker %d of `%.64s`", worker->index,
             worker->stage->pipeline->name);
    timeline_name(name);
}

static void *work(void *argument) {
    Worker *worker = argument;
    Stage *stage = worker->stage;
    name_line(worker);
    for (Batch *batch; (batch = claim_batch(stage, worker));) {
        make_batch(stage, batch, &worker->hand);
        queue_push(stage->ready, batch);
    }
    leave(stage);
    return NULL;
}

static void join(Worker *worker) {
    if (worker->running) pthread_join(worker->thread, NULL);
    worker->running = worker->left = false;
}

static bool is_at_work(Stage *stage, const Worker *worker) {
    pthread_mutex_lock(&stage->mutex);
    bool at_work = worker->running && !worker->left;
    pthread_mutex_unlock(&stage->mutex);
    return at_work;
}

static void count_working(Stage *stage, int more) {
    pthread_mutex_lock(&stage->mutex);
    stage->working += more;
    pthread_mutex_unlock(&stage->mutex);
}

static bool start_worker(Stage *stage, Worker *worker) {
    if (is_at_work(stage, worker)) return true;
    join(worker);
    count_working(stage, 1);
    worker->running = !pthread_create(&worker->thread, NULL, work, worker);
    if (!worker->running) count_working(stage, -1);
    return worker->running;
}

static Worker *worker_new(Stage *stage, int index) {
    Worker *worker = calloc(1, sizeof *worker);
    if (!worker) return NULL;
    worker->stage = stage;
    worker->index = index;
    if (hand_open(&worker->hand, stage, index + 1)) return worker;
    free(worker);
    return NULL;
}

bool workers_grow(Stage *stage, int count) {
    if (count <= stage->worker_count) return true;
    Worker **workers = realloc(stage->workers, (size_t)count * sizeof *workers);
    if (!workers) return false;
    stage->workers = workers;
    while (stage->worker_count < count) {
        Worker *worker = worker_new(stage, stage->worker_count);
        if (!worker) return false;
        workers[stage->worker_count++] = worker;
    }
    return true;
}

/* Not while somebody claims: who is not wanted any more claims nothing from now on, so what workers
 * have in hands is known. */
static void want(Stage *stage, int count) {
    pthread_mutex_lock(&stage->claiming);
    pthread_mutex_lock(&stage->mutex);
    stage->wanted = count;
    pthread_mutex_unlock(&stage->mutex);
    pthread_mutex_unlock(&stage->claiming);
}

/* Who takes batches waits as well as who makes them. */
static void let_watch(Stage *stage, int workers) {
    bool room = workers + stage->team->threads <= cpus_available();
    queue_let_watch(stage->vacant, room);
    queue_let_watch(stage->ready, room);
}

bool workers_set(Stage *stage, int count) {
    if (!workers_grow(stage, count)) return false;
    let_watch(stage, count);
    int slots = slots_used(stage) - stage->own_count;
    queue_set_burst(stage->vacant, count && slots > 1 ? slots / 2 : 1);
    want(stage, count);
    for (int i = 0; i < count; i++)
        if (!start_worker(stage, stage->workers[i])) return false;
    return true;
}

void workers_stop(Stage *stage) {
    if (stage_is_fed(stage)) records_stop(stage->source);
    if (stage->vacant) queue_stop(stage->vacant);
    for (int i = 0; i < stage->worker_count; i++) join(stage->workers[i]);
}

void workers_free(Stage *stage) {
    for (int i = 0; i < stage->worker_count; i++) {
        hand_close(&stage->workers[i]->hand, stage);
        free(stage->workers[i]);
    }
    free(stage->workers);
}
