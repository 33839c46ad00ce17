/* Threads: runs a compiled function on a team of plain threads. */
#ifndef FLOW_TESTS_THREADS_H
#define FLOW_TESTS_THREADS_H

#include "runtime/flow.h"

/* The frame has a barrier if there is more than one thread; at most 16. Returns when all are
 * done. */
void run_on_threads(const FlowFunction *function, const FlowFrame *frame, int threads);

#endif
