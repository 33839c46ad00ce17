/* A pipeline's own threads make its batches, and as many lie ready as its queue is long. */
#include "runtime/settings.h"
#include "runtime/stage.h"
#include "tests/runtime/test.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS = 64, BATCH = 2, PATIENCE = 2000, THREADS_SEEN = 16 };

static atomic_int made;  /* records */
static atomic_long pace; /* nanoseconds that one takes */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t seen[THREADS_SEEN];
static int seen_count;

static void note_thread(void) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < seen_count && !pthread_equal(seen[i], pthread_self())) i++;
    if (i == seen_count && i < THREADS_SEEN) seen[seen_count++] = pthread_self();
    pthread_mutex_unlock(&lock);
}

static FlowStatus open_numbers(const FlowField *fields, int count,
                               const FlowSourceArguments *arguments, FlowReader **reader) {
    (void)fields, (void)count, (void)arguments;
    *reader = (FlowReader *)&made; /* nothing is kept */
    return flow_ok;
}

static int64_t count_numbers(const FlowReader *reader) {
    (void)reader;
    return RECORDS;
}

static void read_number(const FlowReader *reader, int64_t record, const void **values) {
    static int32_t numbers[RECORDS];
    (void)reader;
    numbers[record] = (int32_t)record;
    values[0] = &numbers[record];
}

static void close_numbers(FlowReader *reader) {
    (void)reader;
}

static const FlowSource numbers = {.name = "numbers",
                                   .open = open_numbers,
                                   .records = count_numbers,
                                   .read = read_number,
                                   .close = close_numbers};

static int make(char *memory, const int64_t *sizes, const void *const *fields,
                void *const *outputs) {
    (void)memory, (void)sizes;
    note_thread();
    nanosleep(&(struct timespec){.tv_nsec = pace}, NULL);
    *(int32_t *)outputs[0] = *(const int32_t *)fields[0];
    made++;
    return 0;
}

static const FlowField fields[] = {{.name = "number", .type = {FLOW_i32, 0, {0}}}};

static const FlowSection section = {.window = 1,
                                    .stride = 1,
                                    .fields = fields,
                                    .field_count = 1,
                                    .record = make,
                                    .outputs = fields,
                                    .output_count = 1};

static FlowPipeline pipeline_of(int threads, int queue) {
    return (FlowPipeline){.name = "numbers",
                          .source = &numbers,
                          .sections = &section,
                          .section_count = 1,
                          .batch = BATCH,
                          .threads = threads,
                          .queue = queue};
}

/* What is made while nobody takes, once it stays the same. */
static int settled(void) {
    int before = -1, same = 0;
    for (int i = 0; i < PATIENCE && same < 50; i++) {
        same = made == before && made ? same + 1 : 0;
        before = made;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return before;
}

static void check_queue(int threads, int queue, int batches) {
    FlowPipeline pipeline = pipeline_of(threads, queue);
    FlowProgram program = {.name = "test"};
    Settings settings = {.program = &program};
    Team team = {.threads = 1};
    Stage *stage;
    made = seen_count = 0;
    int workers = settings_workers(&settings, &pipeline, 0);
    CHECK(!stage_open(&pipeline, (Places){"", NULL, NULL}, (Sizes){0}, 0, &stage).exit,
          "not opened");
    CHECK(!stage_start(stage, 0, RECORDS / BATCH, workers, &team).exit, "not started");
    CHECK(settled() == batches * BATCH, "@threads(%d) @queue(%d): %d records, not %d", threads,
          queue, made, batches * BATCH);
    CHECK(seen_count == (threads ? threads : 1), "@threads(%d): %d threads", threads, seen_count);
    for (int64_t i = 0; i < RECORDS / BATCH; i++) {
        const Batch *batch;
        CHECK(!stage_take(stage, &batch).exit, "batch %lld failed", (long long)i);
        CHECK(*(int32_t *)batch->arrays[0] == i * BATCH, "batch %lld is another", (long long)i);
        stage_release(stage);
    }
    stage_close(stage);
}

/* Nobody waits for batches that nobody wants. */
static void check_stop(void) {
    FlowPipeline pipeline = pipeline_of(2, 20);
    Team team = {.threads = 1};
    Stage *stage;
    made = 0;
    pace = 5000000;
    CHECK(!stage_open(&pipeline, (Places){"", NULL, NULL}, (Sizes){0}, 0, &stage).exit,
          "not opened");
    CHECK(!stage_start(stage, 0, RECORDS / BATCH, 2, &team).exit, "not started");
    stage_close(stage);
    CHECK(made <= 2 * 2 * BATCH, "%d records are made after the stop", made);
    pace = 0;
}

static void check_command_line_wins(void) {
    FlowPipeline pipeline = pipeline_of(3, 0);
    Settings settings = {.workers = 5};
    CHECK(settings_workers(&settings, &pipeline, 5) == 3, "the program's threads are not used");
    settings.has_workers = true;
    CHECK(settings_workers(&settings, &pipeline, 5) == 5, "--workers does not win");
}

static void check_command_line_counts(void) {
    FlowTrain train = {.name = "fit"};
    FlowProgram program = {.name = "test", .trains = &train, .train_count = 1};
    char *arguments[] = {"test", "--workers=40", "--threads=30", NULL};
    Settings settings;
    CHECK(!settings_parse(3, arguments, &program, &settings).exit, "not parsed");
    CHECK(settings.workers == 40, "--workers=40 is %d", settings.workers);
    CHECK(settings.threads == 30, "--threads=30 is %d", settings.threads);
    settings_free(&settings);
}

int main(void) {
    check_queue(1, 1, 2);
    check_queue(1, 5, 6);
    check_queue(2, 5, 6);
    check_queue(3, 0, 12);
    check_queue(0, 3, 4);
    check_stop();
    check_command_line_wins();
    check_command_line_counts();
    return test_result();
}
