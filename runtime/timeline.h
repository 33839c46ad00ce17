/* Timeline: what a run does when (--trace=FILE.json): each thread's batches, kernels and waits,
 * what GPUs compute and copy, for steps and for stages, how many batches lie ready; on the clock
 * of clock.h, which is the one of all threads. Kernels are named by their lines of the program.
 * While it is on, kernels of GPUs are launched one by one, never as graphs.
 *
 * There is one of the process. While it is off nothing is noted, which costs a look at a flag.
 * Thread-safe, but for opening and closing. */
#ifndef FLOW_TIMELINE_H
#define FLOW_TIMELINE_H

#include "runtime/flow.h"

FlowStatus timeline_open(const char *path);
FlowStatus timeline_close(void);
bool timeline_is_on(void);

/* The name of this thread's line, before its first span. */
void timeline_name(const char *name);

/* A span of this thread: from timeline_begin, which gives 0 while nothing is noted, to
 * timeline_end. They nest. detail: or NULL. */
int64_t timeline_begin(void);
void timeline_end(int64_t begun, const char *name, const char *detail);

/* A number that changes. */
void timeline_count(const char *name, int64_t value);

/* *observer: notes the calls of the function; NULL while nothing is noted. */
FlowStatus timeline_watch(const FlowFunction *function, FlowObserver **observer);

#endif
