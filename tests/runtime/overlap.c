/* What a pipeline and a step that both need all processors lose when they run together. Only printed: it
 * is a time. LONG=1: for longer. */
#include "runtime/clock.h"
#include "runtime/cpus.h"
#include "runtime/step.h"
#include "tests/runtime/test.h"

#include <sys/resource.h>

enum { RECORDS = 4096, BATCH = 64, RECORD_TURNS = 6000, STEP_TURNS = 200000, PHASES = 8 };

static int64_t rounds;
static atomic_int wonders; /* so that work is done */

/* So much work; of what it returns nothing is known before. */
static uint32_t compute(uint32_t state, int turns) {
    for (int i = 0; i < turns; i++) state = state * 1664525 + 1013904223;
    return state;
}

static FlowStatus open_numbers(const FlowField *fields, int count,
                               const FlowSourceArguments *arguments, FlowReader **reader) {
    (void)fields, (void)count, (void)arguments;
    *reader = (FlowReader *)&rounds;
    return flow_ok;
}

static int64_t count_numbers(const FlowReader *reader) {
    (void)reader;
    return RECORDS;
}

static bool make_number(const FlowReader *reader, int64_t record, void *const *values,
                        FlowStatus *failure) {
    (void)reader, (void)failure;
    *(uint32_t *)values[0] = compute((uint32_t)record, RECORD_TURNS);
    return true;
}

static void close_numbers(FlowReader *reader) {
    (void)reader;
}

static const FlowSource numbers = {.name = "numbers",
                                   .open = open_numbers,
                                   .records = count_numbers,
                                   .make = make_number,
                                   .close = close_numbers};

static const FlowField field = {.name = "number", .type = {FLOW_i32, 0, {0}}};

static const FlowSection section = {.window = 1,
                                    .stride = 1,
                                    .fields = &field,
                                    .field_count = 1,
                                    .outputs = &field,
                                    .output_count = 1};

static const FlowPipeline pipeline = {.name = "numbers",
                                      .source = &numbers,
                                      .sections = &section,
                                      .section_count = 1,
                                      .batch = BATCH};

/* A step of a few kernels, each divided by the threads. */
static void run_step(const FlowFrame *frame, int thread, int threads) {
    for (int phase = 0; phase < PHASES; phase++) {
        if (!compute((uint32_t)(phase + thread), STEP_TURNS / PHASES / threads)) wonders++;
        flow_barrier(frame, thread, threads);
    }
}

static const FlowFunction step = {.name = "step", .run = run_step};

typedef struct Measured {
    double wall, processor; /* seconds */
} Measured;

static double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void team_fill(void *stage, int thread, int threads) {
    stage_fill_next(stage, thread, threads);
}

/* All batches of some epochs, through the step if there is one; or the step alone. */
static Measured measure(bool with_pipeline, bool with_step, int workers) {
    Team team = {.threads = cpus_available()};
    Call call = {.function = &step};
    Stage *stage;
    CHECK(!stage_open(&pipeline, (Places){"", NULL, NULL}, (Sizes){0}, 0, &stage).exit,
          "not opened");
    int64_t batches = stage_batches(stage) * rounds, before = clock_nanoseconds();
    double processor = processor_seconds();
    if (with_pipeline)
        CHECK(!stage_start(stage, NULL, batches, workers, &team).exit, "not started");
    for (int64_t i = 0; i < batches; i++) {
        const Batch *batch = NULL;
        if (with_pipeline) CHECK(!stage_take(stage, &batch).exit, "a batch failed");
        if (with_step && batch) step_run(&call, NULL, batch, stage, &team);
        else if (with_step) step_run_alone(&call, NULL, BATCH, &team);
        else if (stage_wants_team(stage)) team_run(&team, team_fill, stage);
        if (batch) stage_release(stage);
    }
    Measured measured = {(double)(clock_nanoseconds() - before) / 1e9,
                         processor_seconds() - processor};
    stage_close(stage);
    return measured;
}

static void print(const char *what, int workers) {
    Measured made = measure(true, false, workers), stepped = measure(false, true, workers),
             both = measure(true, true, workers);
    double work = made.processor + stepped.processor, had = both.wall * cpus_available();
    printf("overlap, %s: pipeline %.2f s, step %.2f s of processor; together %.2f s, %.2f s by %d: "
           "%.1f %%; "
           "%.1f %% of both walls\n",
           what, made.processor, stepped.processor, both.processor, both.wall, cpus_available(),
           100 * work / had, 100 * (made.wall + stepped.wall) / both.wall);
}

int main(void) {
    const char *set = getenv("LONG");
    bool is_long = set && *set;
    rounds = is_long ? 60 : 1;
    for (int i = is_long ? 2 : 1; i > 0; i--) {
        print("no workers", 0);
        print("one worker", 1);
    }
    return test_result();
}
