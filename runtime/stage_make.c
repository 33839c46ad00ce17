/* Stage_make: the rows of a batch, by one thread or by a team. */
#include "runtime/clock.h"
#include "runtime/least.h"
#include "runtime/stage_state.h"
#include "runtime/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN = 5000, /* nanoseconds in which no other thread of the team can help */
    TURNS = 16,  /* of a share, as long as nobody knows how long a record takes; then at least: */
    LEAST_TURNS = 4,
};

/* Makes the first ones of the list from that row on; returns how many. */
static int make_records(const Stage *stage, const RecordList *list, char *scratch,
                        const Batch *batch, int64_t row, FlowStatus *failure) {
    void *outputs[FIELD_LIMIT];
    for (int i = 0; i < stage->section->output_count; i++)
        outputs[i] = (char *)batch->arrays[i] + (size_t)row * batch->row_sizes[i];
    return records_make_each(stage->source, list, batch->epoch, batch->bucket, scratch, outputs,
                             failure);
}

/* Is it of no use to make the row? */
static bool is_behind_failure(const Batch *batch, int64_t row) {
    return !batch->rejected && row > atomic_load_explicit(&batch->failure, memory_order_relaxed);
}

static void begin_ahead(const Stage *stage, const Batch *batch, Ahead *ahead) {
    ahead->shuffle = records_shuffle(stage->source, batch->epoch, batch->bucket);
    ahead->first = ahead->found = ahead->asked = 0;
}

/* From the row on, which is the next one to be made, up to `last`. */
static void find_more(const Stage *stage, const Batch *batch, Ahead *ahead, int64_t row,
                      int64_t last) {
    int64_t left = ahead->found - row, begin = ahead->found;
    memmove(ahead->records, &ahead->records[row - ahead->first], (size_t)left * sizeof(int64_t));
    ahead->first = row;
    ahead->found = least(row + RECORDS_KNOWN, last);
    for (int64_t i = begin; i < ahead->found; i++) ahead->records[i - row] = batch->first + i;
    records_find_each(stage->source, &ahead->shuffle, &ahead->records[left],
                      (int)(ahead->found - begin));
}

/* The list of the rows up to `end`, and of those behind them that are likely to be made next. */
static RecordList list_of(const Stage *stage, const Batch *batch, Ahead *ahead, int64_t row,
                          int64_t end, int64_t last) {
    if (row < ahead->first || row > ahead->found) ahead->first = ahead->found = ahead->asked = row;
    if (ahead->found < least(end + FLOW_ROWS_AHEAD, last))
        find_more(stage, batch, ahead, row, last);
    int64_t asked = ahead->asked > row ? ahead->asked - row : 0;
    ahead->asked = least(end + FLOW_ROWS_AHEAD, ahead->found);
    return (RecordList){.records = &ahead->records[row - ahead->first],
                        .count = (int)(end - row),
                        .known = (int)(ahead->found - row),
                        .asked = (int)asked};
}

static void note_failure(Batch *batch, int64_t row) {
    least_note(&batch->failure, row);
    if (batch->rejected) batch->rejected[row] = true;
}

/* Rows from one look at what others do to the next. */
static int64_t rows_at_once(const Stage *stage, const Hand *hand) {
    if (stage->section->together) return stage->section->together;
    int64_t time = cost_of_record(&hand->costs);
    return time ? least(TURN / time + 1, RECORDS_AT_ONCE) : 1;
}

/* last: of the rows that are likely to be made by the same thread. */
static void make_rows(const Stage *stage, Batch *batch, Hand *hand, Ahead *ahead, int64_t first,
                      int64_t end, int64_t last) {
    int64_t most = rows_at_once(stage, hand);
    for (int64_t row = first; row < end && !is_behind_failure(batch, row);) {
        RecordList list = list_of(stage, batch, ahead, row, least(row + most, end), last);
        beat_at(&hand->beat, list.records[0]);
        cost_begin(&hand->costs, list.count);
        int made = make_records(stage, &list, hand->scratch, batch, row, NULL);
        cost_end(&hand->costs, list.count);
        if (made < list.count) note_failure(batch, row + made++);
        row += made;
    }
}

void begin_batch(const Stage *stage, Batch *batch, int64_t rows) {
    batch->sizes = records_sizes(stage->source, batch->bucket);
    batch->row_sizes = records_output_sizes(stage->source, batch->bucket);
    batch->records = batch->rows = rows;
    batch->failure = NO_FAILURE;
    if (batch->rejected) memset(batch->rejected, 0, (size_t)rows);
}

