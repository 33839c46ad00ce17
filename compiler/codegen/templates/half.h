/* half.h: products of bf16 tiles, added up in f32, where vectors have 512 bits.
 *
 * A tile (product/matrix.h) has pairs of elements that are adjacent in depth. Past the end of the
 * depth those of both operands hold zeros. There are three means, of which the processor decides:
 *
 *   tiles     tdpbf16ps: of the 32 depths of a tile the even ones are added up, and the odd ones,
 *             both in order; their sum is added to what there was
 *   pairs     vdpbf16ps: of each pair the second product is added first
 *   vectors   each product is added in order, in f32, of operands that were made floats
 *
 * The first two take numbers below 2^-126 as zero, as the others do while a program runs. Each sum
 * depends on nothing but its row, its column and the depth. */
#ifndef FLOW_GENERATED_HALF_H
#define FLOW_GENERATED_HALF_H

#include "product/matrix.h"
#include "product/vectors.h"

enum { FLOW_PART = 16 };          /* most tiles in depth of one product */
enum { FLOW_RESULTS_AHEAD = 16 }; /* so far before results are made their rows are asked for */

typedef float FlowSums __attribute__((vector_size(64), may_alias));
typedef uint16_t FlowHalves __attribute__((vector_size(64), may_alias, aligned(2)));
typedef uint16_t FlowWords __attribute__((vector_size(64), may_alias));

/* Rows of a in one or two rows of tiles, `a_next` apart, times columns of b in `columns` columns of
 * tiles, `b_next` apart, two for one where they are of floats. */
typedef struct FlowHalfProduct {
    const FlowTile *a, *b;
    int64_t a_next, b_next;
    int64_t depth, columns; /* in tiles */
    int64_t rows;
    float *sums; /* of as many whole tiles */
    int64_t stride;
    int more; /* goes on with the sums there */
} FlowHalfProduct;

/* Sizes. */

FLOW_TILE int64_t flow_half_tiles(int64_t count, int64_t each) {
    return (count - 1) / each + 1;
}

/* The size of parts, alike and of whole pairs of tiles where there are several, at most `most`. */
FLOW_TILE int64_t flow_half_share(int64_t count, int64_t most) {
    const int64_t parts = flow_half_tiles(count, most), pair = 2 * FLOW_SIDE;
    const int64_t share = flow_half_tiles(flow_half_tiles(count, parts), pair) * pair;
    return flow_smaller(share, most);
}

/* Lines. */

/* The first elements of a line, if any; the others are 0. */
FLOW_TILE FlowPairs flow_half_line(const uint16_t *from, int64_t count) {
    const uint32_t mask = count >= FLOW_DEPTH ? ~0u : (1u << count) - 1;
    typedef short Shorts __attribute__((vector_size(64)));
    return (FlowPairs)__builtin_ia32_loaddquhi512_mask((const void *)from, (Shorts){0}, (int)mask);
}

/* What lines are made of: `count` runs of adjacent elements, the run i of the elements from
 * begin[i] up to begin[i + 1], at[i] elements from where the line is. */
typedef struct FlowRuns {
    int64_t count, begin[FLOW_DEPTH + 1], at[FLOW_DEPTH];
} FlowRuns;

/* A line of which `from` is the place. */
FLOW_TILE FlowPairs flow_half_gather(const uint16_t *from, const FlowRuns *runs) {
    if (runs->count == 1) return flow_half_line(from + runs->at[0], runs->begin[1]);
    _Alignas(64) uint16_t line[2 * FLOW_DEPTH] = {0};
    for (int64_t i = 0; i < runs->count; i++) {
        const int64_t begin = runs->begin[i], count = runs->begin[i + 1] - begin;
        *(FlowHalves *)(line + begin) = (FlowHalves)flow_half_line(from + runs->at[i], count);
    }
    return *(const FlowPairs *)line;
}

