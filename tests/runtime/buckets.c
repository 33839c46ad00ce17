/* Batches of records of like length: each record comes once an epoch, in a batch whose size is the
 * smallest that it fits in, in the same order for any number of workers. */
#include "tests/runtime/numbers.h"

#include <string.h>

enum { RECORDS = 1003, BATCH = 8, MOST = 40, EPOCHS = 2, WINDOW = 100 };

static const int64_t smaller[] = {4, 16};

/* Few are long. */
static int64_t length_of(int64_t record) {
    return record % 7 ? record % 5 : record * 37 % MOST + 1;
}

static int64_t size_of(int64_t record) {
    int64_t length = length_of(record);
    return length <= smaller[0] ? smaller[0] : length <= smaller[1] ? smaller[1] : MOST;
}

static const FlowSource numbers = NUMBERS(.make = make_number);

static int64_t size_t_of(int64_t batch, const int64_t *sizes) {
    (void)batch;
    return sizes[0];
}

static const FlowBound bound = {"T", MOST};
static FlowSize *const sizes[] = {size_t_of};
static const FlowProgram program = {
    .name = "buckets", .bounds = &bound, .bound_count = 1, .sizes = sizes};

static int64_t ask_length(char *memory, const int64_t *values, const FlowRows *rows,
                          FlowUnmet *unmet) {
    (void)memory, (void)values, (void)unmet;
    for (int64_t row = 0; row < rows->count; row++)
        ((int64_t *)rows->outputs[0])[row] =
            length_of(*(const int32_t *)rows->fields[row * rows->stride]);
    return rows->count;
}

static int64_t fill_row(char *memory, const int64_t *values, const FlowRows *rows,
                        FlowUnmet *unmet) {
    (void)memory, (void)unmet;
    for (int64_t row = 0; row < rows->count; row++)
        for (int64_t i = 0; i < values[0]; i++)
            ((int64_t *)rows->outputs[0])[row * values[0] + i] =
                *(const int32_t *)rows->fields[row * rows->stride];
    return rows->count;
}

static const FlowField output = {.name = "row", .type = {FLOW_i64, 1, {~0}}};

static const FlowOrder orders[][2] = {
    {{.kind = FLOW_ORDER_bucket, .condition = ask_length, .sizes = smaller, .size_count = 2}},
    {{.kind = FLOW_ORDER_bucket, .condition = ask_length, .sizes = smaller, .size_count = 2},
     {.kind = FLOW_ORDER_shuffle, .number = 7, .each_epoch = true}},
    {{.kind = FLOW_ORDER_bucket, .condition = ask_length, .sizes = smaller, .size_count = 2},
     {.kind = FLOW_ORDER_shuffle, .number = 7, .each_epoch = true, .window = WINDOW}},
};
enum { PLAIN, SHUFFLED, NEAR };

/* What came, in order. */
typedef struct Seen {
    int64_t records[EPOCHS * RECORDS];
    int64_t count;
} Seen;

static void look_at(const Batch *batch, bool last_ones, Seen *seen) {
    const int64_t *row = batch->arrays[0];
    CHECK(batch->records == BATCH || last_ones, "a batch of %lld", (long long)batch->records);
    for (int64_t i = 0; i < batch->records; i++, row += batch->sizes[0]) {
        CHECK(batch->sizes[0] == size_of(row[0]), "record %lld in a batch of size %lld",
              (long long)row[0], (long long)batch->sizes[0]);
        CHECK(row[0] == row[batch->sizes[0] - 1], "the row of record %lld", (long long)row[0]);
        seen->records[seen->count++] = row[0];
    }
}

static void run(int which, int workers, Seen *seen) {
    FlowSection section = number_section;
    section.orders = orders[which];
    section.order_count = which == PLAIN ? 1 : 2;
    section.record = fill_row;
    section.outputs = &output;
    FlowPipeline pipeline = numbers_pipeline(&numbers, RECORDS, BATCH);
    pipeline.sections = &section;
    static const int64_t values[] = {MOST};
    Team team = {.threads = 1};
    Stage *stage;
    CHECK(!stage_open(&pipeline, (Places){.folder = ""}, (Sizes){&program, values}, 0, &stage).exit,
          "not opened");
    CHECK(stage_records(stage) == RECORDS, "%lld records", (long long)stage_records(stage));
    int64_t batches = stage_batches(stage), full = batches - 3;
    CHECK(!stage_start(stage, NULL, EPOCHS * batches, workers, &team).exit, "not started");
    seen->count = 0;
    for (int64_t i = 0; i < EPOCHS * batches; i++) {
        const Batch *batch;
        CHECK(!stage_take(stage, &batch).exit, "batch %lld failed", (long long)i);
        look_at(batch, i % batches >= full, seen);
        stage_fill_next(stage, 0, 1);
        stage_release(stage);
    }
    stage_close(stage);
}

static void check_each_once(const Seen *seen) {
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        int come[RECORDS] = {0};
        for (int i = 0; i < RECORDS; i++) come[seen->records[epoch * RECORDS + i]]++;
        for (int i = 0; i < RECORDS; i++)
            CHECK(come[i] == 1, "record %d came %d times in epoch %d", i, come[i], epoch);
    }
}

static bool epochs_differ(const Seen *seen) {
    return memcmp(seen->records, seen->records + RECORDS, RECORDS * sizeof *seen->records) != 0;
}

/* As they stand: those of a bucket in their order, and full batches as they become full. */
static void check_order(const Seen *seen) {
    int64_t last[MOST + 1], fullest = -1;
    memset(last, -1, sizeof last);
    for (int64_t i = 0; i < seen->count / EPOCHS; i++) {
        int64_t record = seen->records[i], size = size_of(record);
        CHECK(record > last[size], "record %lld behind %lld", (long long)record,
              (long long)last[size]);
        last[size] = record;
        if (i % BATCH != BATCH - 1 || i > RECORDS - 3 * BATCH) continue;
        CHECK(record > fullest, "a batch that was full later comes first");
        fullest = record;
    }
}

/* A record stays near its place: records of its bucket may be thin, so by a few windows. */
static void check_near(const Seen *seen) {
    int far = 0;
    for (int i = 0; i < RECORDS - 3 * BATCH; i++)
        far += labs((long)seen->records[i] - i) > 4 * WINDOW;
    CHECK(far == 0, "%d records are far from their place", far);
}

int main(void) {
    static Seen seen, again;
    for (int which = PLAIN; which <= NEAR; which++) {
        run(which, 0, &seen);
        check_each_once(&seen);
        CHECK(epochs_differ(&seen) == (which != PLAIN), "epochs of %d", which);
        if (which == PLAIN) check_order(&seen);
        if (which == NEAR) check_near(&seen);
        run(which, 3, &again);
        CHECK(!memcmp(&seen, &again, sizeof seen), "three workers give another order");
    }
    return test_result();
}
