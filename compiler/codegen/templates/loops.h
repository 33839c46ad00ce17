/* loops.h: what generated loops share: how threads split rows, and reductions in a fixed order.
 *
 * A sum is 16 partial sums, of the elements whose number is 0, 1, … 15 modulo 16, or of a long part
 * of a row 64 such sums, added in pairs at the end: the same on every machine and for every number
 * of threads. */
#ifndef FLOW_LOOPS_H
#define FLOW_LOOPS_H

#include <stdint.h>

enum {
    FLOW_SHARE_BLOCK = 8,
    FLOW_COLUMN_BLOCK = 32,
    FLOW_LANES = 16,
    FLOW_LONG = 128, /* elements of a part of a row that is added up by fours of vectors */
    FLOW_APART = 4,
    FLOW_NARROW = 64
};

/* What is read of a row that is outside of a view's operand: zeros of every type. */
enum { FLOW_OUTSIDE = 32768 /* bytes */ };
static char flow_outside[FLOW_OUTSIDE] __attribute__((unused, aligned(64)));

/* Before a loop: no turn reads what another one writes, which gcc does not see behind pointers of a
 * struct. */
#if defined __clang__
#define FLOW_INDEPENDENT
#else
#define FLOW_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Before a loop of few turns, all of which are written out. */
#define FLOW_UNROLLED _Pragma("GCC unroll 8")

/* Before a loop over lanes: it becomes vectors, which it would not once gcc had unrolled it. */
#if defined __clang__
#define FLOW_VECTORS
#else
#define FLOW_VECTORS _Pragma("GCC unroll 1")
#endif

/* An array of whose values the compiler knows nothing: what gcc knows of the first turn may keep
 * it from making vectors of the other turns. */
#define FLOW_UNKNOWN(array) __asm__("" : "+m"(array))

/* Which of as many shares is the thread's. Thread 0 calls the others and begins before they hear of
 * it: the last one, which is the one of most blocks where these differ. */
static inline int64_t flow_share_of(int thread, int threads) {
    return threads - 1 - thread;
}

/* The rows [*first, *last) of this thread, in whole blocks. */
static inline void flow_share(int64_t rows, int64_t block, int thread, int threads, int64_t *first,
                              int64_t *last) {
    const int64_t blocks = (rows + block - 1) / block, share = flow_share_of(thread, threads);
    *first = blocks * share / threads * block;
    *last = blocks * (share + 1) / threads * block;
    if (*first > rows) *first = rows;
    if (*last > rows) *last = rows;
}

/* Into how many bands, of `most` rows or less, each thread divides its own: those of share s are
 * shares s * bands + i of threads * bands. */
static inline int flow_bands(int64_t rows, int64_t block, int64_t most, int threads) {
    const int64_t blocks = (rows + block - 1) / block;
    const int64_t most_blocks = most / block, own = (blocks + threads - 1) / threads;
    return (int)((own + most_blocks - 1) / most_blocks);
}

/* The columns of this thread, in blocks that are tiles of a product. */
static inline void flow_share_columns(int64_t columns, int thread, int threads, int64_t *first,
                                      int64_t *last) {
    const int64_t blocks = (columns + FLOW_COLUMN_BLOCK - 1) / FLOW_COLUMN_BLOCK;
    const int64_t share = flow_share_of(thread, threads);
    *first = blocks * share / threads * FLOW_COLUMN_BLOCK;
    *last = blocks * (share + 1) / threads * FLOW_COLUMN_BLOCK;
    if (*first > columns) *first = columns;
    if (*last > columns) *last = columns;
}

/* What a loop logs of old values before it stores new ones, at most and at least. */
enum { FLOW_LOG = 512, FLOW_LOG_LEAST = 64 /* elements */ };

/* The index if it is one of 0 … count-1, else 0. */
static inline int64_t flow_index(int64_t index, int64_t count) {
    return index < 0 || index >= count ? 0 : index;
}

static inline int64_t flow_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t flow_larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* How much of `all` a row sees, up to its number among `queries` and so many more. What is stored
 * up to there is read up to there, so these steps are the same for all. */
