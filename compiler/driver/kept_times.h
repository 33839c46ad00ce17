/* Kept times: where times of kernels lie (balance/times.h), and whom they are asked of.
 *
 * A run is told by a file which calls of its functions to measure, under which keys
 * (runtime/measure.h), and adds lines to XDG_CACHE_HOME/flowc/times/measured, or ~/.cache. Lines
 * count for a month. Nothing is asked of a run that uses a stand-in, which has no speed, nor of one
 * with replicas; and where there is no driver for GPUs, only with FLOWC_MEASURE=1. */
#ifndef FLOW_DRIVER_KEPT_TIMES_H
#define FLOW_DRIVER_KEPT_TIMES_H

#include "compiler/balance/times.h"
#include "compiler/driver/compilation.h"

/* NULL: there are none. Says what is broken, and makes a file shorter that has become long. */
const Times *times_read(Arena *arena);

/* Before the program takes the place of this process: has it measure what has too few times. Where
 * that can't be asked the run goes on without. */
void times_ask(const Compilation *compilation);

#endif
