/* matmul.c: y[outer, row, column] = sum(depth) a[outer, row, depth] * b[outer, depth, column].
 *
 * Included once for each contraction, after these definitions, which it takes back at its end:
 *
 *   KERNEL                    name of the function it defines
 *   CONTEXT, PREPARE          type with pointers `a` and `b`; what makes it from a frame and a
 *                             call's operands
 *   PLAIN, RESULT             1: the sums are the result, which RESULT of a `context` points to;
 *                             0: they wait at RESULT, work->waiting, and
 *   FINISH                    makes results of them and stores these
 *   ASK(i)                    asks for element i of RESULT, or what FINISH reads and writes there
 *   ELEMENT                   float or double
 *   APPLIES, RESULTS, KEPT    1: the functions of codegen/tile_text.c make RESULTS vectors of one
 *                             of sums, where vectors are whole or may be parts; 1: some of these
 *                             results are not stored where they are not finite
 *   UPDATES                   so many values that are updated are all that is stored; 0: there is
 *                             something else
 *   THIRDS                    1: matrix tiles multiply it, if there are some (by_thirds.h)
 *   STORED, LOAD(a)           type of the operands in memory, and what makes an ELEMENT of it
 *   OUTER, ROWS, DEPTH, COLUMNS; they may use `batch` and `sizes`
 *   MOST_ROWS, MOST_DEPTH, MOST_COLUMNS     numbers: their bounds
 *   COLUMNS_VARY              0: COLUMNS is the number MOST_COLUMNS
 *   A_OUTER(s), B_OUTER(s)    where the matrices of `outer` index s begin, in elements
 *   A_ROW_AT(m), A_DEPTH_AT(k)     what row m and depth k of a add to that
 *   A_ROW, A_DEPTH            what the next one adds, in a run
 *   A_ROW_RUN, A_DEPTH_RUN    how many there are in a run
 *   A_ROW_RUNS                for windows.c: so many runs of rows are evenly spaced
 *   A_INSIDE                  for windows.c: so many lines of a padded image are no padding, or 0;
 *   A_INSIDE_FIRST            the first of them
 *   A_INSIDE_LINE, A_INSIDE_LINES     so many rows begin in one line, and in so many lines
 *   A_INSIDE_BY_ROW, A_INSIDE_BY_DEPTH     how many the next A_INSIDE_LINE rows, or the next run
 *                             of depths, go on
 *   A_SIDE, A_SIDE_FIRST      the same of the places in a line: so many, from the first on
 *   A_SIDE_TAPS, A_SIDE_BY_ROW     how many of them a run of depths is, and the next row goes on
 *   A_TABLE                   0: rows are one run, and so are depths
 *   B_DEPTH_AT(k), B_COLUMN_AT(n), B_DEPTH, B_COLUMN, B_DEPTH_RUN, B_COLUMN_RUN     same for b
 *   B_TABLE                   0: depths are one run
 *   LEAVES_ZEROS              1: 0 times what is not finite may be 0, and a may hold many zeros;
 *   DENSE_KERNEL              where it doesn't, this kernel is called, whose CALLED is static
 *   ZEROS_ALONG               1: its depths are adjacent; 0: its rows
 *   ZEROS_CHANGE_NOTHING      1: where sums are zero all that is stored is what was there, but for
 *                             the sign of a zero
 *   BY_COLUMNS                1: threads split the columns; 0: the rows,
 *   SHARE_BLOCK               in whole blocks of so many
 *   SEES_COLUMNS              1: row r is wanted for columns before SEEN_COLUMNS(r, COLUMNS) alone
 *   SEES_DEPTH                1: its products are 0 before depth UNSEEN_DEPTH(r, DEPTH) and from
 *                             SEEN_DEPTH(r, DEPTH) on; all three never fall from row to row
 *   PARTS, PART_DEPTH         for windows.c and winograd_weights.c: in so many parts, each but the
 *                             last so deep, the depth is added up, to sums at `parts` of a
 *                             `context`; 1: there are none
 *
 * By vectors each sum is taken in the order of depth, in parts that the depth alone decides,
 * whatever the tiles and threads.
 *
 * A tile of sums is kept in registers. A block of columns of b, as deep as one part, fits half of
 * the second cache, and all rows use it before the next one. A panel of it is as wide as a tile,
 * and read where it lies unless that is too scattered for so many rows. Rows of a are copied where
 * they are in runs, of another type, or would fall on the same lines of the nearest cache. */
