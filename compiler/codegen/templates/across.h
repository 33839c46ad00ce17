/* across.h: rows of what lies in memory as columns, put in order some at a time: read one by one,
 * each would take a line of the caches for every element. */
#ifndef FLOW_ACROSS_H
#define FLOW_ACROSS_H

#include "loops.h"
#include "runtime/product/shuffles.h"

/* FLOW_TURN(bytes) defines flow_turn_BYTES for elements of that many: puts row i of `count` ones,
 * whose column c is from[c * stride + i], at to + i * apart. It is called, not made part of
 * each kernel: a copy takes long to compile. */
#define FLOW_TURN(bytes, type)                                                                \
    static __attribute__((noinline, unused)) void flow_turn_##bytes(                          \
        void *to, int64_t apart, const void *from, int64_t stride, int64_t columns,           \
        int64_t count) {                                                                      \
        typedef type Element __attribute__((may_alias));                                      \
        Element *restrict rows = to;                                                          \
        const Element *restrict across = from;                                                \
        for (int64_t c = FLOW_TURN_VECTORS_##bytes(to, apart, from, stride, columns, count);  \
             c < columns; c++)                                                                \
            for (int64_t i = 0; i < count; i++) rows[i * apart + c] = across[c * stride + i]; \
    }

/* Those of eight columns, by vectors eight rows at a time; how many columns that were. */
#if FLOW_SHUFFLES
typedef uint32_t FlowEight32 __attribute__((vector_size(32), aligned(4), may_alias));

static inline void flow_turn_eight(uint32_t *to, int64_t apart, const uint32_t *from,
                                   int64_t stride) {
    FlowEight32 a[8];
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) a[c] = *(const FlowEight32 *)(from + c * stride);
#pragma GCC unroll 3
    for (int step = 0; step < 3; step++) {
        FlowEight32 turned[8];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            turned[2 * i] = FLOW_TURNS_8(a[i], a[i + 4], 0);
            turned[2 * i + 1] = FLOW_TURNS_8(a[i], a[i + 4], 4);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) a[i] = turned[i];
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) *(FlowEight32 *)(to + i * apart) = a[i];
}

static inline int64_t flow_turn_vectors(uint32_t *to, int64_t apart, const uint32_t *from,
                                        int64_t stride, int64_t columns, int64_t count) {
    if (count < 8) return 0;
    int64_t c = 0;
    for (; c + 8 <= columns; c += 8) {
        for (int64_t ahead = 16; ahead < 24; ahead++)
            __builtin_prefetch(from + (c + ahead) * stride);
        int64_t i = 0;
        for (; i + 8 <= count; i += 8)
            flow_turn_eight(to + i * apart + c, apart, from + c * stride + i, stride);
        for (; i < count; i++)
            for (int64_t k = c; k < c + 8; k++) to[i * apart + k] = from[k * stride + i];
    }
    return c;
}
#define FLOW_TURN_VECTORS_4 flow_turn_vectors
#else
#define FLOW_TURN_VECTORS_4(...) 0
#endif
#define FLOW_TURN_VECTORS_1(...) 0
#define FLOW_TURN_VECTORS_8(...) 0

FLOW_TURN(1, uint8_t)
FLOW_TURN(4, uint32_t)
FLOW_TURN(8, uint64_t)

#endif
