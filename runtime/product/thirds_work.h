/* thirds_work.h: what the parts of a product by thirds share (thirds.c): the work at hand, tiles of
 * thirds, how they are made and multiplied. */
#ifndef FLOW_THIRDS_WORK_H
#define FLOW_THIRDS_WORK_H

#include "runtime/product/matrix.h"
#include "runtime/product/place.h"
#include "runtime/product/thirds.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef FLOW_HAS_THIRDS

#define KERNEL thirds
#define ELEMENT float
#include "runtime/product/lanes.h"

enum {
    WIDTH = FLOW_THIRDS_SIDE, /* rows of a group, columns of a panel: two tiles */
    NEAR = 4,                 /* tiles in depth, at most, of a chunk */
    ONE_PART = 16,            /* tiles in depth of a product that is not cut into parts */
    FEW_GROUPS = 2,           /* of rows, at most, that thirds_few.c takes, */
    RING = 4,                 /* with so many pairs of tiles of b */
};

static const uint32_t third_bits = 0xffff0000; /* of a float, that its first third has */

typedef struct Thirds {
    FlowTile of[3];
} Thirds;

/* Tiles to be made: of a group of rows or a panel of columns, its sides, from a depth on, two for
 * each tile in depth. */
typedef struct Packing {
    const float *from;         /* the first element */
    int64_t by_side, by_depth; /* what the next one adds */
    int64_t sides, depths;     /* that are there */
    int64_t row, k;            /* a in runs: numbers of the first of both */
    bool depths_lie;           /* elements of one depth are adjacent, not those of one side */
    bool turned, in_runs;      /* lines in memory become lanes; they are in runs */
    int64_t halves;            /* how many of the two there are */
    int64_t units;             /* to make: quarters of tiles */
    Thirds *to;
    bool *whole; /* stays true while all elements of a are their own first thirds */
} Packing;

/* Sums to become results, of rows of the slice and columns of the product; rows 0: none. */
typedef struct Finishing {
    const float *sums;
    int64_t stride;
    int64_t row, rows, column, columns;
} Finishing;

/* What is done while tiles are multiplied, in so many turns: `units` in all. Each turn adds them to
 * `credit`, and takes `turns` from it for each one it does. */
typedef struct Chores {
    Packing packing; /* units 0: none */
    Finishing finishing;
    int64_t units, done, turns, credit;
} Chores;

typedef struct Work {
    const FlowProduct *product; /* whose operands are those of one slice */
    int64_t named;              /* what its first row is called */
    int64_t row, rows;
    int64_t column, columns;                 /* of the block */
    int64_t wide;                            /* the most of them */
    int64_t k, depth;                        /* of the part */
    int64_t tiles;                           /* the part's, in depth */
    int64_t depth_at[ONE_PART * FLOW_DEPTH]; /* where those of the part lie, if a is in runs, */
    int64_t row_at[FLOW_SIDE], found;        /* and the rows from `found` on */
    VECTOR half[2][FLOW_SIDE]; /* of a tile that is made: low and high elements of its pairs */
    Thirds *left[2], *right;   /* left: chunks of a, one after the other, or of two groups: */
    bool whole[2];             /* all but the first thirds there are 0 */
    float *sums;               /* a row every `wide` */
    Chores chores;
} Work;

/* Making tiles. */

/* Sets `packing` where it stays, since a copy would wait for what was just stored: of a or b, the
 * tiles in depth from depth k of the part on; its rows or columns [first, last). whole: of a, where
 * to note it; or NULL. */
void flow_thirds_set(const Work *work, bool of_b, int64_t first, int64_t last, int64_t k,
                     int64_t tiles, Thirds *to, bool *whole, Packing *packing);

/* Where the tiles of b of a panel of a block lie. */
static inline Thirds *right_of(const Work *work, int64_t column, int64_t k) {
    return work->right + (column / WIDTH * work->tiles + k) * 2;
}

/* Makes those of the block, which is what is there of `right`. */
void flow_thirds_make_right(Work *work);

/* Makes number `unit`, one after the other; all of them. */
void flow_thirds_make(Work *work, const Packing *packing, int64_t unit);
void flow_thirds_make_all(Work *work, const Packing *packing);

/* Line i of the thirds of a tile: the elements of `low` are the low halves of its pairs. Gives
 * `doubt`, which is 0, or NaN where one of them is not finite. */
