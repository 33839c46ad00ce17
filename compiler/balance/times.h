/* Times: what kernels took when they ran, which counts instead of what a roofline says. A file of
 * lines that runs add, the newest last:
 *
 *     9f1c04b7aa52e3d8 1.2e-05 2026-11-22 AMD EPYC 9V74, 2 cores: contraction [B, 784, 256]: …
 *
 * The key stands for what the kernel computes, with all sizes, and for the device. The least of
 * its times counts: what disturbs a kernel never makes it faster. Nobody measures a key again that
 * has TIMES_OF_KEY times, so decisions settle. */
#ifndef FLOW_BALANCE_TIMES_H
#define FLOW_BALANCE_TIMES_H

#include "compiler/balance/profile.h"
#include "compiler/plan/plan.h"
#include "lang/base/map.h"

enum { TIMES_OF_KEY = 3 };

typedef struct KernelTime {
    double seconds;   /* of the largest batch, from when it may begin to its end */
    const char *date; /* of the least */
    int count;
} KernelTime;

typedef struct Times {
    Map by_key;      /* to KernelTime */
    int lines;       /* all; of them: */
    int broken, old; /* unreadable; from before `since` */
} Times;

/* since: a date, "2026-10-23". */
const Times *times_parse(Arena *arena, const char *text, const char *since);

/* Only the lines that count, at most so many: the newest. */
void times_shorten(const char *text, const char *since, int most, Text *shorter);

/* What a kernel of a function's plan computes, wherever it runs. */
uint64_t kernel_key(Arena *arena, const FunctionPlan *plan, int kernel);

/* Threads that steps have by themselves on so many cores: with these they are measured. */
int threads_on(int cores);

/* "9f1c04b7aa52e3d8", of a device with so many cores, as this version computes it; 0: a GPU. */
const char *time_key(Arena *arena, uint64_t kernel, const char *device, int cores);

/* NULL: it was never measured. times: or NULL. */
const KernelTime *times_find(const Times *times, const char *key);

#endif
