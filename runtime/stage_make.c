/* Stage_make: the rows of a batch, by one thread or by a team. */
#include "runtime/stage_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 4,  /* records asked from memory before they are needed */
    TURNS = 16, /* in which a thread of a team makes its share, so that others can help */
};

/* Finds the row's record and asks for its bytes. */
static int64_t fetch(const Stage *stage, const Permutation *shuffle, const Batch *batch,
                     int64_t row) {
    int64_t record = records_find(stage->source, shuffle, batch->first + row);
    records_prefetch(stage->source, record, batch->epoch);
    return record;
}

static bool make_record(const Stage *stage, int64_t record, char *scratch, const Batch *batch,
                        int64_t row, FlowStatus *failure) {
    void *outputs[FIELD_LIMIT];
    for (int i = 0; i < stage->section->output_count; i++)
        outputs[i] = (char *)batch->arrays[i] +
                     (size_t)row * flow_type_size(&stage->section->outputs[i].type);
    return records_make(stage->source, record, batch->epoch, scratch, outputs, failure);
}

/* The smallest row that failed is told. */
static void note_failure(Batch *batch, int64_t row) {
    long long before = batch->failure;
    while (row < before && !atomic_compare_exchange_weak(&batch->failure, &before, row)) continue;
}

/* Is it of no use to make the row? */
static bool is_behind_failure(const Batch *batch, int64_t row) {
    return !batch->rejected && row > atomic_load_explicit(&batch->failure, memory_order_relaxed);
}

static void make_rows(const Stage *stage, Batch *batch, Hand *hand, int64_t first, int64_t end) {
    Permutation shuffle = records_shuffle(stage->source, batch->epoch);
    int64_t ahead[AHEAD];
    for (int64_t row = first; row < end && row < first + AHEAD; row++)
        ahead[row % AHEAD] = fetch(stage, &shuffle, batch, row);
    for (int64_t row = first; row < end && !is_behind_failure(batch, row); row++) {
        int64_t record = ahead[row % AHEAD];
        if (row + AHEAD < end) ahead[row % AHEAD] = fetch(stage, &shuffle, batch, row + AHEAD);
        beat_at(&hand->beat, record);
        cost_begin(&hand->costs);
        bool made = make_record(stage, record, hand->scratch, batch, row, NULL);
        cost_end(&hand->costs);
        if (made) continue;
        note_failure(batch, row);
        if (batch->rejected) batch->rejected[row] = true;
    }
}

void begin_batch(Batch *batch, int64_t rows) {
    batch->records = batch->rows = rows;
    batch->failure = NO_FAILURE;
    if (batch->rejected) memset(batch->rejected, 0, (size_t)rows);
}

void number_batch(const Stage *stage, Batch *batch, int64_t number) {
    batch->number = number;
    batch->epoch = number / stage->batches;
    batch->first = number % stage->batches * stage->pipeline->batch;
    int64_t left = stage->records - batch->first;
    begin_batch(batch, left < stage->pipeline->batch ? left : stage->pipeline->batch);
}

static const char making[] = "makes a record";

void make_batch(const Stage *stage, Batch *batch, Hand *hand) {
    beat_begin(&hand->beat, making);
    make_rows(stage, batch, hand, 0, batch->rows);
    beat_end(&hand->beat);
}

void share_batch(Stage *stage, const Batch *batch, int threads) {
    for (int i = 0; i < threads; i++) {
        stage->shares[i].next = batch->rows * i / threads;
        stage->shares[i].end = batch->rows * (i + 1) / threads;
    }
    stage->share_count = threads;
}

/* Its own share first, since it lies in its cache. */
void make_share(Stage *stage, Batch *batch, int thread, int threads) {
    int64_t turn = batch->rows / ((int64_t)threads * TURNS) + 1;
    Hand *hand = &stage->hands[thread];
    beat_begin(&hand->beat, making);
    for (int i = 0; i < stage->share_count; i++) {
        Share *share = &stage->shares[(thread + i) % stage->share_count];
        for (int64_t row; (row = atomic_fetch_add(&share->next, turn)) < share->end;)
            make_rows(stage, batch, hand, row, row + turn < share->end ? row + turn : share->end);
    }
    beat_end(&hand->beat);
}

FlowStatus failure_of(const Stage *stage, const Batch *batch, int64_t row, int64_t *record) {
    FlowStatus failure = flow_failure(FLOW_EXIT_data, "pipeline `%s`: a record can't be read",
                                      stage->pipeline->name);
    Permutation shuffle = records_shuffle(stage->source, batch->epoch);
    *record = records_find(stage->source, &shuffle, batch->first + row);
    char *scratch = aligned_alloc(FLOW_ALIGNMENT, records_scratch(stage->source) + FLOW_ALIGNMENT);
    if (!scratch)
        return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", stage->pipeline->name);
    make_record(stage, *record, scratch, batch, row, &failure);
    free(scratch);
    return failure;
}