/* The first elements of two lines as pairs. */
FLOW_TILE FlowPairs flow_half_pairs(FlowPairs first, FlowPairs second) {
#if FLOW_SHUFFLES
    return (FlowPairs)__builtin_shufflevector((FlowWords)first, (FlowWords)second, 0, 32, 1, 33, 2,
                                              34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41,
                                              10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
#else
    FlowPairs pairs;
    const uint16_t *low = (const uint16_t *)&first, *high = (const uint16_t *)&second;
    for (int i = 0; i < FLOW_SIDE; i++) pairs[i] = low[i] | (uint32_t)high[i] << 16;
    return pairs;
#endif
}

/* Lines become lanes. */
FLOW_TILE void flow_half_turn(FlowPairs *restrict lines) {
#if FLOW_SHUFFLES
    FlowPairs turned[FLOW_SIDE];
#pragma GCC unroll 4
    for (int done = 1; done < FLOW_SIDE; done *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < FLOW_SIDE / 2; i++) {
            turned[2 * i] = FLOW_TURNS_16(lines[i], lines[i + FLOW_SIDE / 2], 0);
            turned[2 * i + 1] = FLOW_TURNS_16(lines[i], lines[i + FLOW_SIDE / 2], 8);
        }
#pragma GCC unroll 16
        for (int i = 0; i < FLOW_SIDE; i++) lines[i] = turned[i];
    }
#else
    for (int i = 0; i < FLOW_SIDE; i++)
        for (int j = 0; j < i; j++) {
            const uint32_t other = lines[i][j];
            lines[i][j] = lines[j][i];
            lines[j][i] = other;
        }
#endif
}

/* Whole tiles, from lines that lie `next` elements apart in memory. */

#if FLOW_SHUFFLES

typedef uint16_t FlowLane __attribute__((vector_size(16), may_alias, aligned(2)));
typedef uint16_t FlowHalfLine __attribute__((vector_size(32), may_alias, aligned(2)));

#define FLOW_LOW_WORDS(a, b)                                                                      \
    __builtin_shufflevector((FlowWords)(a), (FlowWords)(b), 0, 32, 1, 33, 2, 34, 3, 35, 8, 40, 9, \
                            41, 10, 42, 11, 43, 16, 48, 17, 49, 18, 50, 19, 51, 24, 56, 25, 57,   \
                            26, 58, 27, 59)
#define FLOW_HIGH_WORDS(a, b)                                                                   \
    __builtin_shufflevector((FlowWords)(a), (FlowWords)(b), 4, 36, 5, 37, 6, 38, 7, 39, 12, 44, \
                            13, 45, 14, 46, 15, 47, 20, 52, 21, 53, 22, 54, 23, 55, 28, 60, 29, \
                            61, 30, 62, 31, 63)
#define FLOW_LOW_PAIRS(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define FLOW_HIGH_PAIRS(a, b) \
    __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)

/* A vector of parts, which a compiler would put together in memory. */
#define FLOW_FIRST_LANE(line, from) \
    __asm__("vmovdqu16 %1, %x0" : "=v"(line) : "m"(*(const FlowLane *)(from)))
