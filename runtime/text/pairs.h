/* Pairs: which two tokens side by side become one, and which first. */
#ifndef FLOW_TEXT_PAIRS_H
#define FLOW_TEXT_PAIRS_H

#include "runtime/mix.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Pair {
    uint64_t key;
    int32_t rank; /* the smaller, the earlier */
    int32_t token;
} Pair;

typedef struct Pairs {
    Pair *items; /* at most half of them are taken */
    size_t mask;
} Pairs;

#define PAIR_NONE UINT64_MAX

static inline uint64_t pair_key(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The pair, or the empty place where it would be. */
static inline Pair *pairs_find(const Pairs *pairs, int32_t left, int32_t right) {
    uint64_t key = pair_key(left, right);
    for (size_t at = (size_t)mix(key);; at++) {
        Pair *pair = &pairs->items[at & pairs->mask];
        if (pair->key == key || pair->key == PAIR_NONE) return pair;
    }
}

/* Room for `count` pairs. False: no memory. pairs_close has to follow. */
bool pairs_open(Pairs *pairs, size_t count);
void pairs_close(Pairs *pairs);

#endif
