/* A pipeline's own threads make its batches, and as many lie ready as its queue is long. */
#include "runtime/clock.h"
#include "runtime/holdings.h"
#include "runtime/settings.h"
#include "tests/runtime/numbers.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS = 64, BATCH = 2, PATIENCE = 60000 /* ms */, THREADS_SEEN = 16 };

static atomic_int made;              /* records */
static atomic_long pace;             /* nanoseconds that one takes */
static atomic_int taken, most_ahead; /* records; of those made and not taken */
static atomic_int blocked = -1;      /* the record that is not made while it is this one */
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

static const FlowSource numbers = NUMBERS(.point = point_at_numbers);

static void make_one(int32_t number, int32_t *output) {
    note_thread();
    nanosleep(&(struct timespec){.tv_nsec = pace}, NULL);
    *output = number;
    while (blocked == number) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    int ahead = ++made - taken;
    if (ahead > most_ahead) most_ahead = ahead;
}

static int64_t make(char *memory, const int64_t *sizes, const FlowRows *rows, FlowUnmet *unmet) {
    (void)memory, (void)sizes, (void)unmet;
    for (int64_t i = 0; i < rows->count; i++)
        make_one(*(const int32_t *)rows->fields[i * rows->stride], (int32_t *)rows->outputs[0] + i);
    return rows->count;
}

static const FlowSection section = {.window = 1,
                                    .stride = 1,
                                    .fields = &number_field,
                                    .field_count = 1,
                                    .record = make,
                                    .outputs = &number_field,
                                    .output_count = 1};

static FlowPipeline pipeline_of(int threads, int queue) {
    FlowPipeline pipeline = numbers_pipeline(&numbers, RECORDS, BATCH);
    pipeline.sections = &section;
    pipeline.threads = threads;
    pipeline.queue = queue;
    return pipeline;
}

