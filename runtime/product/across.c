/* Across: see across.h. */
#include "runtime/product/across.h"

#include "runtime/product/shuffles.h"

enum { SIDE = 8 /* of a square of elements that is turned in vectors */ };

#if FLOW_SHUFFLES
typedef uint32_t Four __attribute__((may_alias)); /* bytes */
typedef uint32_t Eight __attribute__((vector_size(32), aligned(4), may_alias));

static inline void turn_square(Four *to, int64_t apart, const Four *from, int64_t stride) {
    Eight a[SIDE];
#pragma GCC unroll 8
    for (int c = 0; c < SIDE; c++) a[c] = *(const Eight *)(from + c * stride);
#pragma GCC unroll 3
    for (int step = 0; step < 3; step++) {
        Eight turned[SIDE];
#pragma GCC unroll 4
        for (int i = 0; i < SIDE / 2; i++) {
            turned[2 * i] = FLOW_TURNS_8(a[i], a[i + SIDE / 2], 0);
            turned[2 * i + 1] = FLOW_TURNS_8(a[i], a[i + SIDE / 2], 4);
        }
#pragma GCC unroll 8
        for (int i = 0; i < SIDE; i++) a[i] = turned[i];
    }
#pragma GCC unroll 8
    for (int i = 0; i < SIDE; i++) *(Eight *)(to + i * apart) = a[i];
}

/* Returns how many columns are done. */
static int64_t across_squares(Four *to, int64_t apart, const Four *from, int64_t stride,
                              int64_t columns, int64_t count) {
    if (count < SIDE) return 0;
    int64_t c = 0;
    for (; c + SIDE <= columns; c += SIDE) {
        for (int64_t ahead = 2 * SIDE; ahead < 3 * SIDE; ahead++)
            __builtin_prefetch(from + (c + ahead) * stride);
        int64_t i = 0;
        for (; i + SIDE <= count; i += SIDE)
            turn_square(to + i * apart + c, apart, from + c * stride + i, stride);
        for (; i < count; i++)
            for (int64_t k = c; k < c + SIDE; k++) to[i * apart + k] = from[k * stride + i];
    }
    return c;
}
#define SQUARES_uint32_t across_squares
#else
#define SQUARES_uint32_t(...) 0
#endif
#define SQUARES_uint8_t(...) 0
#define SQUARES_uint16_t(...) 0
#define SQUARES_uint64_t(...) 0

#define MOVES_ACROSS(across, beside, type)                                                     \
    void across(void *to, int64_t apart, const void *from, int64_t stride, int64_t columns,    \
                int64_t count) {                                                               \
        typedef type Element __attribute__((may_alias));                                       \
        Element *restrict rows = to;                                                           \
        const Element *restrict lines = from;                                                  \
        for (int64_t c = SQUARES_##type(to, apart, from, stride, columns, count); c < columns; \
             c++)                                                                              \
            for (int64_t i = 0; i < count; i++) rows[i * apart + c] = lines[c * stride + i];   \
    }                                                                                          \
    void beside(void *to, int64_t lanes, const void *from, int64_t columns, int64_t count) {   \
        typedef type Element __attribute__((may_alias));                                       \
        Element *const rows = to;                                                              \
        across(rows, lanes, from, columns, count, columns);                                    \
        for (int64_t at = 0; count < lanes && at < columns * lanes; at += lanes)               \
            for (int64_t lane = count; lane < lanes; lane++)                                   \
                rows[at + lane] = rows[at + count - 1];                                        \
    }

MOVES_ACROSS(flow_across_1, flow_beside_1, uint8_t)
MOVES_ACROSS(flow_across_2, flow_beside_2, uint16_t)
MOVES_ACROSS(flow_across_4, flow_beside_4, uint32_t)
MOVES_ACROSS(flow_across_8, flow_beside_8, uint64_t)