static inline int64_t flow_seen(int64_t row, int64_t queries, int64_t more, int64_t all) {
    enum { LANES = 16 };
    return flow_smaller((row % queries + more + LANES) / LANES * LANES, all);
}

/* Where the column that is turned into this row begins to be seen, but not all of it. */
static inline int64_t flow_unseen(int64_t row, int64_t more, int64_t all) {
    return row > more ? flow_smaller(row - more, all - 1) : 0;
}

#define FLOW_ADD(y, a) ((y) + (a))
#define FLOW_MAX(y, a) ((y) < (a) ? (a) : (y))
#define FLOW_MIN(y, a) ((a) < (y) ? (a) : (y))
#define FLOW_MULTIPLY(y, a) ((y) * (a))
#define FLOW_ANY(y, a) ((y) || (a))
#define FLOW_ALL(y, a) ((y) && (a))
#define FLOW_GREATER(y, a) ((y) < (a))
#define FLOW_LESS(y, a) ((a) < (y))

_Static_assert(FLOW_LANES == 16, "the end of a reduction folds 16 lanes");
/* Sets the lanes of `few` to the last elements of a row, or to 0. A vector that is loaded waits for
 * all stores of parts of it, as a loop's last turns are; elements by themselves do not, and make
 * the vector where their number is known. Of bytes that would be more work than waiting. */
#define FLOW_REST_AT(from, lane, count) ((lane) < (count) ? (from)[lane] : 0)
#define FLOW_REST(type, few, from, count)                                                      \
    do {                                                                                       \
        typedef type Few                                                                       \
            __attribute__((vector_size(FLOW_LANES * sizeof(type)), aligned(64), may_alias));   \
        if (sizeof(type) >= 4 && __builtin_constant_p(count)) {                                \
            *(Few *)few = (Few){FLOW_REST_AT(from, 0, count),  FLOW_REST_AT(from, 1, count),   \
                                FLOW_REST_AT(from, 2, count),  FLOW_REST_AT(from, 3, count),   \
                                FLOW_REST_AT(from, 4, count),  FLOW_REST_AT(from, 5, count),   \
                                FLOW_REST_AT(from, 6, count),  FLOW_REST_AT(from, 7, count),   \
                                FLOW_REST_AT(from, 8, count),  FLOW_REST_AT(from, 9, count),   \
                                FLOW_REST_AT(from, 10, count), FLOW_REST_AT(from, 11, count),  \
                                FLOW_REST_AT(from, 12, count), FLOW_REST_AT(from, 13, count),  \
                                FLOW_REST_AT(from, 14, count), FLOW_REST_AT(from, 15, count)}; \
        } else {                                                                               \
            FLOW_INDEPENDENT FLOW_VECTORS for (int lane = 0; lane < FLOW_LANES; lane++)        \
                few[lane] = FLOW_REST_AT(from, lane, count);                                   \
        }                                                                                      \
    } while (0)

/* Defines `result`: the lanes put together. Nothing is stored: of halves that are folded in memory
 * a compiler loads vectors at other places than it stores them, and such a load waits for all
 * stores before it. */
#define FLOW_FOLD(type, combine, a, result)                                      \
    const type b0 = (type)combine(a[0], a[8]), b1 = (type)combine(a[1], a[9]);   \
    const type b2 = (type)combine(a[2], a[10]), b3 = (type)combine(a[3], a[11]); \
    const type b4 = (type)combine(a[4], a[12]), b5 = (type)combine(a[5], a[13]); \
    const type b6 = (type)combine(a[6], a[14]), b7 = (type)combine(a[7], a[15]); \
    const type c0 = (type)combine(b0, b4), c1 = (type)combine(b1, b5);           \
    const type c2 = (type)combine(b2, b6), c3 = (type)combine(b3, b7);           \
    const type d0 = (type)combine(c0, c2), d1 = (type)combine(c1, c3);           \
    const type result = (type)combine(d0, d1)

/* start, add and end of a reduction over the parts of a row, each part but the last a multiple of
 * 16 long. In a long part no vector waits for the one before it: every fourth is added to the same
 * lanes. fours: not of products, which would begin at 1 each, near which rounding leans to one
 * side. */
