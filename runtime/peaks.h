/* Peaks: what this machine can do in a second, and what of it a call can reach at most. */
#ifndef FLOW_PEAKS_H
#define FLOW_PEAKS_H

#include "runtime/flow.h"

typedef struct Peaks {
    int threads;
    double operations[FLOW_THIRDS + 1]; /* of each FlowArithmetic but FLOW_ELSEWHERE */
    double near, far; /* bytes: from the second cache, from memory; far 0: no room to measure it */
} Peaks;

/* Measures them in about 100 ms, with so many threads: products and sums in registers, with the
 * widest vectors that the processor has and, of bf16, matrix tiles; and reads of arrays that are
 * in the caches or not. */
Peaks peaks_measure(int threads);

/* Seconds until so many threads have met at a barrier. */
double peaks_meeting(int threads);

/* The same for fewer threads, which one's share of memory is not bound by. */
Peaks peaks_of(const Peaks *peaks, double threads);

/* What bounds a call from below. */
typedef struct Floor {
    double seconds;
    const char *name; /* "arithmetic", "cache", "memory" */
} Floor;

Floor peaks_floor(const Peaks *peaks, const FlowWork *work);

/* "467 GFLOP/s, of bf16 934; 210 GB/s from the caches, 38 GB/s from memory"; "by thirds 1260"
 * behind bf16 where that is more. */
void peaks_text(const Peaks *peaks, char *text, size_t size);

#endif
