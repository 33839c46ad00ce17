/* Permutation: a shuffled order of n records that takes no memory and no time to set up. */
#ifndef FLOW_PERMUTATION_H
#define FLOW_PERMUTATION_H

#include <stdint.h>

typedef struct Permutation {
    uint64_t size;
    uint64_t left, right; /* left * right >= size, barely */
    uint64_t key;
} Permutation;

/* Of 0..size, size >= 1: another one for each seed and epoch. */
Permutation permutation_new(int64_t size, uint64_t seed, int64_t epoch);

/* The record that comes at `position`. */
int64_t permutation_at(const Permutation *permutation, int64_t position);

/* The same of each: several at a time take less time than one after the other. */
void permutation_each(const Permutation *permutation, int64_t *positions, int count);

/* The same where records change places only within blocks of `window`, of `size` records in all:
 * another order in each block. */
int64_t permutation_within(const Permutation *permutation, int64_t window, int64_t size,
                           int64_t position);

#endif
