/* Stage_make: the rows of a batch, by one thread or by a team. */
#include "runtime/clock.h"
#include "runtime/least.h"
#include "runtime/stage_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 4,   /* records asked from memory before they are needed */
    FOUND = 64,  /* of which is known which they are */
    TURN = 5000, /* nanoseconds in which no other thread of the team can help */
    TURNS = 16,  /* of a share, as long as nobody knows how long a record takes; then at least: */
    LEAST_TURNS = 4,
};

static bool make_record(const Stage *stage, int64_t record, char *scratch, const Batch *batch,
                        int64_t row, FlowStatus *failure) {
    void *outputs[FIELD_LIMIT];
    for (int i = 0; i < stage->section->output_count; i++)
        outputs[i] = (char *)batch->arrays[i] + (size_t)row * batch->row_sizes[i];
    return records_make(stage->source, record, batch->epoch, batch->bucket, scratch, outputs,
                        failure);
}

/* Is it of no use to make the row? */
static bool is_behind_failure(const Batch *batch, int64_t row) {
    return !batch->rejected && row > atomic_load_explicit(&batch->failure, memory_order_relaxed);
}

/* Records of the rows from `next` on: of those before `found` is known which they are, those before
 * `asked` were asked from memory. */
typedef struct Ahead {
    Permutation shuffle;
    int64_t records[FOUND], next, asked, found;
} Ahead;

static Ahead look_ahead(const Stage *stage, const Batch *batch) {
    return (Ahead){.shuffle = records_shuffle(stage->source, batch->epoch, batch->bucket)};
}

/* The next rows up to half of the room, which has only these in that half. */
static void find_more(const Stage *stage, const Batch *batch, Ahead *ahead, int64_t last) {
    int64_t half = FOUND / 2, begin = ahead->found, place = begin % FOUND;
    int64_t end = least(begin + half - begin % half, last);
    for (int64_t i = 0; i < end - begin; i++) ahead->records[place + i] = batch->first + begin + i;
    records_find_each(stage->source, &ahead->shuffle, &ahead->records[place], (int)(end - begin));
    ahead->found = end;
}

static void ask_until(const Stage *stage, const Batch *batch, Ahead *ahead, int64_t end,
                      int64_t last) {
    for (; ahead->asked < least(end, last); ahead->asked++) {
        if (ahead->asked == ahead->found) find_more(stage, batch, ahead, last);
        records_prefetch(stage->source, ahead->records[ahead->asked % FOUND], batch->epoch);
    }
}

/* last: of the rows that are likely to be made by the same thread. */
static void make_rows(const Stage *stage, Batch *batch, Hand *hand, Ahead *ahead, int64_t first,
                      int64_t end, int64_t last) {
    if (ahead->next != first) ahead->asked = ahead->found = first;
    ahead->next = end;
    ask_until(stage, batch, ahead, first + AHEAD, last);
    for (int64_t row = first; row < end && !is_behind_failure(batch, row); row++) {
        int64_t record = ahead->records[row % FOUND];
        ask_until(stage, batch, ahead, row + AHEAD + 1, last);
        beat_at(&hand->beat, record);
        cost_begin(&hand->costs);
        bool made = make_record(stage, record, hand->scratch, batch, row, NULL);
        cost_end(&hand->costs);
        if (made) continue;
        least_note(&batch->failure, row);
        if (batch->rejected) batch->rejected[row] = true;
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

void make_batch(const Stage *stage, Batch *batch, Hand *hand) {
    Ahead ahead = look_ahead(stage, batch);
    beat_begin(&hand->beat, making);
    make_rows(stage, batch, hand, &ahead, 0, batch->rows, batch->rows);
    beat_end(&hand->beat);
}

void share_batch(Stage *stage, const Batch *batch, int threads) {
    for (int i = 0; i < threads; i++) {
        stage->shares[i].next = batch->rows * i / threads;
        stage->shares[i].end = batch->rows * (i + 1) / threads;
    }
    stage->share_count = threads;
}

/* Rows. */
static int64_t turn_of(const Hand *hand, int64_t share) {
    int64_t time = cost_of_record(&hand->costs);
    return time ? least(TURN / time, share / LEAST_TURNS) + 1 : share / TURNS + 1;
}

/* Its own share first, since it lies in its cache. */
void make_share(Stage *stage, Batch *batch, int thread, int threads) {
    Hand *hand = stage->hands[thread];
    int64_t turn = turn_of(hand, batch->rows / threads), before = clock_nanoseconds();
    Ahead ahead = look_ahead(stage, batch);
    beat_begin(&hand->beat, making);
    for (int i = 0; i < stage->share_count; i++) {
        Share *share = &stage->shares[(thread + i) % stage->share_count];
        for (int64_t row; (row = atomic_fetch_add(&share->next, turn)) < share->end;)
            make_rows(stage, batch, hand, &ahead, row, least(row + turn, share->end), share->end);
    }
    beat_end(&hand->beat);
    hand->busy += clock_nanoseconds() - before;
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
    make_record(stage, *record, scratch, batch, row, &failure);
    free(scratch);
    return failure;
}