void number_batch(const Stage *stage, Batch *batch, int64_t number) {
    batch->number = number;
    batch->epoch = number / stage->batches;
    BatchPlace place = records_batch(stage->source, batch->epoch, number % stage->batches);
    batch->first = place.first;
    batch->bucket = place.bucket;
    begin_batch(stage, batch, place.records);
}

static const char making[] = "makes a record";

static void note_made(const Stage *stage, const Batch *batch, int64_t begun, const char *what) {
    char name[256], detail[64];
    const FlowPipeline *pipeline = stage->pipeline;
    if (!begun) return;
    snprintf(name, sizeof name, "%s: %s `%s`", pipeline->line ? pipeline->line : "?", what,
             pipeline->name);
    snprintf(detail, sizeof detail, "batch %lld", (long long)batch->number);
    timeline_end(begun, name, detail);
}

void make_batch(const Stage *stage, Batch *batch, Hand *hand) {
    const int64_t begun = timeline_begin();
    begin_ahead(stage, batch, &hand->ahead);
    beat_begin(&hand->beat, making);
    make_rows(stage, batch, hand, &hand->ahead, 0, batch->rows, batch->rows);
    beat_end(&hand->beat);
    note_made(stage, batch, begun, "a batch of");
}

void share_batch(Stage *stage, const Batch *batch, int threads) {
    for (int i = 0; i < threads; i++) {
        const int share = threads - 1 - i; /* as kernels share its rows */
        begin_ahead(stage, batch, &stage->hands[i]->ahead);
        stage->shares[i].next = batch->rows * share / threads;
        stage->shares[i].end = batch->rows * (share + 1) / threads;
    }
    stage->share_count = threads;
}

/* Rows. */
static int64_t turn_of(const Stage *stage, const Hand *hand, int64_t share) {
    if (stage->section->together) return stage->section->together;
    int64_t time = cost_of_record(&hand->costs);
    return time ? least(TURN / time, share / LEAST_TURNS) + 1 : share / TURNS + 1;
}

void ask_for_share(Stage *stage, const Batch *batch, int thread) {
    const Share *share = &stage->shares[thread];
    int64_t first = share->next;
    RecordList list = list_of(stage, batch, &stage->hands[thread]->ahead, first, first, share->end);
    for (int i = list.asked; i < least(list.known, FLOW_ROWS_AHEAD); i++)
        records_prefetch(stage->source, list.records[i], batch->epoch);
}

/* Is a whole share known to take no longer than a turn? */
static bool is_one_turn(const Stage *stage, const Hand *hand, int64_t share) {
    int64_t time = cost_of_record(&hand->costs);
    return !stage->section->together && time && time <= TURN / (share + 1);
}

/* Its own share first, since it lies in its cache; and no other where one turn makes a share and
 * each has its thread. */
void make_share(Stage *stage, Batch *batch, int thread, int threads) {
    Hand *hand = stage->hands[thread];
    int64_t rows = batch->rows / threads;
    bool at_once = is_one_turn(stage, hand, rows);
    int64_t turn = at_once ? rows + 1 : turn_of(stage, hand, rows);
    int shares = at_once && threads == stage->share_count ? 1 : stage->share_count;
    int64_t before = clock_nanoseconds();
    const int64_t begun = timeline_begin();
    Ahead *ahead = &hand->ahead;
    beat_begin(&hand->beat, making);
    for (int i = 0; i < shares; i++) {
        Share *share = &stage->shares[(thread + i) % stage->share_count];
        for (int64_t row; (row = atomic_fetch_add(&share->next, turn)) < share->end;)
            make_rows(stage, batch, hand, ahead, row, least(row + turn, share->end), share->end);
    }
    beat_end(&hand->beat);
    hand->busy += clock_nanoseconds() - before;
    note_made(stage, batch, begun, "its share of a batch of");
}

FlowStatus failure_of(const Stage *stage, const Batch *batch, int64_t row, int64_t *record) {
    FlowStatus failure =
        flow_failure(FLOW_EXIT_resource,
                     "pipeline `%s`: a record could only be made when it was asked "
                     "for again: there was no memory for it, or no file",
                     stage->pipeline->name);
    Permutation shuffle = records_shuffle(stage->source, batch->epoch, batch->bucket);
    *record = records_find(stage->source, &shuffle, batch->first + row);
    char *scratch = aligned_alloc(FLOW_ALIGNMENT, records_scratch(stage->source) + FLOW_ALIGNMENT);
    if (!scratch)
        return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", stage->pipeline->name);
    const RecordList list = {.records = record, .count = 1, .known = 1, .asked = 1};
    make_records(stage, &list, scratch, batch, row, &failure);
    free(scratch);
    return failure;
}
