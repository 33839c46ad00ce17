/* matmul_half.c: a contraction of bf16, with the parameters of matmul.c, from tiles of pairs.
 *
 * Both operands are copied into tiles (half.h). A block of rows of a, all of their depth, stays in
 * the caches while the columns of b go by, block by block. These blocks are wide, since each row of
 * them lies in another page of memory; so a deep one is copied stretch by stretch of the depth. Of
 * one part of a stretch a pair of rows of tiles of a stays in the first cache. Sums of a product
 * deeper than one part wait for the rest of it. A very deep a is copied by stretches, too.
 * Where vectors are narrower it is matmul.c. */
#if !defined __AVX512BW__ || !defined __AVX512VL__
#include "matmul.c"
#else
#include "half.h"

/* Most tiles of a and of b at a time, 1 KiB each, and how deep a may be to stay: a block of a
 * deeper one has so few rows that copies of b cost more. A call may take 1.5 MiB of the stack. */
#define MOST_LEFT FLOW_LEAST(768, (ROWS_OF_TILES + 1) * DEPTHS_OF_TILES)
#define MOST_RIGHT \
    FLOW_LEAST(256, OF_FLOATS(FLOW_HALF_vectors) * (COLUMNS_OF_TILES + 1) * DEPTHS_OF_TILES)
#define MOST_KEPT 64
#define OF_FLOATS(means) ((means) == FLOW_HALF_vectors ? 2 : 1) /* tiles for one of b */
#define ROWS_OF_TILES ((MOST_ROWS - 1) / FLOW_SIDE + 1)
#define COLUMNS_OF_TILES ((MOST_COLUMNS - 1) / FLOW_SIDE + 1)
#define DEPTHS_OF_TILES ((MOST_DEPTH - 1) / FLOW_DEPTH + 1)
/* Are results so many that the second cache does not keep them? Then rows are asked for ahead. */
#define FAR_RESULTS (MOST_ROWS > FLOW_BLOCK / 4 / FLOW_LEAST(MOST_COLUMNS, 65536))
/* Columns of tiles at a time, and sums: of all rows of a block, unless the depth is one part. */
#define ONE_PART (DEPTHS_OF_TILES <= FLOW_PART)
#define MOST_ACROSS 16
#define WAITING ((ONE_PART ? 2 * FLOW_SIDE : 384) * MOST_ACROSS * FLOW_SIDE)

/* What is worked on at the moment. */
typedef struct FLOW_JOIN(KERNEL, _work) {
    const CONTEXT *context;
    const STORED *a, *b; /* of the slice */
    int64_t slice;
    int64_t row, rows, column, columns; /* the block */
    int64_t k, depths, depth;           /* the stretch: its depths, and in tiles */
    int64_t high, wide, stretch;        /* the most of each: rows, columns, depths */
    int means;
    int keeps_a;            /* all stretches of it, for the blocks of columns to come */
    FlowTile *left, *right; /* of the stretch */
    FlowTile *kept;         /* of a: where its first stretch is */
    float *waiting;
} FLOW_JOIN(KERNEL, _work);

#define PACK FLOW_JOIN(KERNEL, _pack_a)
#define OPERAND work->a
#define SIDES ROWS
#define SIDE_AT A_ROW_AT
#define SIDE A_ROW
#define SIDE_RUN A_ROW_RUN
#define DEPTH_AT A_DEPTH_AT
#define DEPTH_STEP A_DEPTH
#define DEPTH_RUN A_DEPTH_RUN
#define BY_DEPTH 1
#include "half_operand.c"

#define PACK FLOW_JOIN(KERNEL, _pack_b)
#define OPERAND work->b
#define SIDES COLUMNS
#define SIDE_AT B_COLUMN_AT
#define SIDE B_COLUMN
#define SIDE_RUN B_COLUMN_RUN
#define DEPTH_AT B_DEPTH_AT
#define DEPTH_STEP B_DEPTH
#define DEPTH_RUN B_DEPTH_RUN
#define BY_DEPTH 0
#include "half_operand.c"

/* A pair of rows of tiles from row m on: its columns, and the tiles in depth, that its rows see. */
typedef struct FLOW_JOIN(KERNEL, _seen) {
    int64_t rows, columns, first, last;
} FLOW_JOIN(KERNEL, _seen);

