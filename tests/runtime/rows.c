/* Several records of one call: each function is told of those that come next; one that can't be
 * made ends its call, and the others are made all the same. */
#include "runtime/clock.h"
#include "runtime/records.h"
#include "tests/runtime/numbers.h"

#include <stdatomic.h>

enum {
    RECORDS = 1000,
    BATCH = 150,
    EPOCHS = 3,
    DAMAGED = 7,  /* each so manieth */
    QUICK = 1000, /* nanoseconds: of such records a call makes several (TURN of stage_make.c) */
};

static uint8_t copied[RECORDS];
static atomic_int asked[RECORDS], most_at_once, most_ahead;

static bool point_at_both(const FlowReader *reader, const void **firsts) {
    firsts[1] = copied;
    return point_at_numbers(reader, firsts);
}

static const FlowSource numbers = NUMBERS(.point = point_at_both);

static int32_t number_of(const FlowRows *rows, int64_t row) {
    const void *const *fields = &rows->fields[row * rows->stride];
    CHECK(fields[1] == &copied[*(const int32_t *)fields[0]], "a field of another record");
    CHECK(*(const int64_t *)fields[3] < EPOCHS, "epoch %lld", *(const long long *)fields[3]);
    return *(const int32_t *)fields[0];
}

/* In the order of the source one number follows the other. */
static void look_at(const FlowRows *rows, bool in_order) {
    int32_t first = number_of(rows, 0);
    CHECK(rows->ahead >= 0 && rows->ahead <= FLOW_ROWS_AHEAD, "%lld ahead", (long long)rows->ahead);
    if (rows->count > most_at_once) most_at_once = (int)rows->count;
    if (rows->ahead > most_ahead) most_ahead = (int)rows->ahead;
    for (int64_t i = 0; in_order && i < rows->count + rows->ahead; i++)
        CHECK(number_of(rows, i) == first + i, "%d is not %lld behind %d", number_of(rows, i),
              (long long)i, first);
}

static int64_t make(const FlowRows *rows, FlowUnmet *unmet, bool in_order) {
    look_at(rows, in_order);
    for (int64_t i = 0; i < rows->count; i++) {
        int32_t number = number_of(rows, i);
        asked[number]++;
        *unmet = (FlowUnmet){1, true, .whole = number};
        if (number % DAMAGED == 0) return i;
        ((int64_t *)rows->outputs[0])[i] = number;
        ((int32_t *)rows->outputs[1])[i] = -number;
    }
    return rows->count;
}

static int64_t make_ordered(char *memory, const int64_t *sizes, const FlowRows *rows,
                            FlowUnmet *unmet) {
    (void)memory, (void)sizes;
    return make(rows, unmet, true);
}

static int64_t make_shuffled(char *memory, const int64_t *sizes, const FlowRows *rows,
                             FlowUnmet *unmet) {
    (void)memory, (void)sizes;
    return make(rows, unmet, false);
}

static const FlowField fields[] = {{.name = "a", .type = {FLOW_i32, 0, {0}}},
                                   {.name = "b", .type = {FLOW_u8, 0, {0}}}},
                       outputs[] = {{.name = "x", .type = {FLOW_i64, 0, {0}}},
                                    {.name = "y", .type = {FLOW_i32, 0, {0}}}};
static const FlowCheck checks[] = {{"another", "1", -1}, {"the damaged one", "2", -1}};
static const FlowOrder shuffle = {.kind = FLOW_ORDER_shuffle, .number = 1, .each_epoch = true};

static FlowSection section_of(bool shuffled) {
    return (FlowSection){.window = 1,
                         .stride = 1,
                         .fields = fields,
                         .field_count = 2,
                         .orders = &shuffle,
                         .order_count = shuffled,
                         .record = shuffled ? make_shuffled : make_ordered,
                         .checks = checks,
                         .outputs = outputs,
                         .output_count = 2};
}

static FlowPipeline pipeline_of(const FlowSection *section, FlowOnError on_error) {
    FlowPipeline pipeline = numbers_pipeline(&numbers, RECORDS, BATCH);
    pipeline.sections = section;
    pipeline.on_error = on_error;
    return pipeline;
}

static Stage *opened(const FlowPipeline *pipeline) {
    most_at_once = 0;
    for (int i = 0; i < RECORDS; i++) asked[i] = 0;
    return open_stage(pipeline);
}

static void add(const Batch *batch, int64_t *sum) {
    for (int64_t i = 0; i < batch->records; i++) {
        int64_t x = ((const int64_t *)batch->arrays[0])[i];
        CHECK(((const int32_t *)batch->arrays[1])[i] == -x && x % DAMAGED, "row %lld is of %lld",
              (long long)i, (long long)x);
        *sum += x;
    }
}

