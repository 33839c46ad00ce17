/* few_columns.c: as matmul.c, of floats, where rows of a are adjacent and columns are so few that a
 * vector of them would be empty for much: lanes are rows. A tile of sums, some vectors of rows for
 * each column, is turned when all depths are added up. It takes matmul.c's parameters; rows and
 * depths of both operands are one run each, and columns a number. Where vectors are so short that
 * columns fill them, or turning would take longer, matmul.c it is. */
#include "runtime/product/vectors.h"
#if !FLOW_FEW_COLUMNS(MOST_ROWS, MOST_DEPTH, MOST_COLUMNS, FLOW_VECTOR / 4)
#include "matmul.c"
#else
#if !APPLIES
#include "product/lanes.h"
#endif
#include "runtime/product/turn.h"

#define TILE_VECTORS FLOW_JOIN(KERNEL, _TILE_VECTORS)
#define TILE_ROWS FLOW_JOIN(KERNEL, _TILE_ROWS)
#define PART FLOW_JOIN(KERNEL, _PART)
#define ASKS FLOW_JOIN(KERNEL, _ASKS)
enum {
    TILE_VECTORS = FLOW_ROW_VECTORS(MOST_ROWS, MOST_COLUMNS, LANES, FLOW_SUMS),
    TILE_ROWS = TILE_VECTORS * LANES,
    PART = 1024, /* of the depth, which is added up by itself */
    /* Is a so large that the rows of the next tile are asked for? */
    ASKS = MOST_ROWS > 131072 / (int)sizeof(ELEMENT) / FLOW_LEAST(MOST_DEPTH, 65536),
};

/* Adds the products of so many depths to the sums of `vectors` vectors of rows; lanes: of the last
 * one so many are rows. */
FLOW_TILE void FLOW_JOIN(KERNEL, _add)(const CONTEXT *context, const ELEMENT *restrict a,
                                       const ELEMENT *restrict b, int64_t depth, const int vectors,
                                       int64_t lanes, VECTOR y[MOST_COLUMNS][TILE_VECTORS]) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    for (; depth > 0; depth--, a += A_DEPTH, b += B_DEPTH) {
        VECTOR left[TILE_VECTORS];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; v++) {
            left[v] = FLOW_JOIN(KERNEL, _get)(a + v * LANES, vectors > 1, lanes);
            if (ASKS && vectors > 1) __builtin_prefetch(a + TILE_ROWS + v * LANES, 0, 2);
        }
#pragma GCC unroll 16
        for (int n = 0; n < MOST_COLUMNS; n++) {
            const VECTOR right = b[n * (B_COLUMN)] - (VECTOR){0};
#pragma GCC unroll 16
            for (int v = 0; v < vectors; v++)
                y[n][v] = FLOW_JOIN(KERNEL, _add_product)(y[n][v], left[v], right);
        }
    }
}

/* Adds up the sums of the rows from `row` on. */
FLOW_TILE void FLOW_JOIN(KERNEL, _add_up)(const CONTEXT *context, int64_t slice, int64_t row,
                                          const int vectors, int64_t lanes,
                                          VECTOR sums[MOST_COLUMNS][TILE_VECTORS]) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes, (void)slice;
    const ELEMENT *a = (const ELEMENT *)context->a + (A_OUTER(slice)) + (A_ROW_AT(row));
    const ELEMENT *b = (const ELEMENT *)context->b + (B_OUTER(slice));
    for (int64_t k = 0; k == 0 || k < (DEPTH); k += PART) {
        VECTOR y[MOST_COLUMNS][TILE_VECTORS] = {{{0}}};
        FLOW_JOIN(KERNEL, _add)
        (context, a + k * (A_DEPTH), b + k * (B_DEPTH), flow_smaller((DEPTH)-k, PART), vectors,
         lanes, y);
#pragma GCC unroll 16
        for (int n = 0; n < MOST_COLUMNS; n++)
#pragma GCC unroll 16
            for (int v = 0; v < vectors; v++) {
                if (MOST_DEPTH > PART && k > 0) y[n][v] += sums[n][v];
                sums[n][v] = y[n][v];
            }
        if (MOST_DEPTH <= PART) break;
    }
}