FLOW_TILE VECTOR put_line(VECTOR low, VECTOR high, Thirds *tile, int64_t i, VECTOR doubt) {
    doubt += low * 0 + high * 0;
#pragma GCC unroll 3
    for (int third = 0; third < 3; third++) {
        const FlowPairs a = (FlowPairs)low, b = (FlowPairs)high & third_bits;
        tile->of[third].lines[i] = a >> 16 | b;
        low -= (VECTOR)(a & third_bits), high -= (VECTOR)b;
    }
    return doubt;
}

/* Finishing. */

/* Sums become results; piece by piece, of so many. */
void flow_thirds_finish(const Work *work, const Finishing *finishing);
int64_t flow_thirds_pieces(const Finishing *finishing);
void flow_thirds_finish_piece(const Work *work, const Finishing *finishing, int64_t piece);

/* Multiplying. */

/* Few rows, by the columns of the block (thirds_few.c). */
void flow_thirds_few(Work *work);

/* The six products of thirds: of two rows of tiles by two columns, where there are as many. Which
 * thirds of a and b are next, so that each time one pair of tiles is loaded: the largest last. */
enum { PRODUCTS = FLOW_THIRDS_PRODUCTS, OF_WHOLE = 3 };
static const int third_of_left[PRODUCTS] = {2, 1, 1, 0, 0, 0};
static const int third_of_right[PRODUCTS] = {0, 0, 1, 1, 2, 0};

static const int64_t line_bytes = sizeof(FlowPairs);

FLOW_TILE void load_left(const Thirds *a, int third, const bool below) {
    FLOW_LOAD_TILE(4, &a[0].of[third], line_bytes);
    if (below) FLOW_LOAD_TILE(5, &a[1].of[third], line_bytes);
}

FLOW_TILE void load_right(const Thirds *b, int third, const bool right) {
    FLOW_LOAD_TILE(6, &b[0].of[third], line_bytes);
    if (right) FLOW_LOAD_TILE(7, &b[1].of[third], line_bytes);
}

FLOW_TILE void multiply_pairs(const bool below, const bool right) {
    FLOW_MULTIPLY_TILES(0, 4, 6);
    if (right) FLOW_MULTIPLY_TILES(1, 4, 7);
    if (below) FLOW_MULTIPLY_TILES(2, 5, 6);
    if (below && right) FLOW_MULTIPLY_TILES(3, 5, 7);
}

/* Number i of them, of which the first is 0; or OF_WHOLE, where a is whole. */
FLOW_TILE void multiply_thirds(const Thirds *a, const Thirds *b, const int i, const int first,
                               const bool below, const bool right) {
    const int left = third_of_left[i], with = third_of_right[i];
    if (i == first || left != third_of_left[i - 1]) load_left(a, left, below);
    if (i == first || with != third_of_right[i - 1]) load_right(b, with, right);
    multiply_pairs(below, right);
}

FLOW_TILE void begin_sums(const float *sums, int64_t stride, bool more, bool below, bool right) {
    const int64_t row = stride * (int64_t)sizeof(float);
    const float *sums_below = sums + FLOW_SIDE * stride;
    if (more) {
        FLOW_LOAD_TILE(0, sums, row);
        if (right) FLOW_LOAD_TILE(1, sums + FLOW_SIDE, row);
        if (below) FLOW_LOAD_TILE(2, sums_below, row);
        if (below && right) FLOW_LOAD_TILE(3, sums_below + FLOW_SIDE, row);
    } else {
        FLOW_ZERO_TILE(0);
        FLOW_ZERO_TILE(1);
        FLOW_ZERO_TILE(2);
        FLOW_ZERO_TILE(3);
    }
}

FLOW_TILE void end_sums(float *sums, int64_t stride, bool below, bool right) {
    const int64_t row = stride * (int64_t)sizeof(float);
    float *sums_below = sums + FLOW_SIDE * stride;
    FLOW_STORE_TILE(0, sums, row);
    if (right) FLOW_STORE_TILE(1, sums + FLOW_SIDE, row);
    if (below) FLOW_STORE_TILE(2, sums_below, row);
    if (below && right) FLOW_STORE_TILE(3, sums_below + FLOW_SIDE, row);
}

#endif
#endif