#ifndef KERNEL
#include "program.h"
typedef struct ExampleContext {
    int64_t batch;
    const int64_t *sizes;
    const float *a, *b;
    float *y;
} ExampleContext;
static inline ExampleContext example_prepare(const FlowFrame *frame, const int64_t *operands) {
    return (ExampleContext){frame->batch, frame->sizes, flow_at(frame, operands[0]),
                            flow_at(frame, operands[1]), flow_at(frame, operands[2])};
}
#define KERNEL example
#define CONTEXT ExampleContext
#define PREPARE example_prepare
#define PLAIN 1
#define RESULT context.y
#define FINISH(...) (void)0
#define ASK(i) (void)0
#define ELEMENT float
#define APPLIES 0
#define KEPT 0
#define RESULTS 0
#define UPDATES 0
#define THIRDS 0
#define STORED float
#define LOAD(a) (a)
#define OUTER 1
#define ROWS batch
#define DEPTH 128
#define COLUMNS 10
#define MOST_ROWS 64
#define MOST_DEPTH 128
#define MOST_COLUMNS 10
#define COLUMNS_VARY 0
#define A_OUTER(s) 0
#define A_ROW_AT(m) (m) * 128
#define A_DEPTH_AT(k) (k)
#define A_ROW 128
#define A_DEPTH 1
#define A_ROW_RUN batch
#define A_ROW_RUNS 1
#define A_DEPTH_RUN 128
#define A_TABLE 0
#define A_INSIDE 0
#define A_INSIDE_FIRST 0
#define A_INSIDE_LINE 1
#define A_INSIDE_LINES 1
#define A_INSIDE_BY_ROW 1
#define A_INSIDE_BY_DEPTH 1
#define A_SIDE 0
#define A_SIDE_FIRST 0
#define A_SIDE_TAPS 1
#define A_SIDE_BY_ROW 1
#define B_OUTER(s) 0
#define B_DEPTH_AT(k) (k) * 10
#define B_COLUMN_AT(n) (n)
#define B_DEPTH 10
#define B_COLUMN 1
#define B_DEPTH_RUN 128
#define B_COLUMN_RUN 10
#define B_TABLE 0
#define LEAVES_ZEROS 0
#define ZEROS_CHANGE_NOTHING 0
#define ZEROS_ALONG 0
#define BY_COLUMNS 0
#define SHARE_BLOCK FLOW_SHARE_BLOCK
#define PARTS 1
#define PART_DEPTH 128
#define SEES_COLUMNS 0
#define SEES_DEPTH 0
#define SEEN_COLUMNS(row, all) (all)
#define SEEN_DEPTH(row, all) (all)
#define UNSEEN_DEPTH(row, all) 0
#endif

#if !APPLIES /* which had to be known before */
#include "product/lanes.h"
#endif