/* Waits until so many records are made. */
static bool come(int records) {
    for (int i = 0; i < PATIENCE && made < records; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return made >= records;
}

static Stage *opened(const FlowPipeline *pipeline) {
    made = taken = most_ahead = seen_count = 0;
    return open_stage(pipeline);
}

/* Takes a batch and gives it back; its number. */
static int64_t next_batch(Stage *stage) {
    const Batch *batch;
    CHECK(!stage_take(stage, &batch).exit, "a batch failed");
    int64_t number = batch->number;
    CHECK(((int32_t *)batch->arrays[0])[1] == number * BATCH % RECORDS + 1, "batch %lld is another",
          (long long)number);
    taken += BATCH;
    stage_release(stage);
    return number;
}

static void check_queue(int threads, int queue, int batches) {
    FlowPipeline pipeline = pipeline_of(threads, queue);
    FlowProgram program = {.name = "test"};
    Settings settings = {.program = &program};
    Team team = {.threads = 1};
    Stage *stage = opened(&pipeline);
    int workers = settings_workers(&settings, &pipeline, 0);
    CHECK(!stage_start(stage, NULL, RECORDS / BATCH, workers, &team).exit, "not started");
    CHECK(come(batches * BATCH), "@threads(%d) @queue(%d): %d records, not %d", threads, queue,
          made, batches * BATCH);
    for (int64_t i = 0; i < RECORDS / BATCH; i++)
        CHECK(next_batch(stage) == i, "batch %lld is another", (long long)i);
    CHECK(most_ahead <= batches * BATCH, "@threads(%d) @queue(%d): %d records ahead, not %d",
          threads, queue, most_ahead, batches * BATCH);
    CHECK(seen_count <= (threads ? threads : 1), "@threads(%d): %d threads", threads, seen_count);
    stage_close(stage);
}

/* While a record blocks one of two workers, the other one goes on: as far as slots reach when
 * batches are ordered, to the end of the epoch when they are not. */
static void check_overtaking(bool unordered) {
    enum { BATCHES = RECORDS / BATCH, SLOTS = 8 };
    FlowPipeline pipeline = pipeline_of(2, 0);
    Team team = {.threads = 1};
    Stage *stage = opened(&pipeline);
    bool seen[2 * BATCHES] = {false};
    pipeline.unordered = unordered;
    blocked = 5 * BATCH;
    CHECK(!stage_start(stage, NULL, 2 * BATCHES, 2, &team).exit, "not started");
    int before = unordered ? BATCHES - 1 : 5;
    for (int i = 0; i < before; i++) seen[next_batch(stage)] = true;
    CHECK(!seen[5], "what is not made is given");
    for (int i = 0; i < BATCHES; i++)
        CHECK(seen[i] == (i < 5 || (unordered && i != 5)), "batch %d", i);
    CHECK(come((before + SLOTS / 2) * BATCH), "only %d records while one blocks", made);
    blocked = -1;
    for (int i = before; i < 2 * BATCHES; i++) {
        int64_t number = next_batch(stage);
        CHECK(!seen[number], "batch %lld comes twice", (long long)number);
        CHECK((number < BATCHES) == (i < BATCHES), "batch %lld in another epoch",
              (long long)number);
        CHECK(unordered || number == i, "batch %lld is %d", (long long)number, i);
        seen[number] = true;
    }
    stage_close(stage);
}

/* What was done when a run ended is not made again, and nothing is lost. */
static void check_resume(void) {
    enum { BATCHES = RECORDS / BATCH };
    FlowPipeline pipeline = pipeline_of(2, 0);
    Team team = {.threads = 1};
    Stage *stage = opened(&pipeline);
    bool seen[BATCHES] = {false};
    char text[PROGRESSION_TEXT_SIZE];
    Progression done;
    pipeline.unordered = true;
    blocked = 3 * BATCH;
    CHECK(!stage_start(stage, NULL, BATCHES, 2, &team).exit, "not started");
    for (int i = 0; i < 10; i++) seen[next_batch(stage)] = true;
    progression_text(stage_done(stage), text);
    blocked = -1;
    stage_close(stage);
    CHECK(progression_parse(text, 10, &done) && done.low == 3, "`%s` is not read back", text);
    stage = opened(&pipeline);
    CHECK(!stage_start(stage, &done, BATCHES, 1, &team).exit, "not started again");
    for (int i = 10; i < BATCHES; i++) {
        int64_t number = next_batch(stage);
        CHECK(!seen[number], "batch %lld comes twice", (long long)number);
        seen[number] = true;
    }
    stage_close(stage);
}

/* A damaged text is not taken. */
static void check_progression(void) {
    char text[PROGRESSION_TEXT_SIZE];
    Progression done = {.low = 7};
    progression_add(&done, 9);
    progression_add(&done, 7 + OVERTAKE_LIMIT - 1);
    CHECK(progression_beyond(&done) == 2 && progression_has(&done, 9) && !progression_has(&done, 8),
          "9 is not done alone");
    progression_text(&done, text);
    Progression read;
    CHECK(progression_parse(text, 9, &read) && !memcmp(&read, &done, sizeof done), "%s", text);
    progression_add(&done, 7);
    progression_add(&done, 8);
    CHECK(done.low == 10 && progression_beyond(&done) == 1, "%lld", (long long)done.low);
    progression_text(&(Progression){.low = 3}, text);
    CHECK(!*text, "`%s` is not nothing", text);
    CHECK(!progression_parse("1", 5, &read) && !progression_parse("4g", 5, &read) &&
              !progression_parse("e", 2, &read),
          "a damaged text is taken");
}

enum { SCARCE = 5 /* the record that is made only when it is asked for again */ };
static atomic_int scarce_asked;

static bool make_scarce(const FlowReader *reader, int64_t record, void *const *values,
                        FlowStatus *failure) {
    if (record == SCARCE && !atomic_fetch_add(&scarce_asked, 1)) return false;
    return make_number(reader, record, values, failure);
}

/* A record that one thread has no memory for, and another one has, is none that may be left out. */
static void check_scarcity(FlowOnError on_error, int workers) {
    static const FlowSource scarce = NUMBERS(.make = make_scarce);
    FlowPipeline pipeline = pipeline_of(0, 0);
    Team team = {.threads = 1};
    const Batch *batch;
    FlowStatus status = flow_ok;
    scarce_asked = 0;
    pipeline.source = &scarce;
    pipeline.on_error = on_error;
    Stage *stage = opened(&pipeline);
    CHECK(!stage_start(stage, NULL, RECORDS / BATCH, workers, &team).exit, "not started");
    for (int i = 0; i < RECORDS / BATCH && !status.exit; i++) {
        status = stage_take(stage, &batch);
        if (status.exit) continue;
        stage_fill_next(stage, 0, 1);
        stage_release(stage);
    }
    CHECK(status.exit == FLOW_EXIT_resource, "exit %d: %s", status.exit, status.text);
    stage_close(stage);
}

static atomic_int asked_of_memory[RECORDS];

static void ask_memory(const FlowReader *reader, int64_t record) {
    (void)reader;
    asked_of_memory[record]++;
}

/* The first records of a batch are asked for before the step's work, and not once more after it. */
static void check_asking(void) {
    static const FlowSource far = NUMBERS(.make = make_number, .prefetch = ask_memory);
    FlowPipeline pipeline = pipeline_of(0, 0);
    Team team = {.threads = 1};
    const Batch *batch;
    pipeline.source = &far;
    Stage *stage = opened(&pipeline);
    CHECK(!stage_start(stage, NULL, 2, 0, &team).exit, "not started");
    CHECK(!stage_take(stage, &batch).exit, "no batch");
    memset(asked_of_memory, 0, sizeof asked_of_memory);
    stage_ask_next(stage, 0);
    CHECK(asked_of_memory[BATCH] == 1, "the first record is not asked for");
    stage_fill_next(stage, 0, 1);
    for (int i = 0; i < RECORDS; i++)
        CHECK(asked_of_memory[i] <= (i / BATCH == 1), "%d was asked for %d times", i,
              asked_of_memory[i]);
    stage_release(stage);
    next_batch(stage);
    stage_close(stage);
}

/* During a step the batch that comes next is asked for, unless the team is still to make it. */
static void check_next_values(int workers) {
    FlowPipeline pipeline = pipeline_of(workers, workers ? 5 : 0);
    Team team = {.threads = 1};
    const Batch *batch;
    Stage *stage = opened(&pipeline);
    CHECK(!stage_start(stage, NULL, RECORDS / BATCH, workers, &team).exit, "not started");
    CHECK(!workers || come(6 * BATCH), "the queue is not full");
    CHECK(!stage_take(stage, &batch).exit, "no batch");
    const FlowAsked *asked = stage_asked(stage);
    CHECK(!asked == !workers, "with %d workers", workers);
    const FlowAsked next = asked ? *asked : (FlowAsked){0};
    stage_fill_next(stage, 0, 1);
    stage_release(stage);
    CHECK(!stage_take(stage, &batch).exit, "no other batch");
    const char *values = batch->arrays[0];
    CHECK(!asked || (next.next == values && next.end == values + BATCH * sizeof(int32_t)),
          "other values are asked for");
    stage_fill_next(stage, 0, 1);
    stage_release(stage);
    stage_close(stage);
}

enum { TEAM = 3, ROWS = 24, TEAM_BATCHES = 601, LATE_NS = 20000, SLOW_NS = 4000 };

static int maker;                /* the thread */
static atomic_int rows_of[TEAM]; /* that each has made of a batch; of the first one all at once */

static int64_t make_fast(char *memory, const int64_t *sizes, const FlowRows *rows,
                         FlowUnmet *unmet) {
    (void)memory, (void)sizes, (void)unmet;
    for (int64_t i = 0; i < rows->count; i++)
        ((int32_t *)rows->outputs[0])[i] = *(const int32_t *)rows->fields[i * rows->stride];
    rows_of[maker] += (int)rows->count;
    return rows->count;
}

/* Thread 0 is done last, and later. Returns what a share took. */
static int64_t make_by_team(Stage *stage) {
    for (int i = 0; i < TEAM; i++) rows_of[i] = 0;
    const int64_t begun = clock_nanoseconds();
    for (maker = TEAM - 1; maker > 0; maker--) stage_fill_next(stage, maker, TEAM);
    const int64_t time = (clock_nanoseconds() - begun) / (TEAM - 1);
    while (clock_nanoseconds() - begun < LATE_NS) continue;
    stage_fill_next(stage, 0, TEAM);
    return time;
}

/* The team's shares of a batch are all of its rows; in the end less are thread 0's, as long as
 * nobody helps, since shares are made in no time. */
static void check_team(void) {
    FlowSection fast = section;
    FlowPipeline pipeline = pipeline_of(0, 0);
    Team team = {.threads = TEAM};
    int64_t least_time = INT64_MAX;
    fast.record = make_fast;
    pipeline.sections = &fast;
    pipeline.batch = ROWS;
    Stage *stage = opened(&pipeline);
    CHECK(!stage_start(stage, NULL, TEAM_BATCHES + 1, 0, &team).exit, "not started");
    for (int64_t i = 0; i < TEAM_BATCHES; i++) {
        const Batch *batch;
        CHECK(!stage_take(stage, &batch).exit, "no batch");
        const int64_t first = i % ((RECORDS - 1) / ROWS + 1) * ROWS;
        for (int64_t row = 0; row < batch->rows; row++)
            CHECK(((int32_t *)batch->arrays[0])[row] == first + row, "row %lld of batch %lld",
                  (long long)row, (long long)i);
        const int64_t time = make_by_team(stage);
        if (time < least_time) least_time = time;
        stage_release(stage);
    }
    CHECK(rows_of[0] < ROWS / TEAM || least_time > SLOW_NS, "thread 0 makes %d rows", rows_of[0]);
    stage_close(stage);
}

/* While there is no memory for what the team makes batches with, workers go on making them. */
static void check_poor_team(void) {
    FlowPipeline pipeline = pipeline_of(0, 0);
    Team team = {.threads = 2};
    Stage *stage = opened(&pipeline);
    stage_allow(stage, 1);
    CHECK(!stage_start(stage, NULL, RECORDS / BATCH, 1, &team).exit, "not started");
    holdings_limit(holdings_sum());
    for (int i = 0; i < 2; i++) {
        CHECK(stage_set_workers(stage, 0) == 1, "the team makes batches without scratch");
        next_batch(stage);
    }
    holdings_limit(0);
    CHECK(stage_set_workers(stage, 0) == 0, "the team still makes none");
    stage_close(stage);
}

/* Nobody waits for batches that nobody wants. */
static void check_stop(void) {
    FlowPipeline pipeline = pipeline_of(2, 20);
    Team team = {.threads = 1};
    Stage *stage = opened(&pipeline);
    pace = 5000000;
    CHECK(!stage_start(stage, NULL, RECORDS / BATCH, 2, &team).exit, "not started");
    stage_close(stage);
    CHECK(made <= 2 * 2 * BATCH, "%d records are made after the stop", made);
    pace = 0;
}

/* A batch costs what its records do, also one that is not full. */
static void check_cost(void) {
    FlowPipeline pipeline = pipeline_of(1, 0);
    pipeline.batch = 16 * RECORDS;
    Team team = {.threads = 1};
    Stage *stage = opened(&pipeline);
    pace = 1000000;
    int64_t before = clock_nanoseconds();
    CHECK(!stage_start(stage, NULL, 1, 1, &team).exit, "not started");
    next_batch(stage);
    double elapsed = (double)(clock_nanoseconds() - before);
    Bottleneck bottleneck = stage_bottleneck(stage);
    CHECK(!strcmp(bottleneck.name, "map"), "%s takes longest", bottleneck.name);
    CHECK(bottleneck.time >= 0.9 * RECORDS * (double)pace && bottleneck.time <= elapsed,
          "%.0f ns a batch of %.0f ns", bottleneck.time, elapsed);
    stage_close(stage);
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
    check_overtaking(false);
    check_overtaking(true);
    check_resume();
    check_progression();
    for (int workers = 0; workers <= 1; workers++) {
        check_scarcity(FLOW_ON_ERROR_stop, workers);
        check_scarcity(FLOW_ON_ERROR_skip, workers);
    }
    check_poor_team();
    check_team();
    check_asking();
    check_next_values(0);
    check_next_values(1);
    check_stop();
    check_cost();
    check_command_line_wins();
    check_command_line_counts();
    return test_result();
}
