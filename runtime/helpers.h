/* Helpers: threads that an instance of a deployed library has of its own, beside its caller's. They
 * are no team: a host's process gets no OpenMP, its threads stay where they are, and no signal of
 * it reaches these. For a millisecond behind a call they are awake, then asleep. */
#ifndef FLOW_HELPERS_H
#define FLOW_HELPERS_H

#include "runtime/flow.h"

typedef struct Helpers Helpers;

/* So many that there are `threads`, at least 2, with the caller, or as many as the system gives.
 * NULL: none. */
Helpers *helpers_new(int threads);
void helpers_free(Helpers *helpers);

/* How many threads there are with the caller. A process that was forked from theirs has none of
 * them: 1. */
int helpers_threads(const Helpers *helpers);

/* Runs the function on each thread, the caller's is number 0, and returns when all are done; frame:
 * its barrier is theirs. The caller has denormals taken as zero; they have its mode of arithmetic.
 * While helpers are asleep the caller does by itself what is too little to wake them.
 * duration_ns: the function's own, 0 at first: what the caller took for it, or twice what all took,
 * the last time that they were asleep. */
void helpers_run(Helpers *helpers, const FlowFunction *function, const FlowFrame *frame,
                 int64_t *duration_ns);

#endif