#define ACROSS FLOW_JOIN(KERNEL, _ACROSS)
#define TILE_VECTORS FLOW_JOIN(KERNEL, _TILE_VECTORS)
#define TILE_ROWS FLOW_JOIN(KERNEL, _TILE_ROWS)
#define MANY_ROWS FLOW_JOIN(KERNEL, _MANY_ROWS)
#define LOW_ROWS FLOW_JOIN(KERNEL, _LOW_ROWS)
#define WIDTH FLOW_JOIN(KERNEL, _WIDTH)
#define ALL_WIDE FLOW_JOIN(KERNEL, _ALL_WIDE)
#define PARTIAL FLOW_JOIN(KERNEL, _PARTIAL)
#define PART FLOW_JOIN(KERNEL, _PART)
#define ONE_PART FLOW_JOIN(KERNEL, _ONE_PART)
#define DENSE_PART FLOW_JOIN(KERNEL, _DENSE_PART)
#define GOES_ON FLOW_JOIN(KERNEL, _GOES_ON)
#define NO_GAPS FLOW_JOIN(KERNEL, _NO_GAPS)
#define BLOCK FLOW_JOIN(KERNEL, _BLOCK)
#define GROUP FLOW_JOIN(KERNEL, _GROUP)
#define WAITING FLOW_JOIN(KERNEL, _WAITING)
#define COPIED_B FLOW_JOIN(KERNEL, _COPIED_B)
#define ONE_BLOCK FLOW_JOIN(KERNEL, _ONE_BLOCK)
#define SAME_TYPE FLOW_JOIN(KERNEL, _SAME_TYPE)
#define FAR_RESULTS FLOW_JOIN(KERNEL, _FAR_RESULTS)
#define IN_VECTORS FLOW_JOIN(KERNEL, _IN_VECTORS)
#define AT_ONCE FLOW_JOIN(KERNEL, _AT_ONCE)
#define LATE FLOW_JOIN(KERNEL, _LATE)
#define BESIDE FLOW_JOIN(KERNEL, _BESIDE)
#define BY_TWOS FLOW_JOIN(KERNEL, _BY_TWOS)
#define TILE FLOW_JOIN(KERNEL, _TILE)
#define ASKS FLOW_JOIN(KERNEL, _ASKS)
#define COPY_PAYS FLOW_JOIN(KERNEL, _COPY_PAYS)
#define MASKS_ARE_SLOW FLOW_JOIN(KERNEL, _MASKS_ARE_SLOW)
#define ROWS_PAY FLOW_JOIN(KERNEL, _ROWS_PAY)
#define ROWS_AHEAD FLOW_JOIN(KERNEL, _ROWS_AHEAD)
#define LINE FLOW_JOIN(KERNEL, _LINE)
#define LOOK_DEPTHS FLOW_JOIN(KERNEL, _LOOK_DEPTHS)
#define LOOK_ROWS FLOW_JOIN(KERNEL, _LOOK_ROWS)
#define LOOK_VECTORS FLOW_JOIN(KERNEL, _LOOK_VECTORS)
#define LISTED FLOW_JOIN(KERNEL, _LISTED)
#define DEEP FLOW_JOIN(KERNEL, _DEEP)
/* Numbers, not macros of macros, whose text would take long to read. */
enum {
    /* The tile of sums. */
    ACROSS = FLOW_ACROSS(MOST_COLUMNS, LANES),
    TILE_VECTORS = LEAVES_ZEROS ? FLOW_ZEROS_VECTORS(ZEROS_ALONG, MOST_DEPTH, ACROSS, FLOW_VECTOR,
                                                     FLOW_SUMS, BY_COLUMNS, UPDATES)
                                : FLOW_TILE_VECTORS(MOST_ROWS, MOST_DEPTH, ACROSS, FLOW_VECTOR,
                                                    FLOW_SUMS, BY_COLUMNS),
    TILE_ROWS = LEAVES_ZEROS
                    ? FLOW_ZEROS_ROWS(MOST_ROWS, FLOW_SUMS, TILE_VECTORS, UPDATES)
                    : FLOW_TILE_ROWS(MOST_ROWS, MOST_DEPTH, UPDATES == 1, FLOW_SUMS, TILE_VECTORS),
    /* Of a low one, for the last rows: of many rows two are enough, which compile sooner, as long
     * as their sums are too many to wait for each other. */
    MANY_ROWS = 32 * TILE_ROWS,
    LOW_ROWS = FLOW_LEAST(TILE_ROWS, TILE_VECTORS == 1                            ? 8
                                     : TILE_VECTORS > 3 && MOST_ROWS >= MANY_ROWS ? 2
                                                                                  : 4),
    WIDTH = TILE_VECTORS * LANES,
    ALL_WIDE = ((ACROSS - 1) / TILE_VECTORS + 1) * WIDTH,
    PARTIAL =
        COLUMNS_VARY || MOST_COLUMNS % WIDTH != 0 || (BY_COLUMNS && FLOW_COLUMN_BLOCK % WIDTH != 0),
    SAME_TYPE = sizeof(STORED) == sizeof(ELEMENT),
    /* What is worked on at a time: so much of the depth, a block of b in half of the second cache,
     * a group of rows of a, and sums that wait for the rest of their depth. */
    DENSE_PART = !SAME_TYPE          ? 384 /* so that blocks are wide: a is copied for each */
                 : !PLAIN            ? 1024
                 : MOST_DEPTH > 1024 ? 256
                                     : 512,
    /* Without zeros a part is what the nearest cache holds of a panel of b, for all rows; its sums
     * go on where those of the part before end, so that they are as if there were one. */
    GOES_ON = LEAVES_ZEROS && ZEROS_ALONG && MOST_DEPTH <= DENSE_PART,
    PART =
        GOES_ON ? FLOW_LEAST(DENSE_PART, FLOW_ZEROS_PART(TILE_VECTORS *FLOW_VECTOR)) : DENSE_PART,
    ONE_PART = MOST_DEPTH <= PART,
    /* Do rows of sums lie side by side? What a tile stores behind one is then overwritten. */
    NO_GAPS = !PLAIN && !COLUMNS_VARY && ACROSS == TILE_VECTORS && ONE_PART,
    BLOCK = FLOW_BLOCK / sizeof(ELEMENT),
    DEEP = FLOW_LEAST(PART, MOST_DEPTH),
    GROUP = (LEAVES_ZEROS ? FLOW_ZEROS_TILES(DEEP)
             : SAME_TYPE  ? 2
                          : 4 /* as halves fill more of a line of the caches */) *
            TILE_ROWS,
    WAITING = FLOW_WAITING / sizeof(ELEMENT),
    COPIED_B = FLOW_LEAST(BLOCK, PART *FLOW_LEAST(ALL_WIDE, BLOCK / PART + 1)),
    /* Is one block as wide as the product? */
    ONE_BLOCK = !BY_COLUMNS && ALL_WIDE <= BLOCK / PART,
    /* Are results asked for before a tile, which is deep enough, since they are more than the
     * second cache holds beside b? */
    FAR_RESULTS = MOST_DEPTH > 128 && MOST_ROWS > 2 * BLOCK / FLOW_LEAST(MOST_COLUMNS, 65536),
    /* Are results made vector by vector? A load waits for a store with a mask that spans it, as
     * that of a short row before it does. */
    IN_VECTORS = APPLIES && (!PARTIAL || (FLOW_MASKS && MOST_COLUMNS > WIDTH)),
    /* Do they take the place of the sums in registers, as a single one for each does? Then none is
     * stored before all are known to be finite, which takes one test for the tile. */
    AT_ONCE = IN_VECTORS && UPDATES == 1,
    TILE = TILE_ROWS * WIDTH,
    /* Or are they made while the next tile is added up, one at each depth, if it is deep enough for
     * all, which one without zeros may not be, and where there are registers for that? Else they
     * are right behind their own. */
    LATE = !LEAVES_ZEROS && IN_VECTORS && !AT_ONCE && FLOW_OF_VECTORS(1, 0, 0, 1) &&
           MOST_DEPTH >= TILE / LANES,
    /* Are they made beside the next tile, of sums that stay in registers (matmul_beside.h)? Updates
     * are, which take divisions. */
    BESIDE = LEAVES_ZEROS && IN_VECTORS && KEPT && UPDATES > 1 && FLOW_OF_VECTORS(1, 0, 0, 0) &&
             !PARTIAL && ONE_PART && TILE_VECTORS % 2 == 0 && LOW_ROWS == TILE_ROWS,
    /* Are two depths added in a turn of a full tile? That saves what counts them, which is much
     * where a tile is small; else it takes longer to compile than it saves, as of few depths, which
     * a list without zeros has. */
    BY_TWOS = !LEAVES_ZEROS && FLOW_OF_VECTORS(1, 0, 0, 0) && MOST_DEPTH > 16 && TILE / LANES <= 15,
    /* Is a so large that its rows are asked for ahead? */
    ASKS = MOST_ROWS > 131072 / (int)sizeof(ELEMENT) / FLOW_LEAST(MOST_DEPTH, 65536),
    /* Is there so little arithmetic at a depth that masks of columns would take longer? */
    MASKS_ARE_SLOW = FLOW_MASKS && PARTIAL && TILE_ROWS <= 3,
    /* More columns are worth a copy of a: those of two tiles of a product that is not deep. */
    COPY_PAYS =
        2 * LANES * FLOW_TILE_VECTORS(MOST_ROWS, 1, ACROSS, FLOW_VECTOR, FLOW_SUMS, BY_COLUMNS),
    /* So many rows are worth a copy of b that is ready: see COPIES_READY. */
    ROWS_PAY = 128,
    ROWS_AHEAD = 4,              /* of b, while it is copied */
    LINE = 64 / sizeof(ELEMENT), /* elements of a line of the caches */
    /* Of matmul_zeros.h: bits of a number, vectors of rows that are looked at together, whole ones
     * of a group, and the most that a list has, with what is written behind it. */
    LOOK_DEPTHS = 32,
    LOOK_VECTORS = 4,
    LOOK_ROWS = ((GROUP - 1) / (LOOK_VECTORS * LANES) + 1) * LOOK_VECTORS * LANES,
    LISTED = DEEP + LOOK_DEPTHS
};

