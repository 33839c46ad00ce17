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
    LOOK = 8, /* batches from one look at who was done last to the next */
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
    ahead->batch = batch->number;
    ahead->shuffle = records_shuffle(stage->source, batch->epoch, batch->bucket);
    ahead->first = ahead->found = ahead->asked = 0;
}

/* Of the batch that the team makes: each thread begins its own. */
static Ahead *ahead_of(const Stage *stage, const Batch *batch, Hand *hand) {
    if (hand->ahead.batch != batch->number) begin_ahead(stage, batch, &hand->ahead);
    return &hand->ahead;
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

/* Is a whole share known to take no longer than a turn? */
static bool is_one_turn(const Stage *stage, const Hand *hand, int64_t share) {
    int64_t time = cost_of_record(&hand->costs);
    return !stage->section->together && time && time <= TURN / (share + 1);
}

/* The rows [*first, *end) that the thread begins with, as kernels share them: thread 0 the last
 * ones. */
static void share_of(const Stage *stage, const Batch *batch, int thread, int64_t *first,
                     int64_t *end) {
    const int64_t own = batch->rows - batch->rows * (stage->share_count - 1) / stage->share_count;
    const int64_t lead = stage->whole_shares ? least(stage->lead, own / 2) : 0;
    const int64_t rows = batch->rows - own + lead, others = stage->share_count - 1;
    *first = thread ? rows * (others - thread) / others : rows;
    *end = thread ? rows * (others - thread + 1) / others : batch->rows;
}

/* Thread 0 has more to do for a step than the others: it makes one row less, or more again, once it
 * was often behind them, or ahead, by more than a row takes. */
static void balance_shares(Stage *stage) {
    enum { ENOUGH = 8, LEAD_MOST = 64 };
    const int64_t row = cost_of_record(&stage->hands[0]->costs);
    int64_t latest = 0;
    for (int i = 1; i < stage->share_count; i++)
        if (stage->hands[i]->ended > latest) latest = stage->hands[i]->ended;
    const int64_t behind = stage->hands[0]->ended - latest;
    stage->behind += behind > row ? 1 : behind < -row ? -1 : 0;
    if (stage->behind > -ENOUGH && stage->behind < ENOUGH) return;
    const int64_t lead = stage->lead + (stage->behind > 0 ? 1 : -1);
    if (lead >= 0 && lead <= LEAD_MOST) stage->lead = (int)lead;
    stage->behind = 0;
}

/* What threads look at all the time is not written once more, which would take it from them. */
void share_batch(Stage *stage, const Batch *batch, int threads) {
    const bool whole = is_one_turn(stage, stage->hands[0], batch->rows / threads);
    if (stage->share_count != threads) stage->share_count = threads;
    if (stage->whole_shares != whole) stage->whole_shares = whole;
    if (whole && threads > 1 && stage->delivered % LOOK == 0) balance_shares(stage);
    for (int i = 0; i < threads && !whole; i++) {
        int64_t first;
        share_of(stage, batch, i, &first, &stage->shares[i].end);
        stage->shares[i].next = first;
    }
}

/* Rows. */
static int64_t turn_of(const Stage *stage, const Hand *hand, int64_t share) {
    if (stage->section->together) return stage->section->together;
    int64_t time = cost_of_record(&hand->costs);
    return time ? least(TURN / time, share / LEAST_TURNS) + 1 : share / TURNS + 1;
}

void ask_for_share(Stage *stage, const Batch *batch, int thread) {
    Ahead *ahead = ahead_of(stage, batch, stage->hands[thread]);
    int64_t first, end;
    share_of(stage, batch, thread, &first, &end);
    RecordList list = list_of(stage, batch, ahead, first, first, end);
    for (int i = list.asked; i < least(list.known, FLOW_ROWS_AHEAD); i++)
        records_prefetch(stage->source, list.records[i], batch->epoch);
}

/* Those of which one turn makes a share. */
static void make_whole_shares(const Stage *stage, Batch *batch, Hand *hand, int thread,
                              int threads) {
    for (int64_t first, end; thread < stage->share_count; thread += threads) {
        share_of(stage, batch, thread, &first, &end);
        make_rows(stage, batch, hand, ahead_of(stage, batch, hand), first, end, end);
    }
}

/* Its own share first, since it lies in its cache. */
static void make_turns(const Stage *stage, Batch *batch, Hand *hand, int thread, int threads) {
    const int64_t turn = turn_of(stage, hand, batch->rows / threads);
    Ahead *ahead = ahead_of(stage, batch, hand);
    for (int i = 0; i < stage->share_count; i++) {
        Share *share = &stage->shares[(thread + i) % stage->share_count];
        for (int64_t row; (row = atomic_fetch_add(&share->next, turn)) < share->end;)
            make_rows(stage, batch, hand, ahead, row, least(row + turn, share->end), share->end);
    }
}

void make_share(Stage *stage, Batch *batch, int thread, int threads) {
    Hand *hand = stage->hands[thread];
    int64_t before = clock_nanoseconds();
    const int64_t begun = timeline_begin();
    beat_begin(&hand->beat, making);
    if (stage->whole_shares) make_whole_shares(stage, batch, hand, thread, threads);
    else make_turns(stage, batch, hand, thread, threads);
    beat_end(&hand->beat);
    hand->ended = clock_nanoseconds();
    hand->busy += hand->ended - before;
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
