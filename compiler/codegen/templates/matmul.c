/* matmul.c: y[outer, row, column] = sum(depth) a[outer, row, depth] * b[outer, depth, column].
 *
 * Included once for each contraction, after these definitions, which it takes back at its end:
 *
 *   KERNEL                    name of the function it defines
 *   CONTEXT, PREPARE, FINISH  type with pointers `a` and `b`; what makes it from a frame and a
 *                             call's operands; what stores a tile of sums
 *   ELEMENT                   float or double
 *   STORED, LOAD(a)           type of the operands in memory, and what makes an ELEMENT of it
 *   OUTER, ROWS, DEPTH, COLUMNS; they may use `batch` and `sizes`
 *   A_OUTER(s), B_OUTER(s)    where the matrices of `outer` index s begin, in elements
 *   A_ROW, A_DEPTH            strides, if A_TABLE is 0; if it is 1, a row m and a depth k add
 *   A_ROW_AT(m), A_DEPTH_AT(k)     these, which are put into tables
 *   B_DEPTH, B_COLUMN, B_TABLE, B_DEPTH_AT(k), B_COLUMN_AT(n)     the same for b
 *   BY_COLUMNS                1: threads split the columns; 0: the rows
 *   TILE_ROWS, TILE_VECTORS   the tile of sums that is kept in registers
 *
 * Each sum is taken in the order of depth, whatever the tiles and threads. A panel of b, as wide
 * as a tile, is read where it lies if its columns are adjacent and fill the tile; else it is
 * copied in parts. Up to CHUNK rows use the panel before the next one. */
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
static inline void example_finish(const ExampleContext *context, const float *tile, int64_t stride,
                                  int64_t first_row, int64_t first_column, int64_t rows,
                                  int64_t columns) {
    for (int64_t m = 0; m < rows; m++)
        for (int64_t n = 0; n < columns; n++)
            context->y[(first_row + m) * 10 + first_column + n] = tile[m * stride + n];
}
#define KERNEL example
#define CONTEXT ExampleContext
#define PREPARE example_prepare
#define FINISH example_finish
#define ELEMENT float
#define STORED float
#define LOAD(a) (a)
#define OUTER 1
#define ROWS batch
#define DEPTH 128
#define COLUMNS 10
#define A_OUTER(s) 0
#define A_ROW 128
#define A_DEPTH 1
#define A_TABLE 0
#define A_ROW_AT(m) 0
#define A_DEPTH_AT(k) 0
#define B_OUTER(s) 0
#define B_DEPTH 10
#define B_COLUMN 1
#define B_TABLE 0
#define B_DEPTH_AT(k) 0
#define B_COLUMN_AT(n) 0
#define BY_COLUMNS 0
#define TILE_ROWS 8
#define TILE_VECTORS 1
#endif

#ifndef FLOW_MATMUL
#define FLOW_MATMUL
#if defined __AVX512F__
#define FLOW_VECTOR 64
#elif defined __AVX__
#define FLOW_VECTOR 32
#else
#define FLOW_VECTOR 16
#endif
#if defined __clang__ && FLOW_VECTOR == 64 /* which else halves vectors of 512 bits */
#define FLOW_WIDE __attribute__((min_vector_width(512)))
#else
#define FLOW_WIDE
#endif
#define FLOW_JOIN_NAMES(a, b) a##b
#define FLOW_JOIN(a, b) FLOW_JOIN_NAMES(a, b)
#endif

#define VECTOR FLOW_JOIN(KERNEL, _vector)
#define LANES (FLOW_VECTOR / (int64_t)sizeof(ELEMENT))
#define WIDTH (TILE_VECTORS * LANES)
#define CHUNK 64
#define PART 256

typedef ELEMENT VECTOR
    __attribute__((vector_size(FLOW_VECTOR), aligned(sizeof(ELEMENT)), may_alias));