/* Do columns of a panel of b lie side by side? As a tile reads them? */
#define B_ADJACENT                   \
    (!B_TABLE && B_COLUMN == 1 &&    \
     ((B_COLUMN_RUN) == (COLUMNS) || \
      ((B_COLUMN_RUN) % WIDTH == 0 && !(BY_COLUMNS && FLOW_COLUMN_BLOCK % WIDTH))))
#define B_READY (SAME_TYPE && B_ADJACENT)
/* Are rows of a copied? Depths are adjacent in the copy, or rows where they are in a. Not without
 * zeros: tiles read a part of them alone. */
#define A_ACROSS (A_DEPTH != 1 && A_ROW == 1)
#define COPIES_A                                   \
    (A_TABLE || !SAME_TYPE ||                      \
     (!LEAVES_ZEROS && MOST_COLUMNS > COPY_PAYS && \
      (A_ACROSS ? MOST_DEPTH > 128 : TILE_ROWS > 8 && (A_ROW) * sizeof(ELEMENT) % 4096 == 0)))
/* May b be ready but too scattered? */
#define SCATTERED_B ((B_DEPTH) * sizeof(ELEMENT) > 2048)
/* Is it copied though it is ready, on AVX? See FLOW_SCATTERED. */
#define COPIES_READY                                                    \
    (FLOW_OF_VECTORS(0, 1, 0, 0) && B_READY && MOST_ROWS >= ROWS_PAY && \
     (B_DEPTH) * sizeof(ELEMENT) > FLOW_SCATTERED)
#define COPY_ROW (A_ACROSS ? 1 : PART + 16)
#define COPY_TILE (A_ACROSS ? PART * TILE_ROWS : COPY_ROW * TILE_ROWS)
#define COPY_DEPTH (A_ACROSS ? TILE_ROWS : 1)
/* A tile is a function of its own: its loop has all general registers, and it takes a quarter less
 * to compile. */
#define TILE_CALL static FLOW_WIDE __attribute__((noinline))
/* A tile of sums whose results are made while the next tile is added up, LATE: the processor then
 * has other work to do during divisions and loads. Or one of which results are held. */
typedef struct FLOW_JOIN(KERNEL, _late) {
    int64_t row, column, columns; /* of the first result, and those that are left from there on */
    int64_t rows;
    _Alignas(64) ELEMENT sums[LATE ? TILE : 1];
    _Alignas(64) ELEMENT held[IN_VECTORS && KEPT ? RESULTS * TILE : 1]; /* results not stored yet */
} FLOW_JOIN(KERNEL, _late);

/* The rows of a slice that are worked on, and what of them at the moment. */
typedef struct FLOW_JOIN(KERNEL, _work) {
    const CONTEXT *context;
    const STORED *a, *b; /* of the slice */
    int64_t slice, row;
    int64_t column, columns; /* of the block */
    int64_t k, depth;        /* of the part */
    int64_t part, wide;      /* the most of both, but for the rest */
    int64_t start;           /* the row whose sums are the first that wait */
    int copies_b;
    ELEMENT *right, *left, *waiting;
    int64_t *depth_at;
#if LEAVES_ZEROS
    uint16_t *lists; /* of depths, LISTED apart, of each tile of a group, */
    int32_t *counts; /* how many each has, */
    int64_t tiles;   /* and how many tiles have taken theirs */
    const uint16_t *listed;
    int64_t listed_count; /* of the tile */
#endif
    FLOW_JOIN(KERNEL, _late) * late;
    int closed; /* results are all held */
} FLOW_JOIN(KERNEL, _work);

