/* Tuning: what a train block finds out while it runs: who gets the processors, and how many batches
 * lie ready. */
#ifndef FLOW_TUNING_H
#define FLOW_TUNING_H

#include "runtime/run.h"

/* Starts the training data, with what was tuned before where that still fits. */
FlowStatus tuning_start(Run *run);

/* Between two steps; now: in nanoseconds, behind the first of them. */
void tuning_look(Run *run, int64_t now);

/* Notes in the position what was tuned. */
void tuning_keep(const Run *run, Position *position);

/* "1 worker and 1 thread, up to 3 batches ready" */
typedef struct TuningText {
    char text[128];
} TuningText;
TuningText tuning_text(const Run *run);

#endif
