/* Measure: what the calls of one function take in a few of a run's first steps, for flowc to place
 * kernels by. $FLOWC_TIMES names a file that says what is asked for; who reads it removes it:
 *
 *     /home/…/flowc/times/measured      gets a line for each line that is answered
 *     threads 2                         that have to make the step
 *     function fit.step
 *     3 cpu 0.25 KEY …                  of call 3 a quarter: "KEY SECONDS …"
 *
 * On the CPU the first thread's clock counts, the least of the steps, with what it waits for others
 * behind a call. On a GPU events do, in the mean of the steps, which go ahead meanwhile; their
 * kernels are launched one by one. Then nothing is measured any more. Without the variable nothing
 * ever is, nor with --profile or --trace, nor in a program whose sizes differ from batch to batch.
 *
 * There is one of the process; the thread that makes steps calls all. */
#ifndef FLOW_MEASURE_H
#define FLOW_MEASURE_H

#include "runtime/call.h"

/* Before gpus_open: of calls of that function with so many records. */
void measure_open(const Call *call, int64_t records);

/* Around a call, which the team of so many threads makes. */
void measure_begin(Call *call, int64_t records, int threads);
void measure_end(Call *call);

/* Before gpus_close: a run that ends early has measured what it has. */
void measure_close(void);

#endif
