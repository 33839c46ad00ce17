/* Random starts, stops, ends and numbers of workers of stages and queues, at any moment of any of
 * their threads: none blocks, none loses or doubles an item. LONG=1: a million of them. */
#include "runtime/queue.h"
#include "tests/runtime/numbers.h"

#include <pthread.h>
#include <stdatomic.h>

enum { RECORDS = 24, SHORT = 3000, LONG = 1000000 };

static uint32_t state = 1;

static int any(int below) {
    state = state * 1664525 + 1013904223;
    return (int)(state >> 16) % below;
}

static const FlowSource numbers = NUMBERS(.point = point_at_numbers);

/* Takes some batches, or all; every one comes once, in its epoch, in order if there is one. */
static void take(Stage *stage, Team *team, const FlowPipeline *pipeline, int64_t end,
                 int64_t count) {
    int64_t batches = stage_batches(stage), seen = 0;
    for (int64_t i = 0; i < count; i++) {
        const Batch *batch;
        FlowStatus status = stage_take(stage, &batch);
        CHECK(!status.exit, "%s", status.text);
        if (status.exit) return;
        int64_t number = batch->number;
        if (i % batches == 0) seen = 0;
        CHECK(number < end && number / batches == i / batches, "batch %lld", (long long)number);
        CHECK(!(seen >> number % batches & 1), "batch %lld comes twice", (long long)number);
        CHECK(pipeline->unordered || number == i, "batch %lld is %lld", (long long)number,
              (long long)i);
        CHECK(*(int32_t *)batch->arrays[0] == number % batches * pipeline->batch, "another record");
        seen |= INT64_C(1) << number % batches;
        for (int thread = 0; thread < team->threads; thread++)
            stage_fill_next(stage, thread, team->threads);
        if (!any(8)) return;
        stage_release(stage);
        if (any(4)) continue;
        team->threads = 1 + !any(8);
        CHECK(stage_set_workers(stage, any(4)) >= 0, "no workers");
    }
}

static void stage_cycles(int cycles) {
    while (cycles > 0) {
        FlowPipeline pipeline = numbers_pipeline(&numbers, RECORDS, 1 + any(5));
        pipeline.queue = any(2) * any(6);
        pipeline.unordered = any(2);
        Team team = {.threads = 1 + !any(8)};
        Stage *stage = open_stage(&pipeline);
        for (int starts = any(4); starts >= 0; starts--, cycles--) {
            stage_allow(stage, 3);
            int64_t end = any(3) * stage_batches(stage) + any(3);
            CHECK(!stage_start(stage, NULL, end, any(4), &team).exit, "not started");
            take(stage, &team, &pipeline, end, any(2) ? end : any((int)end + 1));
            if (any(4)) stage_stop(stage);
            else break;
        }
        cycles--;
        stage_close(stage);
    }
}

/* A queue with a few threads at each end, which one of them closes or stops. */

typedef struct Ends {
    Queue *queue;
    int items;
    atomic_int pushed, popped;
} Ends;

static void *push(void *argument) {
    Ends *ends = argument;
    for (int i = 0; i < ends->items && queue_push(ends->queue, ends); i++) ends->pushed++;
    return NULL;
}

static void *pop(void *argument) {
    Ends *ends = argument;
    for (void *item; queue_pop(ends->queue, &item);) ends->popped++;
    return NULL;
}

static void queue_cycle(void) {
    enum { MOST = 3 };
    int capacity = 1 + any(4);
    Ends ends = {.queue = queue_new(capacity, 1, QUEUE_oldest), .items = any(20)};
    pthread_t threads[2 * MOST];
    int count = 0;
    for (int i = any(MOST); i >= 0; i--) pthread_create(&threads[count++], NULL, push, &ends);
    int pushers = count;
    for (int i = any(MOST); i >= 0; i--) pthread_create(&threads[count++], NULL, pop, &ends);
    bool stops = any(2);
    if (stops) queue_stop(ends.queue);
    for (int i = 0; i < pushers; i++) pthread_join(threads[i], NULL);
    queue_close(ends.queue);
    for (int i = pushers; i < count; i++) pthread_join(threads[i], NULL);
    CHECK(stops ? ends.pushed >= ends.popped : ends.pushed == ends.popped, "%d pushed, %d popped",
          ends.pushed, ends.popped);
    CHECK(stops || ends.pushed == pushers * ends.items, "%d pushed", ends.pushed);
    queue_free(ends.queue);
}

int main(void) {
    const char *set = getenv("LONG");
    int cycles = set && *set ? LONG : SHORT;
    for (int i = 0; i < cycles / 2; i++) queue_cycle();
    stage_cycles(cycles / 2);
    printf("cycles: %d\n", cycles);
    return test_result();
}
