/* Stage_order: batches are made in any order. Those of an ordered pipeline are given by their
 * numbers; others as they come, but none of the next epoch before the last of this one. */
#include "runtime/stage_state.h"

#include <string.h>

static bool may_be_given(const Stage *stage, const Batch *batch) {
    int64_t low = stage->done.low;
    if (!stage->pipeline->unordered) return batch->number == low;
    bool same_epoch = stage_is_fed(stage) || batch->number / stage->batches == low / stage->batches;
    return same_epoch && batch->number < low + OVERTAKE_LIMIT;
}

void order_hold(Stage *stage, Batch *batch) {
    stage->held[stage->held_count++] = batch;
}

Batch *order_find(Stage *stage) {
    for (int i = 0; i < stage->held_count; i++) {
        Batch *batch = stage->held[i];
        if (!may_be_given(stage, batch)) continue;
        size_t behind = (size_t)(--stage->held_count - i);
        memmove(&stage->held[i], &stage->held[i + 1], behind * sizeof *stage->held);
        return batch;
    }
    return NULL;
}

/* What stands before the first batch that is not done is not asked for any more. */
static void forget(Stage *stage, const Batch *batch) {
    int64_t low = stage->done.low;
    stage->ends[batch->number % OVERTAKE_LIMIT] = batch->first + batch->rows;
    progression_add(&stage->done, batch->number);
    if (stage->done.low > low)
        records_forget(stage->source, stage->ends[(stage->done.low - 1) % OVERTAKE_LIMIT]);
}

void order_release(Stage *stage, const Batch *batch) {
    if (stage_is_fed(stage)) forget(stage, batch);
    else progression_add(&stage->done, batch->number);
}