/* A tile: where its operands begin, and what it asks for on its way: a step for each k. */
typedef struct FLOW_JOIN(KERNEL, _place) {
    const ELEMENT *a, *b;
    int64_t b_depth;
    ELEMENT *sums;
    int64_t stride, columns;
    int64_t row, column; /* of the first result */
#if SEES_DEPTH
    int64_t from, depth; /* what its rows see of the part */
#endif
    const char *ahead;
    int64_t ahead_step;
} FLOW_JOIN(KERNEL, _place);

_Static_assert(PLAIN || !LEAVES_ZEROS ||
                   GROUP * (ONE_BLOCK ? ALL_WIDE : FLOW_LEAST(ALL_WIDE, 512)) <= WAITING,
               "sums of a group wait");

#if THIRDS
#include "product/thirds.h"
#endif
#include "matmul_results.h"
#include "matmul_zeros.h"

/* Adds the products of its depth number i to the tile y; whole: all its columns are wanted. */
FLOW_TILE void FLOW_JOIN(KERNEL, _add)(WORK, const FLOW_JOIN(KERNEL, _place) * tile,
                                       const int64_t *row_at, const int rows, const int whole,
                                       int64_t i, VECTOR y[TILE_ROWS][TILE_VECTORS]) {
    WITH_SIZES;
    const int64_t k = FLOW_JOIN(KERNEL, _depth)(work, i);
    const int64_t a_row = COPIES_A ? COPY_ROW : (A_ROW),
                  a_depth = COPIES_A ? COPY_DEPTH : (A_DEPTH);
    const int64_t b_depth = B_READY && !COPIES_READY ? tile->b_depth : WIDTH;
    const ELEMENT *restrict a = tile->a, *restrict b = tile->b;
    VECTOR right[TILE_VECTORS];
    if (ASKS && !BESIDE) __builtin_prefetch(tile->ahead + k * tile->ahead_step, 0, 2);
    if (MOST_DEPTH > 256 && !COPIES_READY && !LEAVES_ZEROS) /* what other threads have written */
#pragma GCC unroll 8
        for (int n = 0; n < WIDTH; n += LINE) __builtin_prefetch(b + (k + 16) * b_depth + n);
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; v++) {
        const ELEMENT *from = b + k * b_depth + v * LANES;
        if (!FLOW_MASKS || whole) right[v] = *(const VECTOR *)from;
        else right[v] = FLOW_JOIN(KERNEL, _load)(from, tile->columns - v * LANES);
    }
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++) {
        const VECTOR left = a[row_at[m] * a_row + k * a_depth] - (VECTOR){0};
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++)
            y[m][v] = FLOW_JOIN(KERNEL, _add_product)(y[m][v], left, right[v]);
        FLOW_STAYS_IF(TILE_VECTORS > 2, left); /* which that many products read */
    }
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; v++)
        if ((rows + 1) * TILE_VECTORS < 16) FLOW_STAYS(right[v]); /* registers hold all */
}

/* Those of the depths from k on. */
FLOW_TILE void FLOW_JOIN(KERNEL, _add_rest)(WORK, const FLOW_JOIN(KERNEL, _place) * tile,
                                            const int64_t *row_at, const int rows, const int whole,
                                            int64_t k, VECTOR y[TILE_ROWS][TILE_VECTORS]) {
#if SEES_DEPTH
    const int64_t depth = tile->depth;
#else
    const int64_t depth = FLOW_JOIN(KERNEL, _depths)(work);
#endif
    for (; BY_TWOS && rows == TILE_ROWS && k + 1 < depth; k += 2) {
        FLOW_JOIN(KERNEL, _add)(work, tile, row_at, rows, whole, k, y);
        FLOW_JOIN(KERNEL, _add)(work, tile, row_at, rows, whole, k + 1, y);
    }
    for (; k < depth; k++) FLOW_JOIN(KERNEL, _add)(work, tile, row_at, rows, whole, k, y);
}

/* To those of a tile, those of the parts before. */
FLOW_TILE void FLOW_JOIN(KERNEL, _add_sums)(const ELEMENT *sums, const int64_t *row_at,
                                            const int rows, int64_t stride, int64_t columns,
                                            VECTOR y[TILE_ROWS][TILE_VECTORS]) {
    (void)columns;
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) {
            const ELEMENT *from = sums + row_at[m] * stride + v * LANES;
            if (!PLAIN || !PARTIAL) y[m][v] += *(const VECTOR *)from;
            else y[m][v] += FLOW_JOIN(KERNEL, _load)(from, columns - v * LANES);
        }
}

/* `rows` rows of sums, a constant where it is called, which are added to those of the parts
 * before. Rows past the last, if that is less than all, are the last once more. */
FLOW_TILE void FLOW_JOIN(KERNEL, _tile)(WORK, const FLOW_JOIN(KERNEL, _place) * place,
                                        const int rows, const int last) {
    WITH_SIZES;
    const FLOW_JOIN(KERNEL, _place) tile = *place;
    const int64_t depth = work->depth, stride = tile.stride, columns = tile.columns;
    ELEMENT *restrict sums = tile.sums;
    int64_t row_at[TILE_ROWS], k = 0, depths_seen = FLOW_JOIN(KERNEL, _depths)(work);
#if SEES_DEPTH
    k = tile.from, depths_seen = tile.depth - k;
#endif
    (void)depths_seen; /* where results are not made meanwhile */
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++) row_at[m] = flow_smaller(m, last);
    VECTOR y[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) y[m][v] = (VECTOR){0};
    if (GOES_ON && !ONE_PART && work->k)
        FLOW_JOIN(KERNEL, _add_sums)(sums, row_at, rows, stride, columns, y);
