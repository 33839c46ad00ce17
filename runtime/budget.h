/* Budget: what a run may hold, and what of it is given to threads that make batches. */
#ifndef FLOW_BUDGET_H
#define FLOW_BUDGET_H

#include "runtime/settings.h"
#include "runtime/stage.h"

/* Sets the limit: that of the command line, else the program's. */
void budget_begin(const Settings *settings);

/* Should all that a run will hold be asked for before it starts? */
bool budget_is_watched(const Settings *settings);

/* How many workers make the stage's batches: as many as are asked for; where nobody asks, no more
 * than there is room for. */
int budget_workers(const Settings *settings, const Stage *stage, const FlowPipeline *pipeline);

/* Prints what is held where the command line asks for it. */
void budget_print(const Settings *settings);

#endif
