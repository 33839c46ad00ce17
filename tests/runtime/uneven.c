/* Where a record in a hundred takes ten times as long, each comes once, in order or in any. LONG=1
 * prints the rate of the stage, beside that of threads that do nothing but make records: nobody
 * should wait. */
#include "runtime/clock.h"
#include "tests/runtime/numbers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { RECORDS = 6400, BATCH = 16, WORKERS = 4, PACE = 100000 /* ns */, SLOW = 100, TIMES = 10 };

/* Sleeps, as workers that wait for a disk do: so that the machine's processors don't count. */
static bool make_slowly(const FlowReader *reader, int64_t record, void *const *values,
                        FlowStatus *failure) {
    int64_t end = clock_nanoseconds() + PACE * (record % SLOW ? 1 : TIMES);
    struct timespec until = {end / 1000000000, end % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return make_number(reader, record, values, failure);
}

static const FlowSource numbers = NUMBERS(.make = make_slowly);

/* Seconds of threads that only make records, each the next one: no stage is faster. */

static atomic_int next_record;

static void *make_all(void *unused) {
    int32_t value;
    (void)unused;
    for (int record; (record = next_record++) < RECORDS;)
        make_slowly(NULL, record, (void *[]){&value}, NULL);
    return NULL;
}

static double ideal_time(void) {
    pthread_t threads[WORKERS];
    int64_t before = clock_nanoseconds();
    next_record = 0;
    for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], NULL, make_all, NULL);
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    return (double)(clock_nanoseconds() - before) / 1e9;
}

static int come[RECORDS]; /* how often */

static void look_at(const Batch *batch, int64_t place, bool unordered) {
    const int32_t *numbers_made = batch->arrays[0];
    for (int64_t i = 0; i < batch->records; i++) {
        bool there = numbers_made[i] >= 0 && numbers_made[i] < RECORDS;
        CHECK(there && (unordered || numbers_made[i] == place + i), "%d stands at %lld",
              numbers_made[i], (long long)(place + i));
        come[there ? numbers_made[i] : 0]++;
    }
}

static void check_all_came(void) {
    for (int i = 0; i < RECORDS; i++) {
        CHECK(come[i] == 1, "record %d came %d times", i, come[i]);
        come[i] = 0;
    }
}

/* Seconds of a stage. */
static double time_of(bool unordered) {
    FlowPipeline pipeline = numbers_pipeline(&numbers, RECORDS, BATCH);
    pipeline.queue = WORKERS;
    pipeline.unordered = unordered;
    Team team = {.threads = 1};
    Stage *stage = open_stage(&pipeline);
    int64_t before = clock_nanoseconds(), batches = stage_batches(stage), records = 0;
    CHECK(!stage_start(stage, NULL, batches, WORKERS, &team).exit, "not started");
    for (int64_t i = 0; i < batches; i++) {
        const Batch *batch;
        CHECK(!stage_take(stage, &batch).exit, "batch %lld failed", (long long)i);
        look_at(batch, records, unordered);
        records += batch->records;
        stage_release(stage);
    }
    double seconds = (double)(clock_nanoseconds() - before) / 1e9;
    check_all_came();
    stage_close(stage);
    return seconds;
}

static void print_rates(void) {
    for (int i = 0; i < 5; i++) {
        double ideal = ideal_time();
        printf("uneven records: %.1f %% of the ideal rate in order, %.1f %% in any order\n",
               100 * ideal / time_of(false), 100 * ideal / time_of(true));
    }
}

int main(void) {
    const char *set = getenv("LONG");
    time_of(false);
    time_of(true);
    if (set && *set) print_rates();
    return test_result();
}