#if APPLIES
    uint64_t held = 0;
    if (LATE && rows == TILE_ROWS) {
        const CONTEXT context = *work->context;
        FLOW_JOIN(KERNEL, _late) *const late = work->late;
        const int64_t row = late->row, column = late->column, others = late->columns;
        const int64_t most =
            work->closed ? 0 : flow_smaller(depths_seen / TILE_VECTORS, late->rows);
        if (most < late->rows) held = FLOW_JOIN(KERNEL, _apply_from)(work, most);
        for (int64_t m = 0; m < most; m++)
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++, k++) {
                held = FLOW_JOIN(KERNEL, _apply_late)(&context, late, row, column, others, m, v, 0,
                                                      held);
                FLOW_JOIN(KERNEL, _add)(work, &tile, row_at, rows, !PARTIAL, k, y);
            }
    }
#endif
    if (MASKS_ARE_SLOW && columns >= WIDTH)
        FLOW_JOIN(KERNEL, _add_rest)(work, &tile, row_at, rows, 1, k, y);
    else FLOW_JOIN(KERNEL, _add_rest)(work, &tile, row_at, rows, !PARTIAL, k, y);
    if (!GOES_ON && !ONE_PART && work->k)
        FLOW_JOIN(KERNEL, _add_sums)(sums, row_at, rows, stride, columns, y);
    const int complete = IN_VECTORS && (MOST_DEPTH <= PART || work->k + depth == (DEPTH));
#if APPLIES
    if (!LATE && complete) {
        /* `place`: what is not inlined there would keep the copy in memory, also in loops */
        if (AT_ONCE) FLOW_JOIN(KERNEL, _conclude)(work, place, row_at, rows, last, y);
        else FLOW_JOIN(KERNEL, _conclude_each)(work, place, rows, last, y);
        return;
    }
#endif
    const int late = LATE && complete;
    ELEMENT *const base = late ? work->late->sums : sums;
    const int64_t apart = late ? WIDTH : stride;
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) {
            ELEMENT *to = base + row_at[m] * apart + v * LANES;
            if (!PLAIN || !PARTIAL) *(VECTOR *)to = y[m][v];
            else FLOW_JOIN(KERNEL, _store)(to, y[m][v], columns - v * LANES);
        }
#if APPLIES
    if (LATE) {
        FLOW_JOIN(KERNEL, _settle)(work, held);
        work->late->row = tile.row;
        work->late->column = tile.column;
        work->late->columns = columns;
        work->late->rows = late ? last + 1 : 0;
    }
#endif
}

/* How high the next tile is, of the rows that are left. Two low ones may have fewer rows than a
 * full and a low one. Copies of adjacent rows are laid out for full ones. */
FLOW_TILE int FLOW_JOIN(KERNEL, _height)(WORK, int64_t rows) {
    WITH_SIZES;
    if (!(COPIES_A && A_ACROSS) && rows > TILE_ROWS && rows <= 2 * LOW_ROWS) return LOW_ROWS;
    return rows >= TILE_ROWS ? TILE_ROWS : (int)flow_smaller(rows, LOW_ROWS);
}

/* A tile of full height, and a low one: more heights take longer to compile than they save. */
TILE_CALL void FLOW_JOIN(KERNEL, _full_tile)(WORK, const FLOW_JOIN(KERNEL, _place) * tile) {
    FLOW_JOIN(KERNEL, _tile)(work, tile, TILE_ROWS, TILE_ROWS - 1);
}

TILE_CALL void FLOW_JOIN(KERNEL, _low_tile)(WORK, const FLOW_JOIN(KERNEL, _place) * tile,
                                            int height) {
    if (TILE_ROWS > 1) FLOW_JOIN(KERNEL, _tile)(work, tile, LOW_ROWS, height - 1);
}

#include "matmul_copies.h"

/* What tile `call` of `calls` asks for: its share of the group of rows that begins with `row`, a
 * step for each k. Across, those are lines that the group before had not. */
FLOW_TILE const char *FLOW_JOIN(KERNEL, _ahead)(WORK, int64_t row, int64_t call, int64_t calls,
                                                int64_t *step) {
    WITH_SIZES;
    (void)row;
    const int64_t line = 64 / sizeof(STORED), from_end = call * line;
    const int asks = from_end < GROUP;
    *step = A_ACROSS ? asks * (A_DEPTH) : flow_smaller(line, (GROUP - 1) / calls + 1);
    *step *= (int64_t)sizeof(STORED);
    const STORED *a = work->a + (A_DEPTH_AT(work->k));
    return (const char *)(A_ACROSS ? a + (A_ROW_AT(row)) + (asks ? GROUP - 1 - from_end : 0)
                                   : a + (A_ROW_AT(row + call * GROUP / calls)));
}

