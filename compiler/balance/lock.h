/* Lock: what was decided, as a text file that can be read, compared and kept with the program.
 *
 *     flowc lock 1
 *     # by AMD EPYC 9V74 and NVIDIA H200, as of 2026-11-22
 *     function fit.step of 64 records
 *     0 gpu(0) contraction [B, 784, 256]: matmul, add, maximum, less in bool f32
 *     3 cpu rows [B]: sum, negate, sum, divide in f32
 *
 * It lists each kernel that the program places nowhere, of the functions that are decided about.
 * A program whose kernels are others no longer fits it. */
#ifndef FLOW_BALANCE_LOCK_H
#define FLOW_BALANCE_LOCK_H

#include "compiler/plan/plan.h"

/* By Function.decided; plan: any of the program. machine: for the comment. */
void lock_print(const Plan *plan, const char *machine, Text *text);

/* Sets Function.decided. False: *why says the line that does not fit, "digits.lock:7: …"; or *gpu
 * (else -1) is the last of the GPUs that the lock has and code is not written for. */
bool lock_apply(Arena *arena, Program *program, const char *text, const char *path,
                const char **why, int *gpu);

#endif