/* Leaves a vector of rows at `rows`, side by side. Columns are turned a vector at a time, the last
 * ones first: what they store too much, fewer than LANES elements, is stored again, for others or
 * for the next row, and behind the last row there is room for it. */
FLOW_TILE void FLOW_JOIN(KERNEL, _turn_sums)(VECTOR sums[MOST_COLUMNS][TILE_VECTORS], const int v,
                                             ELEMENT *rows) {
#pragma GCC unroll 16
    for (int first = (MOST_COLUMNS - 1) / LANES * LANES; first >= 0; first -= LANES) {
        VECTOR turned[LANES];
#pragma GCC unroll 16
        for (int n = 0; n < LANES; n++)
            turned[n] = first + n < MOST_COLUMNS ? sums[FLOW_LEAST(first + n, MOST_COLUMNS - 1)][v]
                                                 : (VECTOR){0};
        FLOW_JOIN(KERNEL, _turn_lanes)(turned);
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) *(VECTOR *)(rows + k * MOST_COLUMNS + first) = turned[k];
    }
}

FLOW_TILE void FLOW_JOIN(KERNEL, _turn_tile)(const int vectors,
                                             VECTOR sums[MOST_COLUMNS][TILE_VECTORS],
                                             ELEMENT *rows) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; v++, rows += LANES * MOST_COLUMNS)
        if (MOST_COLUMNS == 1) *(VECTOR *)rows = sums[0][v];
        else FLOW_JOIN(KERNEL, _turn_sums)(sums, v, rows);
}

/* Each leaves a tile of rows at `rows`: those of a slice from `row` on. */
static FLOW_WIDE __attribute__((noinline)) void
FLOW_JOIN(KERNEL, _full_tile)(const CONTEXT *context, int64_t slice, int64_t row, ELEMENT *rows) {
    VECTOR sums[MOST_COLUMNS][TILE_VECTORS];
    FLOW_JOIN(KERNEL, _add_up)(context, slice, row, TILE_VECTORS, LANES, sums);
    FLOW_JOIN(KERNEL, _turn_tile)(TILE_VECTORS, sums, rows);
}

static FLOW_WIDE __attribute__((noinline)) void
FLOW_JOIN(KERNEL, _low_tile)(const CONTEXT *context, int64_t slice, int64_t row, int64_t lanes,
                             ELEMENT *rows) {
    VECTOR sums[MOST_COLUMNS][TILE_VECTORS];
    FLOW_JOIN(KERNEL, _add_up)(context, slice, row, 1, lanes, sums);
    FLOW_JOIN(KERNEL, _turn_tile)(1, sums, rows);
}

/* The rows [row, row + rows) of one slice. */
static FLOW_WIDE void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *of, int64_t slice, int64_t row,
                                                int64_t rows, int64_t first, int64_t last) {
    const CONTEXT context = *of;
    const int64_t batch = context.batch, *const sizes = context.sizes;
    (void)batch, (void)sizes, (void)first, (void)last;
    _Alignas(64) ELEMENT waiting[TILE_ROWS * MOST_COLUMNS + LANES];
    for (int64_t end = row + rows, height; row < end; row += height) {
        const int full = end - row >= TILE_ROWS;
        const int64_t named = slice * (ROWS) + row;
        height = full ? TILE_ROWS : flow_smaller(end - row, LANES);
#if PLAIN
        ELEMENT *result = (ELEMENT *)RESULT + named * MOST_COLUMNS;
        const int behind = end - row - height >= LANES; /* rows, which are stored later */
        ELEMENT *to = behind ? result : waiting;
#else
        ELEMENT *to = waiting;
#endif
        if (full) FLOW_JOIN(KERNEL, _full_tile)(&context, slice, row, to);
        else FLOW_JOIN(KERNEL, _low_tile)(&context, slice, row, height, to);
#if PLAIN
        if (!behind) __builtin_memcpy(result, to, (size_t)(height * MOST_COLUMNS) * sizeof *to);
#else
        FINISH(&context, to, MOST_COLUMNS, named, 0, height, MOST_COLUMNS);
#endif
    }
}

#undef TILE_VECTORS
#undef TILE_ROWS
#undef PART
#undef ASKS
#include "split.h"
#endif