/* Where a tile reads the panel at `n` of the block of b, and what its next depth adds. */
FLOW_TILE const ELEMENT *FLOW_JOIN(KERNEL, _panel)(WORK, int64_t n, int64_t *b_depth) {
    WITH_SIZES;
    const int copied = FLOW_JOIN(KERNEL, _is_copied)(work, n);
    *b_depth = copied ? WIDTH : (B_DEPTH);
    return copied
               ? work->right + n * work->part
               : (const ELEMENT *)work->b + (B_DEPTH_AT(work->k)) + (B_COLUMN_AT(work->column + n));
}

#include "matmul_beside.h"

/* The tiles of `height` rows from row m on; in_group: those of the group before them. */
FLOW_TILE void FLOW_JOIN(KERNEL, _tiles)(FLOW_JOIN(KERNEL, _work) *restrict work, int64_t m,
                                         int64_t in_group, int height) {
    WITH_SIZES;
    const CONTEXT context = *work->context;
    const int64_t row = work->row + m, all = ONE_BLOCK ? (COLUMNS) : work->columns;
    const int64_t seen = SEEN_COLUMNS(row + height - 1, COLUMNS) - work->column;
    const int64_t columns = SEES_COLUMNS ? flow_smaller(all, seen) : all;
#if SEES_DEPTH
    const int64_t end = flow_smaller(SEEN_DEPTH(row + height - 1, DEPTH) - work->k, work->depth);
    const int64_t depth = flow_larger(end, 0);
    const int64_t from = flow_smaller(flow_larger(UNSEEN_DEPTH(row, DEPTH) - work->k, 0), depth);
#endif
    const int64_t stride = PLAIN || NO_GAPS ? (COLUMNS) : ONE_BLOCK ? ALL_WIDE : work->wide;
    const ELEMENT *a =
        COPIES_A ? work->left + in_group / TILE_ROWS * COPY_TILE + in_group % TILE_ROWS * COPY_ROW
                 : (const ELEMENT *)work->a + (A_ROW_AT(row)) + (A_DEPTH_AT(work->k));
    ELEMENT *sums =
        PLAIN ? (ELEMENT *)RESULT + (work->slice * (ROWS) + row) * (COLUMNS) + work->column
              : work->waiting + (m - work->start) * stride;
    const int64_t panels = (columns - 1) / WIDTH + 1;
#if LEAVES_ZEROS
    FLOW_JOIN(KERNEL, _next_list)(work);
    if (ZEROS_CHANGE_NOTHING && ONE_PART && !work->listed_count) return;
#endif
    const int last = ONE_PART || work->k + work->depth == (DEPTH),
              asks = FAR_RESULTS && (PLAIN || last);
    for (int64_t n = 0; n < columns; n += WIDTH) {
        int64_t step = 0, b_depth;
        const ELEMENT *b = FLOW_JOIN(KERNEL, _panel)(work, n, &b_depth);
        const char *ahead =
            ASKS ? FLOW_JOIN(KERNEL, _ahead)(work, row - in_group + GROUP,
                                             in_group / TILE_ROWS * panels + n / WIDTH,
                                             GROUP / TILE_ROWS * panels, &step)
                 : NULL;
        const FLOW_JOIN(KERNEL, _place) tile = {
            .a = a,
            .b = b,
            .b_depth = b_depth,
            .sums = sums + n,
            .stride = stride,
            .columns = flow_smaller(columns - n, WIDTH),
            .row = work->slice * (ROWS) + row,
            .column = work->column + n,
#if SEES_DEPTH
            .from = from,
            .depth = depth,
#endif
            .ahead = ahead,
            .ahead_step = step
        };
        for (int i = 0; i < (asks ? height : 0); i++)
            for (int v = 0; v < TILE_VECTORS; v++)
                ASK((work->slice * (ROWS) + row + i) * (COLUMNS) + work->column + n + v * LANES);
        if (height < TILE_ROWS) FLOW_JOIN(KERNEL, _catch_up)(work);
        if (height == TILE_ROWS) FLOW_JOIN(KERNEL, _full_tile)(work, &tile);
        else FLOW_JOIN(KERNEL, _low_tile)(work, &tile, height);
    }
    if (last && !IN_VECTORS && (!SEES_COLUMNS || columns > 0))
        FINISH(&context, sums, stride, work->slice * (ROWS) + row, work->column, height, columns);
}