/* `rows` rows of sums, a constant where it is called; more: goes on with the sums in the tile. */
static inline FLOW_WIDE __attribute__((always_inline)) void FLOW_JOIN(KERNEL, _tile)(
    int64_t batch, const int64_t *sizes, const STORED *restrict a, int64_t a_row, int64_t a_depth,
    const int64_t *restrict rows_at, const int64_t *restrict depth_at, const ELEMENT *restrict b,
    int64_t b_depth, int64_t depth, ELEMENT *restrict tile, int more, const int rows) {
    (void)batch, (void)sizes, (void)rows_at, (void)depth_at;
    VECTOR sums[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 16
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++)
            sums[m][v] = more ? *(const VECTOR *)(tile + m * WIDTH + v * LANES) : (VECTOR){0};
    for (int64_t k = 0; k < depth; k++) {
        VECTOR right[TILE_VECTORS];
        if ((DEPTH) > PART) /* the panel does not stay in the nearest cache */
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++)
                __builtin_prefetch(b + (k + 16) * b_depth + v * LANES);
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++)
            right[v] = *(const VECTOR *)(b + k * b_depth + v * LANES);
#pragma GCC unroll 16
        for (int m = 0; m < rows; m++) {
            const ELEMENT left =
                LOAD(a[A_TABLE ? rows_at[m] + depth_at[k] : m * a_row + k * a_depth]);
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++) sums[m][v] += left * right[v];
        }
    }
#pragma GCC unroll 16
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++)
            *(VECTOR *)(tile + m * WIDTH + v * LANES) = sums[m][v];
}

/* Copies `depth` rows of a panel, columns past `columns` as zero. */
static inline void FLOW_JOIN(KERNEL, _pack)(int64_t batch, const int64_t *sizes,
                                            const STORED *restrict b, int64_t first_depth,
                                            int64_t depth, int64_t first_column, int64_t columns,
                                            ELEMENT *restrict panel) {
    (void)batch, (void)sizes, (void)first_depth, (void)first_column;
    if (B_TABLE) {
        int64_t columns_at[WIDTH];
        for (int64_t n = 0; n < columns; n++) columns_at[n] = B_COLUMN_AT(first_column + n);
        for (int64_t k = 0; k < depth; k++) {
            const STORED *row = b + (B_DEPTH_AT(first_depth + k));
            for (int64_t n = 0; n < WIDTH; n++)
                panel[k * WIDTH + n] = n < columns ? LOAD(row[columns_at[n]]) : 0;
        }
        return;
    }
    b += first_depth * (B_DEPTH) + first_column * (B_COLUMN);
    if (B_COLUMN == 1) {
        for (int64_t k = 0; k < depth; k++)
            for (int64_t n = 0; n < WIDTH; n++)
                panel[k * WIDTH + n] = n < columns ? LOAD(b[k * (B_DEPTH) + n]) : 0;
        return;
    }
    for (int64_t n = 0; n < WIDTH; n++)
        for (int64_t k = 0; k < depth; k++)
            panel[k * WIDTH + n] = n < columns ? LOAD(b[k * (B_DEPTH) + n * (B_COLUMN)]) : 0;
}

