/* A pipeline and a step that both need all processors, alone and together: the batches are the
 * same, and the step takes each. LONG=1 prints what they lose when they run together. */
#include "runtime/clock.h"
#include "runtime/cpus.h"
#include "runtime/step.h"
#include "tests/runtime/numbers.h"

#include <sys/resource.h>

enum { RECORDS = 4096, BATCH = 64, RECORD_TURNS = 6000, STEP_TURNS = 200000, PHASES = 8 };

static int64_t rounds;
static atomic_int wonders; /* so that work is done */
static int64_t steps;      /* that were run */

/* So much work; of what it returns nothing is known before. */
static uint32_t compute(uint32_t state, int turns) {
    for (int i = 0; i < turns; i++) state = state * 1664525 + 1013904223;
    return state;
}

static bool make_slowly(const FlowReader *reader, int64_t record, void *const *values,
                        FlowStatus *failure) {
    (void)reader, (void)failure;
    *(uint32_t *)values[0] = compute((uint32_t)record, RECORD_TURNS);
    return true;
}

static const FlowSource numbers = NUMBERS(.make = make_slowly);

/* A step of a few kernels, each divided by the threads. */
static void run_step(const FlowFrame *frame, int thread, int threads) {
    if (!thread) steps++;
    for (int phase = 0; phase < PHASES; phase++) {
        if (!compute((uint32_t)(phase + thread), STEP_TURNS / PHASES / threads)) wonders++;
        flow_barrier(frame, thread, threads);
    }
}

static const FlowFunction step = {.name = "step", .run = run_step};

typedef struct Measured {
    double wall, processor; /* seconds */
    uint64_t sum;           /* of what the batches had, each number times its place */
} Measured;

static uint64_t sum_of(const Batch *batch) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < batch->records; i++)
        sum += ((const uint32_t *)batch->arrays[0])[i] * (uint64_t)(batch->first + i + 1);
    return sum;
}

static uint64_t expected_sum(void) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < RECORDS; i++)
        sum += compute((uint32_t)i, RECORD_TURNS) * (uint64_t)(i + 1);
    return sum * (uint64_t)rounds;
}

static double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* All batches of some epochs, through the step if there is one; or the step alone. */
static Measured measure(bool with_pipeline, bool with_step, int workers) {
    Team team = {.threads = cpus_available()};
    Call call = {.function = &step};
    FlowPipeline pipeline = numbers_pipeline(&numbers, RECORDS, BATCH);
    Stage *stage = open_stage(&pipeline);
    int64_t batches = stage_batches(stage) * rounds, before = clock_nanoseconds();
    double processor = processor_seconds();
    uint64_t sum = 0;
    if (with_pipeline)
        CHECK(!stage_start(stage, NULL, batches, workers, &team).exit, "not started");
    for (int64_t i = 0; i < batches; i++) {
        const Batch *batch = NULL;
        if (with_pipeline) CHECK(!stage_take(stage, &batch).exit, "a batch failed");
        if (with_step && batch) step_run(&call, NULL, batch, stage, &team);
        else if (with_step) step_run_alone(&call, NULL, BATCH, &team);
        else if (stage_wants_team(stage)) team_run(&team, fill_next, stage);
        if (batch) sum += sum_of(batch);
        if (batch) stage_release(stage);
    }
    Measured measured = {(double)(clock_nanoseconds() - before) / 1e9,
                         processor_seconds() - processor, sum};
    stage_close(stage);
    return measured;
}

static void print(const char *what, const Measured *made, const Measured *stepped,
                  const Measured *both) {
    double work = made->processor + stepped->processor, had = both->wall * cpus_available();
    printf("overlap, %s: pipeline %.2f s, step %.2f s of processor; together %.2f s, %.2f s by %d: "
           "%.1f %%; "
           "%.1f %% of both walls\n",
           what, made->processor, stepped->processor, both->processor, both->wall, cpus_available(),
           100 * work / had, 100 * (made->wall + stepped->wall) / both->wall);
}

static void check(const char *what, int workers, bool prints) {
    int64_t batches = RECORDS / BATCH * rounds;
    uint64_t expected = expected_sum();
    steps = 0;
    Measured made = measure(true, false, workers), stepped = measure(false, true, workers);
    CHECK(made.sum == expected, "%s: other batches", what);
    CHECK(steps == batches, "%s: %lld steps alone", what, (long long)steps);
    Measured both = measure(true, true, workers);
    CHECK(both.sum == expected, "%s: other batches beside the step", what);
    CHECK(steps == 2 * batches, "%s: %lld steps in all", what, (long long)steps);
    if (prints) print(what, &made, &stepped, &both);
}

int main(void) {
    const char *set = getenv("LONG");
    bool is_long = set && *set;
    rounds = is_long ? 60 : 1;
    for (int i = is_long ? 2 : 1; i > 0; i--) {
        check("no workers", 0, is_long);
        check("one worker", 1, is_long);
    }
    return test_result();
}
