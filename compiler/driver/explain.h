/* Explain: what `flowc explain` prints of programs. */
#ifndef FLOW_DRIVER_EXPLAIN_H
#define FLOW_DRIVER_EXPLAIN_H

#include "compiler/driver/compilation.h"

/* Adds how many batches may lie ready at most of what a train block learns from. */
void explain_depth(const Plan *plan, const Pipeline *pipeline, Text *text);

/* Adds a pipeline: its stages, what is fused, what each part of it takes. what: behind its name;
 * alone: nobody but the step's threads makes batches that no `@threads` asks for. */
void explain_pipeline(const Plan *plan, const Pipeline *pipeline, const char *what, bool alone,
                      Text *text);

/* Adds all train blocks and pipelines with a sink. here: they run on this machine. */
void explain_program(const Plan *plan, bool here, Text *text);

/* Adds the plan, with what each kernel becomes. predicts: and the time it takes at least here. */
void explain_plan(const Plan *plan, bool predicts, Text *text);

/* Adds what runs where by its cost, why, and what would move it. */
void explain_placement(const Compilation *compilation, Text *text);

/* Adds how copies go between two GPUs, if there are some: on this machine, or that of --machine. */
void explain_links(const Compilation *compilation, Text *text);

/* "digits.flow:31" */
const char *explain_place(Arena *arena, Range range);

#endif