#define FLOW_REDUCTION(name, suffix, type, combine, initial, fours)                               \
    typedef struct flow_row_##name##_##suffix {                                                   \
        type lanes[FLOW_LANES];                                                                   \
    } flow_row_##name##_##suffix;                                                                 \
    static inline flow_row_##name##_##suffix flow_row_##name##_start_##suffix(void) {             \
        flow_row_##name##_##suffix state;                                                         \
        for (int lane = 0; lane < FLOW_LANES; lane++) state.lanes[lane] = initial;                \
        return state;                                                                             \
    }                                                                                             \
    static inline int64_t flow_row_##name##_add_fours_##suffix(flow_row_##name##_##suffix *state, \
                                                               const type *part, int64_t count) { \
        flow_row_##name##_##suffix b = flow_row_##name##_start_##suffix(), c = b, d = b;          \
        int64_t i = 0;                                                                            \
        for (; i + 4 * FLOW_LANES <= count; i += 4 * FLOW_LANES)                                  \
            FLOW_INDEPENDENT FLOW_VECTORS for (int lane = 0; lane < FLOW_LANES; lane++) {         \
                const type *const a = part + i + lane;                                            \
                state->lanes[lane] = (type)combine(state->lanes[lane], a[0]);                     \
                b.lanes[lane] = (type)combine(b.lanes[lane], a[FLOW_LANES]);                      \
                c.lanes[lane] = (type)combine(c.lanes[lane], a[2 * FLOW_LANES]);                  \
                d.lanes[lane] = (type)combine(d.lanes[lane], a[3 * FLOW_LANES]);                  \
            }                                                                                     \
        FLOW_INDEPENDENT FLOW_VECTORS for (int lane = 0; lane < FLOW_LANES; lane++) {             \
            const type first = (type)combine(state->lanes[lane], b.lanes[lane]);                  \
            const type second = (type)combine(c.lanes[lane], d.lanes[lane]);                      \
            state->lanes[lane] = (type)combine(first, second);                                    \
        }                                                                                         \
        return i;                                                                                 \
    }                                                                                             \
    static inline void flow_row_##name##_add_##suffix(flow_row_##name##_##suffix *state,          \
                                                      const type *part, int64_t count) {          \
        int64_t i = 0;                                                                            \
        if (fours && count >= FLOW_LONG)                                                          \
            i = flow_row_##name##_add_fours_##suffix(state, part, count);                         \
        for (; i + FLOW_LANES <= count; i += FLOW_LANES)                                          \
            FLOW_INDEPENDENT FLOW_VECTORS for (int lane = 0; lane < FLOW_LANES; lane++)           \
                state->lanes[lane] = (type)combine(state->lanes[lane], part[i + lane]);           \
        if (i == count) return;                                                                   \
        _Alignas(64) type few[FLOW_LANES];                                                        \
        FLOW_REST(type, few, part + i, count - i);                                                \
        FLOW_INDEPENDENT FLOW_VECTORS for (int lane = 0; lane < FLOW_LANES; lane++) {             \
            const type more = (type)combine(state->lanes[lane], few[lane]);                       \
            state->lanes[lane] = i + lane < count ? more : state->lanes[lane];                    \
        }                                                                                         \
    }                                                                                             \
    static inline type flow_row_##name##_end_##suffix(const flow_row_##name##_##suffix *state) {  \
        FLOW_FOLD(type, combine, state->lanes, whole);                                            \
        return whole;                                                                             \
    }

/* The index of the first element that is better than all before it: the first of the row where that
 * is NaN. Each lane has the best of its own and of the row's first; of lanes that are as good the
 * one counts whose is the first. */
