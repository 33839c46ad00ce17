/* Progress: what a run tells the user on standard error while it goes on. */
#ifndef FLOW_PROGRESS_H
#define FLOW_PROGRESS_H

#include "runtime/averages.h"
#include "runtime/pace.h"

typedef enum ProgressMode { PROGRESS_auto, PROGRESS_plain, PROGRESS_off } ProgressMode;

typedef struct Progress {
    const FlowTrain *train;
    bool line, quiet, colour;         /* line: one line drawn again and again */
    int64_t epochs, batches;          /* of the run; of an epoch */
    int64_t records;                  /* of the run so far */
    int64_t start, epoch_start, last; /* times, in nanoseconds */
    int64_t epoch_first;              /* batch in the epoch at which this run began */
    int64_t last_records;
    Pace last_pace;
    char bound[32]; /* what the run waited for since the last time */
    double rate;    /* records a second, smoothed */
} Progress;

/* Where a run stands: `batch` batches of epoch `epoch` (counted from 0) are done. */
typedef struct Standing {
    int64_t epoch, batch;
    const Averages *averages; /* of the epoch so far */
    Pace pace;                /* of the run so far */
} Standing;

/* Is nothing to be told? FLOWC_PROGRESS overrides a mode of auto. */
bool progress_is_off(ProgressMode mode);

Progress progress_new(ProgressMode mode, const FlowTrain *train, int64_t epochs, int64_t batches);
void progress_start_epoch(Progress *progress, int64_t batch);

/* After each step, which ended `now` (nanoseconds): is it time to tell where the run stands? */
bool progress_is_due(Progress *progress, int64_t records, int64_t now);
void progress_tell(Progress *progress, Standing standing, int64_t now);
void progress_end_epoch(Progress *progress, Standing standing);

/* Before anything else is written to the terminal: clears the line of whichever run has drawn one.
 * Thread-safe. */
void progress_clear(void);

/* The last line: totals, and what the run waited for. */
void progress_finish(Progress *progress, const Pace *pace, const Bottleneck *bottleneck,
                     const char *split);

#endif
