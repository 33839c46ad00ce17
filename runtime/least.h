/* Least: the smaller of two numbers, and the smallest that several threads have seen. */
#ifndef FLOW_LEAST_H
#define FLOW_LEAST_H

#include <stdatomic.h>
#include <stdint.h>

static inline int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Thread-safe. */
static inline void least_note(atomic_llong *smallest, long long number) {
    long long before = *smallest;
    while (number < before && !atomic_compare_exchange_weak(smallest, &before, number)) continue;
}

#endif