static void check_all(bool shuffled, int workers, int threads) {
    const FlowSection section = section_of(shuffled);
    FlowPipeline pipeline = pipeline_of(&section, FLOW_ON_ERROR_skip);
    Team team = {.threads = threads};
    Stage *stage = opened(&pipeline);
    int64_t sum = 0, expected = 0, batches = EPOCHS * stage_batches(stage);
    for (int i = 0; i < RECORDS; i++) expected += i % DAMAGED ? EPOCHS * i : 0;
    CHECK(!stage_start(stage, NULL, batches, workers, &team).exit, "not started");
    for (int64_t i = 0; i < batches; i++) {
        const Batch *batch;
        CHECK(!stage_take(stage, &batch).exit, "batch %lld failed", (long long)i);
        add(batch, &sum);
        team_run(&team, fill_next, stage);
        stage_release(stage);
    }
    CHECK(sum == expected, "%lld, not %lld", (long long)sum, (long long)expected);
    for (int i = 0; i < RECORDS; i++)
        CHECK(asked[i] == EPOCHS || i % DAMAGED == 0, "%d was made %d times", i, asked[i]);
    stage_close(stage);
}

/* Several at a time only where a record takes a moment, as it was measured now and then: a busy
 * machine may say so late. */
static void check_several(bool shuffled, int workers, int threads) {
    int64_t time = 0;
    for (int i = 0; i == 0 || (i < 100 && most_at_once < 2 && time < QUICK); i++) {
        const int64_t before = clock_nanoseconds();
        check_all(shuffled, workers, threads);
        time = (clock_nanoseconds() - before) / (RECORDS * EPOCHS);
    }
    CHECK(most_at_once > 1 || time >= QUICK, "each by itself in %lld ns", (long long)time);
}

/* All of a list are of one call, which knows those behind them, and ends at the damaged one. */
static void check_call(void) {
    enum { COUNT = 10, KNOWN = 16 };
    const FlowSection section = section_of(false);
    const FlowPipeline pipeline = pipeline_of(&section, FLOW_ON_ERROR_skip);
    Records *records;
    CHECK(!records_open(&pipeline, (Places){.folder = ""}, (Sizes){0}, 0, NULL, &records).exit,
          "not opened");
    int64_t order[KNOWN], x[COUNT];
    int32_t y[COUNT];
    for (int i = 0; i < KNOWN; i++) order[i] = DAMAGED + 1 + i;
    most_at_once = most_ahead = 0;
    char *scratch = calloc(1, records_scratch(records) + 1);
    const RecordList list = {.records = order, .count = COUNT, .known = KNOWN};
    int made = records_make_each(records, &list, 0, 0, scratch, (void *[]){x, y}, NULL);
    CHECK(made == DAMAGED - 1, "%d made", made);
    CHECK(most_at_once == COUNT && most_ahead == KNOWN - COUNT, "%d at once, %d ahead",
          most_at_once, most_ahead);
    for (int i = 0; i < made; i++)
        CHECK(x[i] == order[i] && y[i] == -x[i], "row %d is of %lld", i, (long long)x[i]);
    free(scratch);
    records_close(records);
}

/* The first one of the order ends the run; its message is that of its check. */
static void check_stop(void) {
    const FlowSection section = section_of(true);
    FlowPipeline pipeline = pipeline_of(&section, FLOW_ON_ERROR_stop);
    Team team = {.threads = 1};
    Stage *stage = opened(&pipeline);
    const Batch *batch;
    CHECK(!stage_start(stage, NULL, stage_batches(stage), 2, &team).exit, "not started");
    FlowStatus status = stage_take(stage, &batch);
    CHECK(status.exit == FLOW_EXIT_data && strstr(status.text, "the damaged one"), "`%s`",
          status.text);
    int64_t before = batch->records;
    for (int64_t i = 0; i < before; i++)
        CHECK(((const int64_t *)batch->arrays[0])[i] % DAMAGED, "row %lld", (long long)i);
    char where[64];
    stage_locate(stage, batch, before, where, sizeof where);
    CHECK(strstr(status.text, where), "`%s` is not of %s", status.text, where);
    stage_close(stage);
}

int main(void) {
    check_call();
    check_several(false, 0, 1);
    check_several(false, 2, 1);
    check_several(true, 0, 2);
    check_several(true, 3, 1);
    check_stop();
    return test_result();
}