#define FLOW_BEST(name, suffix, type, better, choose)                                     \
    typedef struct flow_row_##name##_##suffix {                                           \
        type best[FLOW_LANES];                                                            \
        int32_t at[FLOW_LANES];                                                           \
        int64_t seen;                                                                     \
    } flow_row_##name##_##suffix;                                                         \
    static inline flow_row_##name##_##suffix flow_row_##name##_start_##suffix(void) {     \
        return (flow_row_##name##_##suffix){.seen = 0};                                   \
    }                                                                                     \
    static inline void flow_row_##name##_add_##suffix(flow_row_##name##_##suffix *state,  \
                                                      const type *part, int64_t count) {  \
        if (!state->seen)                                                                 \
            for (int lane = 0; lane < FLOW_LANES; lane++)                                 \
                state->best[lane] = part[0], state->at[lane] = 0;                         \
        int64_t i = 0;                                                                    \
        for (; i + FLOW_LANES <= count; i += FLOW_LANES) {                                \
            const int32_t seen = (int32_t)(state->seen + i);                              \
            FLOW_INDEPENDENT FLOW_VECTORS for (int lane = 0; lane < FLOW_LANES; lane++) { \
                const type a = part[i + lane], best = state->best[lane];                  \
                state->at[lane] = better(best, a) ? seen + lane : state->at[lane];        \
                state->best[lane] = better(best, a) ? a : best;                           \
            }                                                                             \
        }                                                                                 \
        const int32_t seen = (int32_t)(state->seen + i);                                  \
        state->seen += count;                                                             \
        if (i == count) return;                                                           \
        _Alignas(64) type few[FLOW_LANES];                                                \
        FLOW_REST(type, few, part + i, count - i);                                        \
        FLOW_INDEPENDENT FLOW_VECTORS for (int lane = 0; lane < FLOW_LANES; lane++) {     \
            const type best = state->best[lane], a = i + lane < count ? few[lane] : best; \
            state->at[lane] = better(best, a) ? seen + lane : state->at[lane];            \
            state->best[lane] = better(best, a) ? a : best;                               \
        }                                                                                 \
    }                                                                                     \
    static inline int32_t flow_row_##name##_end_##suffix(                                 \
        const flow_row_##name##_##suffix *state) {                                        \
        const type *const a = state->best;                                                \
        FLOW_FOLD(type, choose, a, best);                                                 \
        int32_t first = INT32_MAX;                                                        \
        for (int lane = 0; lane < FLOW_LANES; lane++) {                                   \
            const int32_t at = better(a[lane], best) ? INT32_MAX : state->at[lane];       \
            first = at < first ? at : first;                                              \
        }                                                                                 \
        return first;                                                                     \
    }

#define FLOW_REDUCTIONS(suffix, type, lowest, highest)      \
    FLOW_REDUCTION(sum, suffix, type, FLOW_ADD, 0, 1)       \
    FLOW_REDUCTION(max, suffix, type, FLOW_MAX, lowest, 1)  \
    FLOW_REDUCTION(min, suffix, type, FLOW_MIN, highest, 1) \
    FLOW_REDUCTION(prod, suffix, type, FLOW_MULTIPLY, 1, 0) \
    FLOW_BEST(argmax, suffix, type, FLOW_GREATER, FLOW_MAX) \
    FLOW_BEST(argmin, suffix, type, FLOW_LESS, FLOW_MIN)

/* A file says which it calls: to read all takes as long as to compile a small kernel. */
#ifdef FLOW_REDUCES_f32
FLOW_REDUCTIONS(f32, float, -__builtin_inff(), __builtin_inff())
#endif
#ifdef FLOW_REDUCES_f64
FLOW_REDUCTIONS(f64, double, -__builtin_inf(), __builtin_inf())
#endif
#ifdef FLOW_REDUCES_i64
FLOW_REDUCTIONS(i64, int64_t, INT64_MIN, INT64_MAX)
#endif
#ifdef FLOW_REDUCES_i32
FLOW_REDUCTIONS(i32, int32_t, INT32_MIN, INT32_MAX)
#endif
#ifdef FLOW_REDUCES_i8
FLOW_REDUCTIONS(i8, int8_t, INT8_MIN, INT8_MAX)
#endif
#ifdef FLOW_REDUCES_u8
FLOW_REDUCTIONS(u8, uint8_t, 0, UINT8_MAX)
FLOW_REDUCTION(any, u8, uint8_t, FLOW_ANY, 0, 1)
FLOW_REDUCTION(all, u8, uint8_t, FLOW_ALL, 1, 1)
#endif

#endif