/* Rows [work->start, end) of one part of the depth. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _part)(FLOW_JOIN(KERNEL, _work) *restrict work,
                                                      int64_t end) {
    WITH_SIZES;
    for (int64_t m = work->start, height; m < end; m += height) {
        const int64_t in_group = (m - work->start) % GROUP;
        const int64_t group = flow_smaller(end - m, GROUP);
        if (COPIES_A && !in_group) FLOW_JOIN(KERNEL, _copy_a)(work, work->row + m, group);
#if LEAVES_ZEROS
        if (!in_group) FLOW_JOIN(KERNEL, _list_group)(work, work->row + m, group);
#if KEPT && UPDATES > 1
        const int64_t full = group / TILE_ROWS * TILE_ROWS;
        if (BESIDE && !ZEROS_CHANGE_NOTHING && !in_group && full && !work->closed) {
            FLOW_JOIN(KERNEL, _tiles_beside)(work, m, full);
            height = full;
            continue;
        }
#endif
#endif
        height = FLOW_JOIN(KERNEL, _height)(work, flow_smaller(end - m, GROUP - in_group));
        FLOW_JOIN(KERNEL, _tiles)(work, m, in_group, (int)height);
    }
}

/* Columns [work->column, work->column + work->columns) of all rows. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _columns)(FLOW_JOIN(KERNEL, _work) *restrict work,
                                                         int64_t rows) {
    WITH_SIZES;
    const int one_part = ONE_PART || work->part >= (DEPTH);
    const int64_t high = one_part ? GROUP : PLAIN ? rows : WAITING / work->wide / GROUP * GROUP;
    for (work->start = 0; work->start < rows; work->start += high)
        for (work->k = 0; work->k < (DEPTH); work->k += work->part) {
            work->depth = flow_smaller((DEPTH)-work->k, work->part);
            const int first = !work->start || !one_part;
            if (first) FLOW_JOIN(KERNEL, _copy_b)(work);
            for (int64_t k = 0; COPIES_A && first && k < work->depth; k++)
                work->depth_at[k] = A_DEPTH_AT(work->k + k);
            FLOW_JOIN(KERNEL, _part)(work, flow_smaller(work->start + high, rows));
        }
}

#if THIRDS && defined FLOW_HAS_THIRDS && !LEAVES_ZEROS
#define BY_THIRDS 1
#else
#define BY_THIRDS 0
#endif
#if BY_THIRDS /* whose arrays would be on the stack beside those of this function */
#define SLICE FLOW_JOIN(KERNEL, _by_vectors)
#define SLICE_CALL static FLOW_WIDE __attribute__((noinline))
#else
#define SLICE FLOW_JOIN(KERNEL, _slice)
#define SLICE_CALL static FLOW_WIDE
#endif
/* The rows [row, row + rows) and the columns [first, last) of one slice. */
SLICE_CALL void SLICE(const CONTEXT *restrict context, int64_t slice, int64_t row, int64_t rows,
                      int64_t first, int64_t last) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    _Alignas(64) ELEMENT right[COPIED_B], left[COPIES_A ? GROUP * (PART + 16) : 1];
    _Alignas(64) ELEMENT waiting[PLAIN ? 1 : WAITING];
    int64_t depth_at[COPIES_A ? PART : 1];
    FLOW_JOIN(KERNEL, _late) late;
    late.rows = 0;
    const int64_t parts = ((DEPTH)-1) / PART + 1, part = ((DEPTH)-1) / parts + 1;
    const int64_t most = flow_smaller(BLOCK / part, 512) / WIDTH * WIDTH;
    const int64_t blocks = ONE_BLOCK ? 1 : (last - first - 1) / most + 1;
    FLOW_JOIN(KERNEL, _work)
    work = {
        .context = context,
        .a = (const STORED *)context->a + (A_OUTER(slice)),
        .b = (const STORED *)context->b + (B_OUTER(slice)),
        .slice = slice,
        .row = row,
        .part = part,
        .wide = ((last - first - 1) / blocks / WIDTH + 1) * WIDTH,
        .copies_b = rows >= 32 && SCATTERED_B,
        .right = right,
        .left = left,
        .waiting = waiting,
        .depth_at = depth_at,
        .late = &late,
#if KEPT
        .closed = FLOW_JOIN(KERNEL, _is_closed)(context),
#endif
    };
#if LEAVES_ZEROS
    enum { TILES = GROUP / TILE_ROWS + (TILE_ROWS - 1) / LOW_ROWS + 1 };
    uint16_t lists[TILES * LISTED];
    int32_t counts[TILES];
    work.lists = lists, work.counts = counts;
#endif
    for (work.column = first; work.column < last; work.column += work.wide) {
        work.columns = flow_smaller(last - work.column, work.wide);
        FLOW_JOIN(KERNEL, _columns)(&work, rows);
    }
    FLOW_JOIN(KERNEL, _catch_up)(&work);
}

#if BY_THIRDS
#include "by_thirds.h"
#endif

#undef BY_THIRDS
#undef SLICE
#undef SLICE_CALL
#undef ACROSS
#undef TILE_VECTORS
#undef TILE_ROWS
#undef MANY_ROWS
#undef LOW_ROWS
#undef WIDTH
#undef PARTIAL
#undef PART
#undef TILE_CALL
#undef NO_GAPS
#undef ONE_PART
#undef DENSE_PART
#undef GOES_ON
#undef SCATTERED_B
#undef BLOCK
#undef GROUP
#undef WAITING
#undef COPIED_B
#undef ONE_BLOCK
#undef ALL_WIDE
#undef SAME_TYPE
#undef B_READY
#undef A_ACROSS
#undef COPIES_A
#undef COPY_ROW
#undef COPY_DEPTH
#undef COPY_TILE
#undef LOOK_DEPTHS
#undef LOOK_ROWS
#undef LOOK_VECTORS
#undef LISTED
#undef DEEP
#undef ASKS
#undef COPIES_READY
#undef ROWS_PAY
#undef ROWS_AHEAD
#undef B_ADJACENT
#undef LINE
#undef COPY_PAYS
#undef MASKS_ARE_SLOW
#undef FAR_RESULTS
#undef IN_VECTORS
#undef AT_ONCE
#undef LATE
#undef BY_TWOS
#undef BESIDE
#undef TILE
#include "split.h"