/* The rows [row, row + rows) and the columns [first, last) of one slice. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _block)(const CONTEXT *restrict shared,
                                                       int64_t slice, int64_t row, int64_t rows,
                                                       int64_t first, int64_t last_column) {
    const CONTEXT context = *shared;
    const int64_t batch = context.batch, *const sizes = context.sizes;
    (void)batch, (void)sizes;
    _Alignas(64) ELEMENT tiles[CHUNK * WIDTH], panel[PART * WIDTH];
    const STORED *a = (const STORED *)context.a + (A_OUTER(slice)) + row * (A_ROW);
    const STORED *b = (const STORED *)context.b + (B_OUTER(slice));
    int64_t rows_at[A_TABLE ? CHUNK : 1], depth_at[A_TABLE ? PART : 1];
    for (int64_t m = 0; A_TABLE && m < rows; m++) rows_at[m] = A_ROW_AT(row + m);
    for (int64_t column = first; column < last_column; column += WIDTH) {
        const int64_t columns = flow_smaller(last_column - column, WIDTH);
        const int direct = sizeof(STORED) == sizeof(ELEMENT) && !B_TABLE && B_COLUMN == 1 &&
                           columns == WIDTH &&
                           (rows < 16 || (B_DEPTH) * (int64_t)sizeof(ELEMENT) <= 2048);
        const int64_t part = direct && !A_TABLE ? (DEPTH) : PART;
        for (int64_t k = 0; k < DEPTH; k += part) {
            const int64_t depth = flow_smaller((DEPTH)-k, part);
            const STORED *from = b + k * (B_DEPTH) + column * (B_COLUMN);
            for (int64_t l = 0; A_TABLE && l < depth; l++) depth_at[l] = A_DEPTH_AT(k + l);
            if (!direct)
                FLOW_JOIN(KERNEL, _pack)(batch, sizes, b, k, depth, column, columns, panel);
            const int64_t stride = direct ? (B_DEPTH) : WIDTH;
            const ELEMENT *right = direct ? (const ELEMENT *)from : panel;
            const int last = k + depth == DEPTH;
            int64_t m = 0;
            for (; m + TILE_ROWS <= rows; m += TILE_ROWS) {
                ELEMENT *tile = tiles + m * WIDTH;
                FLOW_JOIN(KERNEL, _tile)
                (batch, sizes, a + m * (A_ROW) + k * (A_DEPTH), A_ROW, A_DEPTH,
                 rows_at + (A_TABLE ? m : 0), depth_at, right, stride, depth, tile, k > 0,
                 TILE_ROWS);
                if (last && columns == WIDTH)
                    FINISH(&context, tile, WIDTH, slice * (ROWS) + row + m, column, TILE_ROWS,
                           WIDTH);
                else if (last)
                    FINISH(&context, tile, WIDTH, slice * (ROWS) + row + m, column, TILE_ROWS,
                           columns);
            }
            for (; m < rows; m++) {
                ELEMENT *tile = tiles + m * WIDTH;
                FLOW_JOIN(KERNEL, _tile)
                (batch, sizes, a + m * (A_ROW) + k * (A_DEPTH), A_ROW, A_DEPTH,
                 rows_at + (A_TABLE ? m : 0), depth_at, right, stride, depth, tile, k > 0, 1);
                if (last)
                    FINISH(&context, tile, WIDTH, slice * (ROWS) + row + m, column, 1, columns);
            }
        }
    }
}

FLOW_KERNEL void KERNEL(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    const CONTEXT context = PREPARE(frame, operands);
    const int64_t batch = context.batch, *const sizes = context.sizes;
    (void)batch, (void)sizes;
    int64_t first, last, first_column = 0, last_column = COLUMNS;
    if (BY_COLUMNS) {
        first = 0, last = (OUTER) * (ROWS);
        flow_share_columns(COLUMNS, thread, threads, &first_column, &last_column);
    } else {
        flow_share((OUTER) * (ROWS), thread, threads, &first, &last);
    }
    while (first < last) {
        const int64_t row = first % (ROWS);
        const int64_t rows = flow_smaller(flow_smaller(last - first, (ROWS)-row), CHUNK);
        FLOW_JOIN(KERNEL, _block)(&context, first / (ROWS), row, rows, first_column, last_column);
        first += rows;
    }
}

#undef VECTOR
#undef LANES
#undef WIDTH
#undef CHUNK
#undef PART
#undef KERNEL
#undef CONTEXT
#undef PREPARE
#undef FINISH
#undef ELEMENT
#undef STORED
#undef LOAD
#undef OUTER
#undef ROWS
#undef DEPTH
#undef COLUMNS
#undef A_OUTER
#undef A_ROW
#undef A_DEPTH
#undef A_TABLE
#undef A_ROW_AT
#undef A_DEPTH_AT
#undef B_OUTER
#undef B_DEPTH
#undef B_COLUMN
#undef B_TABLE
#undef B_DEPTH_AT
#undef B_COLUMN_AT
#undef BY_COLUMNS
#undef TILE_ROWS
#undef TILE_VECTORS