static inline FLOW_WIDE FLOW_JOIN(KERNEL, _seen) FLOW_JOIN(KERNEL, _sees)(WORK, int64_t m) {
    WITH_SIZES;
    const int64_t rows = flow_smaller(work->rows - m, 2 * FLOW_SIDE);
    const int64_t row = work->row + m, last = row + rows - 1;
    (void)row, (void)last;
    return (FLOW_JOIN(KERNEL, _seen)){
        .rows = rows,
        .columns = flow_smaller(work->columns, SEEN_COLUMNS(last, COLUMNS) - work->column),
        .first = UNSEEN_DEPTH(row, DEPTH) / FLOW_DEPTH,
        .last = flow_half_tiles(SEEN_DEPTH(last, DEPTH), FLOW_DEPTH)};
}

/* Asks for row m of the block, of the results. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _ask)(WORK, int64_t m, int64_t columns) {
    WITH_SIZES;
    const CONTEXT context = *work->context;
    const int64_t i = (work->slice * (ROWS) + work->row + m) * (COLUMNS) + work->column;
    (void)context, (void)i;
    for (int64_t n = 0; n < columns; n += FLOW_LINE / (int)sizeof(float)) ASK(i + n);
}

/* Of rows from m on, whose sums are whole. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _rows)(WORK, const float *restrict sums,
                                                      int64_t stride, int64_t m, int64_t rows,
                                                      int64_t columns) {
    WITH_SIZES;
    const CONTEXT context = *work->context;
    const int64_t row = work->slice * (ROWS) + work->row + m;
    if (!PLAIN) {
        FINISH(&context, sums, stride, row, work->column, rows, columns);
        return;
    }
    float *restrict to = (float *)RESULT + row * (COLUMNS) + work->column;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t n = 0; n < columns; n++) to[i * (COLUMNS) + n] = sums[i * stride + n];
}

/* Of a pair of rows of tiles: row by row where others are asked for meanwhile, so that these don't
 * all wait for memory at once. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _end)(WORK, const float *restrict sums,
                                                     int64_t stride, int64_t m,
                                                     const FLOW_JOIN(KERNEL, _seen) * seen) {
    const int64_t rows = FAR_RESULTS ? 1 : seen->rows;
    for (int64_t i = 0; i < seen->rows; i += rows) {
        const int64_t later = m + i + FLOW_RESULTS_AHEAD;
        if (FAR_RESULTS && later < work->rows) FLOW_JOIN(KERNEL, _ask)(work, later, seen->columns);
        FLOW_JOIN(KERNEL, _rows)(work, sums + i * stride, stride, m + i, rows, seen->columns);
    }
}

/* The block's sums over the stretch, from the copies. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _block)(WORK) {
    WITH_SIZES;
    const int64_t across = flow_half_tiles(work->columns, FLOW_SIDE), stride = across * FLOW_SIDE;
    const int64_t parts = flow_half_tiles(work->depth, FLOW_PART);
    const int64_t part = flow_half_tiles(work->depth, parts), before = work->k / FLOW_DEPTH;
    const int64_t each = OF_FLOATS(work->means);
    for (int64_t k = 0; k < work->depth; k += part)
        for (int64_t m = 0; m < work->rows; m += 2 * FLOW_SIDE) {
            const FLOW_JOIN(KERNEL, _seen) seen = FLOW_JOIN(KERNEL, _sees)(work, m);
            const int64_t first = flow_larger(k, seen.first - before);
            const int64_t end =
                flow_smaller(flow_smaller(k + part, work->depth), seen.last - before);
            const FlowHalfProduct product = {.a = work->left + m / FLOW_SIDE * work->depth + first,
                                             .b = work->right + first * each,
                                             .a_next = work->depth,
                                             .b_next = work->depth * each,
                                             .depth = end - first,
                                             .columns = flow_half_tiles(seen.columns, FLOW_SIDE),
                                             .rows = seen.rows,
                                             .sums = work->waiting + (ONE_PART ? 0 : m * stride),
                                             .stride = stride,
                                             .more = before + first > seen.first};
            if (seen.columns <= 0) continue;
            if (product.depth > 0) flow_half_multiply(&product, work->means);
            if (k + part >= work->depth && work->k + work->depths == (DEPTH))
                FLOW_JOIN(KERNEL, _end)(work, product.sums, stride, m, &seen);
        }
}

/* The block's rows and columns, stretch by stretch. What is all there is stays. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _stretches)(FLOW_JOIN(KERNEL, _work) *restrict work,
                                                           int first_column, int last_b) {
    WITH_SIZES;
    const int whole = work->stretch >= (DEPTH);
    const int64_t down = flow_half_tiles(work->rows, FLOW_SIDE);
    for (work->k = 0; work->k < (DEPTH); work->k += work->depths) {
        work->depths = flow_smaller((DEPTH)-work->k, work->stretch);
        work->depth = flow_half_tiles(work->depths, FLOW_DEPTH);
        work->left = work->kept + (work->keeps_a ? work->k / FLOW_DEPTH * down : 0);
        if (!work->keeps_a || first_column)
            FLOW_JOIN(KERNEL, _pack_a)(work, work->row, work->rows, work->left);
        if (!whole || !last_b) {
            FLOW_JOIN(KERNEL, _pack_b)(work, work->column, work->columns, work->right);
            if (OF_FLOATS(work->means) > 1)
                flow_half_widen(work->right,
                                flow_half_tiles(work->columns, FLOW_SIDE) * work->depth);
        }
        FLOW_JOIN(KERNEL, _block)(work);
    }
}

/* How much of each is worked on at a time. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _choose)(FLOW_JOIN(KERNEL, _work) *restrict work,
                                                        int64_t rows, int64_t columns) {
    WITH_SIZES;
    const int64_t each = OF_FLOATS(work->means), pair = 2 * FLOW_SIDE;
    const int64_t depth = flow_half_tiles(DEPTH, FLOW_DEPTH);
    work->wide = flow_half_share(columns, MOST_ACROSS / each * FLOW_SIDE);
    const int64_t most_deep = MOST_RIGHT / each / flow_half_tiles(work->wide, FLOW_SIDE);
    const int64_t stretches = flow_half_tiles(depth, most_deep);
    const int64_t deep = flow_half_tiles(depth, stretches);
    work->stretch = deep * FLOW_DEPTH;
    work->keeps_a = depth <= MOST_KEPT;
    const int64_t of_left = MOST_LEFT / (work->keeps_a ? depth : deep) * FLOW_SIDE;
    const int64_t of_sums = ONE_PART ? of_left : WAITING / work->wide / pair * pair;
    work->high = flow_half_share(rows, flow_smaller(of_left, of_sums));
}

/* The rows [row, row + rows) and the columns [first, last) of one slice. */
static FLOW_WIDE void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *restrict context, int64_t slice,
                                                int64_t row, int64_t rows, int64_t first,
                                                int64_t last) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    FlowTile left[MOST_LEFT], right[MOST_RIGHT];
    _Alignas(64) float waiting[WAITING];
    FLOW_JOIN(KERNEL, _work)
    work = {.context = context,
            .a = (const STORED *)context->a + (A_OUTER(slice)),
            .b = (const STORED *)context->b + (B_OUTER(slice)),
            .slice = slice,
            .means = FLOW_HALF_MEANS,
            .kept = left,
            .right = right,
            .waiting = waiting};
    FLOW_JOIN(KERNEL, _choose)(&work, rows, last - first);
    flow_half_begin(work.means);
    for (work.row = row; work.row < row + rows; work.row += work.high)
        for (work.column = first; work.column < last; work.column += work.wide) {
            work.rows = flow_smaller(row + rows - work.row, work.high);
            work.columns = flow_smaller(last - work.column, work.wide);
            FLOW_JOIN(KERNEL, _stretches)
            (&work, work.column == first, work.row > row && work.wide >= last - first);
        }
    flow_half_end(work.means);
}

#undef MOST_LEFT
#undef MOST_RIGHT
#undef OF_FLOATS
#undef MOST_KEPT
#undef ROWS_OF_TILES
#undef COLUMNS_OF_TILES
#undef DEPTHS_OF_TILES
#undef FAR_RESULTS
#undef ONE_PART
#undef MOST_ACROSS
#undef WAITING
#include "split.h"
#endif
