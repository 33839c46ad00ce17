/* Evaluate: a compiled function over a whole pipeline, its results averaged. */
#ifndef FLOW_EVALUATE_H
#define FLOW_EVALUATE_H

#include "runtime/averages.h"
#include "runtime/step.h"

#include <pthread.h>

typedef struct Evaluation {
    const FlowPipeline *pipeline;
    Places places;
    int workers;
    int64_t seed;
    Call call;
    Stage *stage;
    pthread_t thread; /* that opens the stage */
    bool opening;
    FlowStatus status; /* of opening; valid when `opened` */
    atomic_bool opened;
} Evaluation;

/* Begins to open the pipeline in the background; workers: that make its batches. The call is the
 * evaluation's from now on. */
FlowStatus evaluation_start(Evaluation *evaluation, const FlowPipeline *pipeline, Places places,
                            int workers, int64_t seed, Call call);

/* Whether opening has failed so far. To be interrupted is not to fail: the run is saved. */
bool evaluation_has_failed(const Evaluation *evaluation);

/* Waits until the pipeline is open, and takes the memory that running over it needs. */
FlowStatus evaluation_prepare(Evaluation *evaluation, const Team *team);

/* Waits until the pipeline is open, then runs over it; an interrupt ends it without failure. */
FlowStatus evaluation_run(Evaluation *evaluation, char *memory, Team *team, Averages *averages);
void evaluation_free(Evaluation *evaluation);

#endif
