/* Step: a compiled function on one batch, by the whole team. */
#ifndef FLOW_STEP_H
#define FLOW_STEP_H

#include "runtime/call.h"
#include "runtime/stage.h"

/* Runs a function that takes no batch. */
void step_run_alone(const Call *call, char *memory, int64_t batch, Team *team);

/* Runs the call on the batch that was taken from the stage, which makes its next batch
 * meanwhile. call->guard tells what was held back. */
void step_run(Call *call, char *memory, const Batch *batch, Stage *stage, Team *team);

#endif
