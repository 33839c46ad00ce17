/* Stage_settle: rows that could not be made stop the run, or their batch does without them. */
#include "runtime/device/gpus.h"
#include "runtime/stage_state.h"

#include <string.h>

/* A record is told once; of a feed each comes only once. */
static FlowStatus reject(Stage *stage, const Batch *batch, int64_t row) {
    Permutation shuffle = records_shuffle(stage->source, batch->epoch, batch->bucket);
    int64_t record = records_find(stage->source, &shuffle, batch->first + row);
    if (!stage_is_fed(stage) &&
        !rejects_note(stage->rejects, records_identity(stage->source, record, batch->epoch)))
        return flow_ok;
    FlowStatus failure = failure_of(stage, batch, row, &record), gpus = gpus_status();
    if (gpus.exit) return gpus; /* no record is to blame */
    beat_begin(&stage->logging, "writes to its log");
    FlowStatus status = rejects_add(stage->rejects, stage->pipeline->name, record, &failure);
    beat_end(&stage->logging);
    return status;
}

static void move_row(const Stage *stage, Batch *batch, int64_t from, int64_t to) {
    for (int i = 0; i < stage->section->output_count; i++) {
        size_t size = batch->row_sizes[i];
        memcpy((char *)batch->arrays[i] + (size_t)to * size,
               (char *)batch->arrays[i] + (size_t)from * size, size);
    }
}

/* The good rows move up. */
static FlowStatus drop_rejected(Stage *stage, Batch *batch) {
    FlowStatus status = flow_ok;
    int64_t record;
    batch->records = batch->failure;
    for (int64_t row = batch->failure; row < batch->rows && !status.exit; row++)
        if (batch->rejected[row]) status = reject(stage, batch, row);
        else if (batch->records++ < row) move_row(stage, batch, row, batch->records - 1);
    if (status.exit || batch->records || stage_is_fed(stage)) return status;
    return flow_failure(
        FLOW_EXIT_data, "pipeline `%s`: none of the %lld records of a batch can be made: %.300s",
        stage->pipeline->name, (long long)batch->rows, failure_of(stage, batch, 0, &record).text);
}

static FlowStatus settle_rows(Stage *stage, Batch *batch) {
    int64_t record;
    if (batch->failure == NO_FAILURE) return flow_ok;
    if (batch->rejected) return drop_rejected(stage, batch);
    batch->records = batch->failure;
    return failure_of(stage, batch, batch->failure, &record);
}

FlowStatus settle(Stage *stage, Batch *batch) {
    FlowStatus status = settle_rows(stage, batch);
    if (batch->records) rejects_made(stage->rejects);
    rejects_tell(stage->rejects);
    return status;
}