#define FLOW_NEXT_LANE(line, lane, from) \
    __asm__("vinserti32x4 $" #lane ", %1, %0, %0" : "+v"(line) : "m"(*(const FlowLane *)(from)))
#define FLOW_BOTH_HALVES(line, first, second)                  \
    __asm__("vmovdqu16 %1, %t0\n\tvinserti64x4 $1, %2, %0, %0" \
            : "=&v"(line)                                      \
            : "m"(*(const FlowHalfLine *)(first)), "m"(*(const FlowHalfLine *)(second)))

/* Eight elements of each of four lines, which are four lanes of a vector. */
FLOW_TILE FlowWords flow_half_lanes(const uint16_t *from, int64_t next) {
    FlowWords line;
    FLOW_FIRST_LANE(line, from);
    FLOW_NEXT_LANE(line, 1, from + next);
    FLOW_NEXT_LANE(line, 2, from + 2 * next);
    FLOW_NEXT_LANE(line, 3, from + 3 * next);
    return line;
}

/* Lines as they are. */
static FLOW_ONE_COPY FLOW_WIDE void flow_half_copy(const uint16_t *from, int64_t next,
                                                   FlowTile *restrict tile) {
#pragma GCC unroll 16
    for (int i = 0; i < FLOW_SIDE; i++)
        tile->lines[i] = (FlowPairs) * (const FlowHalves *)(from + i * next);
}

/* Lines are depths: elements of two next to each other become pairs. */
static FLOW_ONE_COPY FLOW_WIDE void flow_half_pair(const uint16_t *from, int64_t next,
                                                   FlowTile *restrict tile) {
#pragma GCC unroll 16
    for (int i = 0; i < FLOW_SIDE; i++, from += 2 * next) {
        FlowWords both;
        FLOW_BOTH_HALVES(both, from, from + next);
        tile->lines[i] = (FlowPairs)__builtin_shufflevector(
            both, both, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10,
            26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        __builtin_prefetch(from + FLOW_DEPTH * next);
        __builtin_prefetch(from + (FLOW_DEPTH + 1) * next);
    }
}

/* Lines are depths, and become lanes: each lane turns eight by eight elements. */
static FLOW_ONE_COPY FLOW_WIDE void flow_half_turn_depths(const uint16_t *from, int64_t next,
                                                          FlowTile *restrict tile) {
    enum { EACH = 8 };
    for (int i = 0; i < FLOW_DEPTH; i++) __builtin_prefetch(from + (FLOW_DEPTH + i) * next);
    for (int first = 0; first < FLOW_SIDE; first += EACH) {
        FlowWords lines[EACH], turned[EACH];
#pragma GCC unroll 8
        for (int i = 0; i < EACH; i++)
            lines[i] = flow_half_lanes(from + first + i * next, EACH * next);
#pragma GCC unroll 3
        for (int done = 1; done < EACH; done *= 2) {
#pragma GCC unroll 4
            for (int i = 0; i < EACH / 2; i++) {
                turned[2 * i] = FLOW_LOW_WORDS(lines[i], lines[i + EACH / 2]);
                turned[2 * i + 1] = FLOW_HIGH_WORDS(lines[i], lines[i + EACH / 2]);
            }
#pragma GCC unroll 8
            for (int i = 0; i < EACH; i++) lines[i] = turned[i];
        }
#pragma GCC unroll 8
        for (int i = 0; i < EACH; i++) tile->lines[first + i] = (FlowPairs)lines[i];
    }
}

/* Lines are sides, and become lanes: each lane turns four by four pairs. */
static FLOW_ONE_COPY FLOW_WIDE void flow_half_turn_sides(const uint16_t *from, int64_t next,
                                                         FlowTile *restrict tile) {
    enum { EACH = 4 };
    for (int first = 0; first < FLOW_SIDE; first += EACH) {
        FlowPairs lines[EACH], turned[EACH];
#pragma GCC unroll 4
        for (int i = 0; i < EACH; i++)
            lines[i] = (FlowPairs)flow_half_lanes(from + 2 * first + i * next, EACH * next);
#pragma GCC unroll 2
        for (int done = 1; done < EACH; done *= 2) {
#pragma GCC unroll 2
            for (int i = 0; i < EACH / 2; i++) {
                turned[2 * i] = FLOW_LOW_PAIRS(lines[i], lines[i + EACH / 2]);
                turned[2 * i + 1] = FLOW_HIGH_PAIRS(lines[i], lines[i + EACH / 2]);
            }
#pragma GCC unroll 4
            for (int i = 0; i < EACH; i++) lines[i] = turned[i];
        }
#pragma GCC unroll 4
        for (int i = 0; i < EACH; i++) tile->lines[first + i] = lines[i];
    }
}
#endif

/* By the processor's matrix tiles. */

static inline void flow_half_begin(int means) {
    if (means == FLOW_HALF_tiles) flow_matrix_begin();
}

static inline void flow_half_end(int means) {
    if (means == FLOW_HALF_tiles) flow_matrix_end();
}

/* The sums of two columns of tiles; below, right: is there a second row, a second column? */
FLOW_TILE void flow_half_four(const FlowHalfProduct *product, const FlowTile *b, float *sums,
                              int below, int right) {
    const FlowTile *a = product->a, *a_below = a + (below ? product->a_next : 0);
    const FlowTile *b_right = b + (right ? product->b_next : 0);
    const int64_t line = sizeof(FlowPairs), row = product->stride * (int64_t)sizeof(float);
    float *sums_right = sums + (right ? FLOW_SIDE : 0);
    const int64_t next = below ? FLOW_SIDE * product->stride : 0;
    if (product->more) {
        FLOW_LOAD_TILE(0, sums, row);
        FLOW_LOAD_TILE(1, sums_right, row);
        FLOW_LOAD_TILE(2, sums + next, row);
        FLOW_LOAD_TILE(3, sums_right + next, row);
    } else {
        FLOW_ZERO_TILE(0);
        FLOW_ZERO_TILE(1);
        FLOW_ZERO_TILE(2);
        FLOW_ZERO_TILE(3);
    }
    for (int64_t k = 0; k < product->depth; k++) {
        FLOW_LOAD_TILE(4, a + k, line);
        FLOW_LOAD_TILE(6, b + k, line);
        FLOW_MULTIPLY_TILES(0, 4, 6);
        if (right) {
            FLOW_LOAD_TILE(7, b_right + k, line);
            FLOW_MULTIPLY_TILES(1, 4, 7);
        }
        if (below) {
            FLOW_LOAD_TILE(5, a_below + k, line);
            FLOW_MULTIPLY_TILES(2, 5, 6);
        }
        if (below && right) FLOW_MULTIPLY_TILES(3, 5, 7);
    }
    FLOW_STORE_TILE(0, sums, row);
    if (right) FLOW_STORE_TILE(1, sums_right, row);
    if (below) FLOW_STORE_TILE(2, sums + next, row);
    if (below && right) FLOW_STORE_TILE(3, sums_right + next, row);
}

static inline void flow_half_by_tiles(const FlowHalfProduct *product) {
    const int below = product->rows > FLOW_SIDE;
    for (int64_t n = 0; n < product->columns; n += 2)
        flow_half_four(product, product->b + n * product->b_next, product->sums + n * FLOW_SIDE,
                       below, n + 1 < product->columns);
}

/* Vectors: groups of rows, whose sums of one or two columns of tiles are in registers. */

enum { FLOW_HALF_ROWS = 8 };

FLOW_TILE void flow_half_load(const FlowHalfProduct *product, const float *from, FlowSums *sums) {
#pragma GCC unroll 8
    for (int m = 0; m < FLOW_HALF_ROWS; m++)
        sums[m] = product->more ? *(const FlowSums *)(from + m * product->stride) : (FlowSums){0};
}

FLOW_TILE void flow_half_store(const FlowHalfProduct *product, float *to, const FlowSums *sums) {
#pragma GCC unroll 8
    for (int m = 0; m < FLOW_HALF_ROWS; m++) *(FlowSums *)(to + m * product->stride) = sums[m];
}

/* The tiles and the line in them where a row is. */
FLOW_TILE const uint32_t *flow_half_row(const FlowHalfProduct *product, int64_t row) {
    const FlowTile *tile = product->a + row / FLOW_SIDE * product->a_next;
    return (const uint32_t *)&tile->lines[row % FLOW_SIDE];
}

#ifndef FLOW_PAIRS_AS_FLOATS /* which tests set where there is no such instruction */
#define FLOW_MULTIPLY_PAIRS(sum, a, b) __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(b), "v"(a))
#else
#define FLOW_MULTIPLY_PAIRS(sum, a, b)                                 \
    ((sum) += (FlowSums)((a)&0xffff0000) * (FlowSums)((b)&0xffff0000), \
     (sum) += (FlowSums)((a) << 16) * (FlowSums)((b) << 16))
#endif

/* Of a row group and `across` columns of tiles, pairs. */
FLOW_TILE void flow_half_add_pairs(const FlowHalfProduct *product, int64_t row, int64_t column,
                                   const int across, FlowSums sums[2][FLOW_HALF_ROWS]) {
    const uint32_t *a = flow_half_row(product, row);
    const FlowPairs *b = product->b[column * product->b_next].lines;
    for (int64_t k = 0; k < product->depth; k++, a += FLOW_SIDE * FLOW_SIDE)
        for (int i = 0; i < FLOW_SIDE; i++, b++)
#pragma GCC unroll 8
            for (int m = 0; m < FLOW_HALF_ROWS; m++) {
                const FlowPairs left = (FlowPairs){0} + a[m * FLOW_SIDE + i];
#pragma GCC unroll 2
                for (int n = 0; n < across; n++)
                    FLOW_MULTIPLY_PAIRS(sums[n][m], left, b[n * product->b_next * FLOW_SIDE]);
            }
}

/* Floats: a tile becomes two, of its even depths and of its odd ones. */

FLOW_TILE FlowPairs flow_half_even(FlowPairs pairs) {
    return pairs << 16;
}

FLOW_TILE FlowPairs flow_half_odd(FlowPairs pairs) {
    return pairs & 0xffff0000;
}

/* So many tiles of b, in their place. */
static FLOW_ONE_COPY FLOW_WIDE void flow_half_widen(FlowTile *tiles, int64_t count) {
    for (int64_t k = count - 1; k >= 0; k--)
        for (int i = 0; i < FLOW_SIDE; i++) {
            const FlowPairs pairs = tiles[k].lines[i];
            tiles[2 * k].lines[i] = flow_half_even(pairs);
            tiles[2 * k + 1].lines[i] = flow_half_odd(pairs);
        }
}

/* A row group of a. */
typedef struct FlowHalfLeft {
    FlowPairs of_row[FLOW_HALF_ROWS][2 * FLOW_PART];
} FlowHalfLeft;

FLOW_TILE void flow_half_widen_rows(const FlowHalfProduct *product, int64_t row,
                                    FlowHalfLeft *restrict left) {
    const FlowPairs *a = (const FlowPairs *)flow_half_row(product, row);
    for (int64_t k = 0; k < product->depth; k++, a += FLOW_SIDE)
        for (int m = 0; m < FLOW_HALF_ROWS; m++) {
            left->of_row[m][2 * k] = flow_half_even(a[m]);
            left->of_row[m][2 * k + 1] = flow_half_odd(a[m]);
        }
}

/* The rows of a have one address and a number each, of which gcc else makes an address each, more
 * than there are registers. */
#define FLOW_ONE_PLACE(place) __asm__("" : "+r"(place))

FLOW_TILE void flow_half_add_floats(const FlowHalfProduct *product, const FlowHalfLeft *left,
                                    int64_t column, const int across,
                                    FlowSums sums[2][FLOW_HALF_ROWS]) {
    const float *a = (const float *)left->of_row;
    const FlowSums *b = (const FlowSums *)product->b[column * product->b_next].lines;
    for (int64_t k = 0; k < product->depth; k++, a += FLOW_SIDE, b += FLOW_SIDE)
        for (int i = 0; i < FLOW_SIDE; i++, a++, b++) {
            FLOW_ONE_PLACE(a);
#pragma GCC unroll 2
            for (int odd = 0; odd < 2; odd++)
#pragma GCC unroll 8
                for (int m = 0; m < FLOW_HALF_ROWS; m++) {
                    const float *at = a + (m * 2 * FLOW_PART + odd) * FLOW_SIDE;
                    const FlowSums one = *at - (FlowSums){0};
#pragma GCC unroll 2
                    for (int n = 0; n < across; n++)
                        sums[n][m] += one * b[(n * product->b_next + odd) * FLOW_SIDE];
                    FLOW_STAYS_IF(across > 1, one);
                }
        }
}

/* One row group, whose floats are in `left`, if any; with two columns no product waits for the one
 * before it, and a row is read once for both. */
FLOW_TILE void flow_half_across(const FlowHalfProduct *product, const FlowHalfLeft *left,
                                int64_t row, int64_t column, const int across) {
    float *at = product->sums + row * product->stride + column * FLOW_SIDE;
    FlowSums sums[2][FLOW_HALF_ROWS];
#pragma GCC unroll 2
    for (int n = 0; n < across; n++) flow_half_load(product, at + n * FLOW_SIDE, sums[n]);
    if (left) flow_half_add_floats(product, left, column, across, sums);
    else flow_half_add_pairs(product, row, column, across, sums);
#pragma GCC unroll 2
    for (int n = 0; n < across; n++) flow_half_store(product, at + n * FLOW_SIDE, sums[n]);
}

FLOW_TILE void flow_half_by_rows(const FlowHalfProduct *product, const int pairs) {
    FlowHalfLeft floats, *const left = pairs ? NULL : &floats;
    for (int64_t row = 0; row < product->rows; row += FLOW_HALF_ROWS) {
        int64_t n = 0;
        if (left) flow_half_widen_rows(product, row, left);
        for (; n + 1 < product->columns; n += 2) flow_half_across(product, left, row, n, 2);
        if (n < product->columns) flow_half_across(product, left, row, n, 1);
    }
}

static inline FLOW_WIDE void flow_half_by_pairs(const FlowHalfProduct *product) {
    flow_half_by_rows(product, 1);
}

static inline FLOW_WIDE void flow_half_by_vectors(const FlowHalfProduct *product) {
    flow_half_by_rows(product, 0);
}

static FLOW_ONE_COPY FLOW_WIDE void flow_half_multiply(const FlowHalfProduct *product, int means) {
    if (means == FLOW_HALF_tiles) flow_half_by_tiles(product);
    else if (means == FLOW_HALF_pairs) flow_half_by_pairs(product);
    else flow_half_by_vectors(product);
}

#endif
