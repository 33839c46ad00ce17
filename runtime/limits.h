/* Limits: what this machine can do in a second, and what of it a call can reach at most. */
#ifndef FLOW_LIMITS_H
#define FLOW_LIMITS_H

#include "runtime/flow.h"

typedef struct Limits {
    int threads;
    double operations[FLOW_HALVES + 1]; /* of each FlowArithmetic */
    bool halves_guessed;                /* that of halves was not measured */
    double near, far; /* bytes: from the second cache, from memory; far 0: no room to measure it */
} Limits;

/* Measures them in about 100 ms, with so many threads: products and sums in registers, with the
 * widest vectors that processors.h knows, and reads of arrays that are in the caches or not. */
Limits limits_measure(int threads);

/* What bounds a call from below. */
typedef struct Bound {
    double seconds;
    const char *name; /* "arithmetic", "cache", "memory" */
} Bound;

Bound limits_bound(const Limits *limits, const FlowWork *work);

/* "467 GFLOP/s, of bf16 934 GFLOP/s; 210 GB/s from the caches, 38 GB/s from memory" */
void limits_text(const Limits *limits, char *text, size_t size);

#endif
