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
 *   ELEMENT                   float or double
 *   STORED, LOAD(a)           type of the operands in memory, and what makes an ELEMENT of it
 *   OUTER, ROWS, DEPTH, COLUMNS; they may use `batch` and `sizes`
 *   MOST_ROWS, MOST_DEPTH, MOST_COLUMNS     numbers: their bounds
 *   COLUMNS_VARY              0: COLUMNS is the number MOST_COLUMNS
 *   A_OUTER(s), B_OUTER(s)    where the matrices of `outer` index s begin, in elements
 *   A_ROW_AT(m), A_DEPTH_AT(k)     what row m and depth k of a add to that
 *   A_ROW, A_DEPTH            what the next one adds, in a run
 *   A_ROW_RUN, A_DEPTH_RUN    how many there are in a run
 *   A_TABLE                   0: rows are one run, and so are depths
 *   B_DEPTH_AT(k), B_COLUMN_AT(n), B_DEPTH, B_COLUMN, B_DEPTH_RUN, B_COLUMN_RUN     same for b
 *   B_TABLE                   0: depths are one run
 *   BY_COLUMNS                1: threads split the columns; 0: the rows
 *
 * Each sum is taken in the order of depth, whatever the tiles and threads.
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
#define ELEMENT float
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
#define A_DEPTH_RUN 128
#define A_TABLE 0
#define B_OUTER(s) 0
#define B_DEPTH_AT(k) (k) * 10
#define B_COLUMN_AT(n) (n)
#define B_DEPTH 10
#define B_COLUMN 1
#define B_DEPTH_RUN 128
#define B_COLUMN_RUN 10
#define B_TABLE 0
#define BY_COLUMNS 0
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
#if defined __AVX512F__ || defined __aarch64__
#define FLOW_SUMS 24 /* vectors of a tile where there are 32 registers */
#else
#define FLOW_SUMS 12
#endif
#define FLOW_BLOCK (FLOW_VECTOR * 8192)    /* bytes */
#if defined __clang__ && FLOW_VECTOR == 64 /* which else halves vectors of 512 bits */
#define FLOW_WIDE __attribute__((min_vector_width(512)))
#else
#define FLOW_WIDE
#endif
#define FLOW_TILE static inline FLOW_WIDE __attribute__((always_inline))
#define FLOW_JOIN_NAMES(a, b) a##b
#define FLOW_JOIN(a, b) FLOW_JOIN_NAMES(a, b)
#define FLOW_LEAST(a, b) ((a) < (b) ? (int64_t)(a) : (int64_t)(b))

/* The first lanes of a vector, where they cost no more than a whole one. */
#if defined __AVX512F__
#define FLOW_MASKS 1
typedef float FlowVector_float __attribute__((vector_size(64)));
typedef double FlowVector_double __attribute__((vector_size(64)));
#define FLOW_LOAD_float(a, mask) __builtin_ia32_loadups512_mask(a, (FlowVector_float){0}, mask)
#define FLOW_LOAD_double(a, mask) __builtin_ia32_loadupd512_mask(a, (FlowVector_double){0}, mask)
#define FLOW_STORE_float(y, a, mask) __builtin_ia32_storeups512_mask(y, (FlowVector_float)(a), mask)
#define FLOW_STORE_double(y, a, mask) \
    __builtin_ia32_storeupd512_mask(y, (FlowVector_double)(a), mask)
#else
#define FLOW_MASKS 0
#endif

/* Lanes of two vectors in turn, from lane i on. */
#define FLOW_TURNS_2(a, b, i) __builtin_shufflevector(a, b, i, 2 + i)
#define FLOW_TURNS_4(a, b, i) __builtin_shufflevector(a, b, i, 4 + i, 1 + i, 5 + i)
#define FLOW_TURNS_8(a, b, i) \
    __builtin_shufflevector(a, b, i, 8 + i, 1 + i, 9 + i, 2 + i, 10 + i, 3 + i, 11 + i)
#define FLOW_TURNS_16(a, b, i)                                                                   \
    __builtin_shufflevector(a, b, i, 16 + i, 1 + i, 17 + i, 2 + i, 18 + i, 3 + i, 19 + i, 4 + i, \
                            20 + i, 5 + i, 21 + i, 6 + i, 22 + i, 7 + i, 23 + i)
#if FLOW_VECTOR == 64
#define FLOW_TURNS_float FLOW_TURNS_16
#define FLOW_TURNS_double FLOW_TURNS_8
#elif FLOW_VECTOR == 32
#define FLOW_TURNS_float FLOW_TURNS_8
#define FLOW_TURNS_double FLOW_TURNS_4
#else
#define FLOW_TURNS_float FLOW_TURNS_4
#define FLOW_TURNS_double FLOW_TURNS_2
#endif
#if defined __clang__ || __GNUC__ >= 12
#define FLOW_SHUFFLES 1
#else
#define FLOW_SHUFFLES 0
#endif
#endif

/* The tile of sums: wide where there are few rows. */
#define LANES ((int)(FLOW_VECTOR / sizeof(ELEMENT)))
#define ACROSS ((MOST_COLUMNS - 1) / LANES + 1)
#define TILE_VECTORS                               \
    ((int)(MOST_ROWS == 1  ? FLOW_LEAST(ACROSS, 8) \
           : MOST_ROWS < 4 ? FLOW_LEAST(ACROSS, 4) \
           : MOST_ROWS < 8 ? FLOW_LEAST(ACROSS, 3) \
           : ACROSS == 3   ? 3                     \
                           : FLOW_LEAST(ACROSS, 2)))
#define TILE_ROWS ((int)FLOW_LEAST(MOST_ROWS, FLOW_SUMS / TILE_VECTORS))
#define WIDTH (TILE_VECTORS * LANES)
#define PARTIAL (COLUMNS_VARY || MOST_COLUMNS % WIDTH || (BY_COLUMNS && FLOW_COLUMN_BLOCK % WIDTH))

/* What is worked on at a time: so much of the depth, a block of b in half of the second cache, a
 * group of rows of a, and sums that wait for the rest of their depth. */
#define PART (PLAIN ? 512 : 1024)
#define BLOCK ((int)(FLOW_BLOCK / sizeof(ELEMENT)))
#define GROUP (2 * TILE_ROWS)
#define WAITING ((int)(131072 / sizeof(ELEMENT)))
#define COPIED_B FLOW_LEAST(BLOCK, PART *FLOW_LEAST(ALL_WIDE, BLOCK / PART))
/* Is one block as wide as the product? */
#define ONE_BLOCK (!BY_COLUMNS && ALL_WIDE <= BLOCK / PART)
#define ALL_WIDE (((ACROSS - 1) / TILE_VECTORS + 1) * WIDTH)

#define SAME_TYPE (sizeof(STORED) == sizeof(ELEMENT))
/* Does b lie as a tile reads it, if it is a whole panel? */
#define B_READY                                \
    (SAME_TYPE && !B_TABLE && B_COLUMN == 1 && \
     ((B_COLUMN_RUN) == (COLUMNS) ||           \
      ((B_COLUMN_RUN) % WIDTH == 0 && !(BY_COLUMNS && FLOW_COLUMN_BLOCK % WIDTH))))
/* Are rows of a copied? Depths are adjacent in the copy, or rows where they are in a. */
#define A_ACROSS (A_DEPTH != 1 && A_ROW == 1)
#define COPIES_A                  \
    (A_TABLE || !SAME_TYPE ||     \
     (MOST_COLUMNS > 2 * WIDTH && \
      (A_ACROSS ? MOST_DEPTH > 128 : TILE_ROWS > 8 && (A_ROW) * sizeof(ELEMENT) % 4096 == 0)))
#define COPY_ROW (A_ACROSS ? 1 : PART + 16)
#define COPY_DEPTH (A_ACROSS ? GROUP : 1)
/* Is a so large that its rows are asked for ahead? */
#define ASKS (MOST_ROWS > 131072 / (int)sizeof(ELEMENT) / FLOW_LEAST(MOST_DEPTH, 65536))

#define VECTOR FLOW_JOIN(KERNEL, _vector)
typedef ELEMENT VECTOR
    __attribute__((vector_size(FLOW_VECTOR), aligned(sizeof(ELEMENT)), may_alias));

/* The first `lanes` of a vector, if any; the others are 0. */
FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _load)(const ELEMENT *from, int64_t lanes) {
#if FLOW_MASKS
    const int mask = lanes >= LANES ? -1 : lanes > 0 ? (1 << lanes) - 1 : 0;
    return (VECTOR)FLOW_JOIN(FLOW_LOAD_, ELEMENT)(from, mask);
#else
    VECTOR vector = {0};
    if (lanes >= LANES) return *(const VECTOR *)from;
    for (int i = 0; i < LANES; i++)
        if (i < lanes) vector[i] = from[i];
    return vector;
#endif
}

FLOW_TILE void FLOW_JOIN(KERNEL, _store)(ELEMENT *to, VECTOR vector, int64_t lanes) {
#if FLOW_MASKS
    const int mask = lanes >= LANES ? -1 : lanes > 0 ? (1 << lanes) - 1 : 0;
    FLOW_JOIN(FLOW_STORE_, ELEMENT)(to, vector, mask);
#else
    if (lanes >= LANES) *(VECTOR *)to = vector;
    else
        for (int i = 0; i < LANES; i++)
            if (i < lanes) to[i] = vector[i];
#endif
}

/* `rows` rows of sums, a constant where it is called; more: goes on with the sums there. On the
 * way it asks for what is wanted later. */
FLOW_TILE void FLOW_JOIN(KERNEL, _tile)(const ELEMENT *restrict a, int64_t a_row, int64_t a_depth,
                                        const ELEMENT *restrict b, int64_t b_depth, int64_t depth,
                                        ELEMENT *restrict sums, int64_t stride, int64_t columns,
                                        int more, const char *ahead, int64_t ahead_step,
                                        const int rows) {
    VECTOR y[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) {
            const ELEMENT *from = sums + m * stride + v * LANES;
            if (!more) y[m][v] = (VECTOR){0};
            else if (!PLAIN || !PARTIAL) y[m][v] = *(const VECTOR *)from;
            else y[m][v] = FLOW_JOIN(KERNEL, _load)(from, columns - v * LANES);
        }
    for (int64_t k = 0; k < depth; k++) {
        VECTOR right[TILE_VECTORS];
        if (ASKS) __builtin_prefetch(ahead + k * ahead_step, 0, 2);
        if (MOST_DEPTH > 256) /* what other threads have written */
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++)
                __builtin_prefetch(b + (k + 16) * b_depth + v * LANES);
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) {
            const ELEMENT *from = b + k * b_depth + v * LANES;
            if (!FLOW_MASKS || !PARTIAL) right[v] = *(const VECTOR *)from;
            else right[v] = FLOW_JOIN(KERNEL, _load)(from, columns - v * LANES);
        }
#pragma GCC unroll 32
        for (int m = 0; m < rows; m++) {
            const ELEMENT left = a[m * a_row + k * a_depth];
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++) y[m][v] += left * right[v];
        }
    }
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) {
            ELEMENT *to = sums + m * stride + v * LANES;
            if (!PLAIN || !PARTIAL) *(VECTOR *)to = y[m][v];
            else FLOW_JOIN(KERNEL, _store)(to, y[m][v], columns - v * LANES);
        }
}

/* How high the next tile is, of the rows that are left. */
FLOW_TILE int FLOW_JOIN(KERNEL, _height)(int64_t rows) {
    if (rows >= TILE_ROWS) return TILE_ROWS;
    return rows >= 16 ? 16 : rows >= 8 ? 8 : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
}

/* A tile of one of these heights. */
FLOW_TILE void FLOW_JOIN(KERNEL, _any_tile)(const ELEMENT *restrict a, int64_t a_row,
                                            int64_t a_depth, const ELEMENT *restrict b,
                                            int64_t b_depth, int64_t depth, ELEMENT *restrict sums,
                                            int64_t stride, int64_t columns, int more,
                                            const char *ahead, int64_t ahead_step, int height) {
#define TILE_OF(rows)                                                                          \
    if ((rows) <= TILE_ROWS && height == (rows)) {                                             \
        FLOW_JOIN(KERNEL, _tile)                                                               \
        (a, a_row, a_depth, b, b_depth, depth, sums, stride, columns, more, ahead, ahead_step, \
         (rows) <= TILE_ROWS ? (rows) : 1);                                                    \
        return;                                                                                \
    }
    TILE_OF(TILE_ROWS)
    TILE_OF(16)
    TILE_OF(8)
    TILE_OF(4)
    TILE_OF(2)
    TILE_OF(1)
#undef TILE_OF
}

/* At most LANES rows of a panel, from columns whose depths are adjacent. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _turn)(const ELEMENT *restrict from, int64_t stride,
                                                      int64_t depth, int64_t columns,
                                                      ELEMENT *restrict panel) {
#if FLOW_SHUFFLES
    VECTOR a[LANES], turned[LANES];
#pragma GCC unroll 16
    for (int n = 0; n < LANES; n++)
        a[n] = n < columns ? FLOW_JOIN(KERNEL, _load)(from + n * stride, depth) : (VECTOR){0};
#pragma GCC unroll 4
    for (int done = 1; done < LANES; done *= 2) {
#pragma GCC unroll 8
        for (int n = 0; n < LANES / 2; n++) {
            turned[2 * n] = FLOW_JOIN(FLOW_TURNS_, ELEMENT)(a[n], a[n + LANES / 2], 0);
            turned[2 * n + 1] = FLOW_JOIN(FLOW_TURNS_, ELEMENT)(
                a[n], a[n + LANES / 2], (int)(FLOW_VECTOR / sizeof(ELEMENT) / 2));
        }
#pragma GCC unroll 16
        for (int n = 0; n < LANES; n++) a[n] = turned[n];
    }
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        if (k < depth) *(VECTOR *)(panel + k * WIDTH) = a[k];
#else
    for (int k = 0; k < depth; k++)
        for (int n = 0; n < LANES; n++)
            panel[k * WIDTH + n] = n < columns ? from[n * stride + k] : 0;
#endif
}

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
} FLOW_JOIN(KERNEL, _work);

#define WORK const FLOW_JOIN(KERNEL, _work) *restrict work
#define WITH_SIZES                                                                   \
    const int64_t batch = work->context->batch, *const sizes = work->context->sizes; \
    (void)batch, (void)sizes

/* Copies one panel of b, columns past `columns` as zero. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _copy_panel)(WORK, int64_t first, int64_t columns,
                                                            ELEMENT *restrict panel) {
    WITH_SIZES;
    (void)first;
    const STORED *from = work->b + (B_DEPTH_AT(work->k)) + (B_COLUMN_AT(first));
    if (SAME_TYPE && !B_TABLE && B_DEPTH == 1 && (B_COLUMN_RUN) == (COLUMNS)) {
        for (int v = 0; v < TILE_VECTORS; v++)
            for (int64_t k = 0; k < work->depth; k += LANES) FLOW_JOIN(KERNEL, _turn)
        ((const ELEMENT *)from + v * LANES * (B_COLUMN) + k, B_COLUMN,
         flow_smaller(work->depth - k, LANES), columns - v * LANES, panel + k * WIDTH + v * LANES);
        return;
    }
    int64_t columns_at[WIDTH];
    for (int64_t n = 0; n < columns; n++) columns_at[n] = B_COLUMN_AT(first + n);
    for (int64_t k = 0; k < work->depth; k++) {
        from = work->b + (B_DEPTH_AT(work->k + k));
        for (int64_t n = 0; n < WIDTH; n++)
            panel[k * WIDTH + n] = n < columns ? LOAD(from[columns_at[n]]) : 0;
    }
}

/* Row by row, so that what is read is adjacent, panels of b that are ready but scattered. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _copy_ready)(WORK, int64_t first) {
    WITH_SIZES;
    for (int64_t k = 0; k < work->depth; k++)
        for (int64_t n = first; n < work->columns; n += WIDTH) {
            const STORED *from =
                work->b + (B_DEPTH_AT(work->k + k)) + (B_COLUMN_AT(work->column + n));
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++)
                *(VECTOR *)(work->right + n * work->part + k * WIDTH + v * LANES) =
                    PARTIAL ? FLOW_JOIN(KERNEL, _load)((const ELEMENT *)from + v * LANES,
                                                       work->columns - n - v * LANES)
                            : *(const VECTOR *)((const ELEMENT *)from + v * LANES);
        }
}

/* Is the panel at `n` of the block read from a copy? */
FLOW_TILE int FLOW_JOIN(KERNEL, _is_copied)(WORK, int64_t n) {
    WITH_SIZES;
    return !B_READY || work->copies_b || (!FLOW_MASKS && work->columns - n < WIDTH);
}

static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _copy_b)(WORK) {
    WITH_SIZES;
    int64_t n = 0;
    while (n < work->columns && !FLOW_JOIN(KERNEL, _is_copied)(work, n)) n += WIDTH;
    if (B_READY) FLOW_JOIN(KERNEL, _copy_ready)(work, n);
    else
        for (; n < work->columns; n += WIDTH) FLOW_JOIN(KERNEL, _copy_panel)
    (work, work->column + n, flow_smaller(work->columns - n, WIDTH), work->right + n * work->part);
}

/* Copies rows of a, run by run. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _copy_a)(WORK, int64_t first, int64_t rows) {
    WITH_SIZES;
    (void)first;
    int64_t rows_at[GROUP], run;
    for (int64_t m = 0; m < rows; m++) rows_at[m] = A_ROW_AT(first + m);
    for (int64_t m = 0; A_ACROSS && m < rows; m += run) {
        run = flow_smaller((A_ROW_RUN) - (first + m) % (A_ROW_RUN), rows - m);
        for (int64_t k = 0; k < work->depth; k++) {
            const STORED *from = work->a + work->depth_at[k] + rows_at[m];
            ELEMENT *to = work->left + k * COPY_DEPTH + m;
            if (run == GROUP)
                for (int64_t i = 0; i < GROUP; i++) to[i] = LOAD(from[i]);
            else
                for (int64_t i = 0; i < run; i++) to[i] = LOAD(from[i]);
        }
    }
    for (int64_t k = 0; !A_ACROSS && k < work->depth; k += run) {
        run = flow_smaller((A_DEPTH_RUN) - (work->k + k) % (A_DEPTH_RUN), work->depth - k);
        for (int64_t m = 0; m < rows; m++) {
            const STORED *from = work->a + work->depth_at[k] + rows_at[m];
            ELEMENT *to = work->left + m * COPY_ROW + k;
            if (run == (A_DEPTH_RUN))
                for (int64_t i = 0; i < (A_DEPTH_RUN); i++) to[i] = LOAD(from[i * (A_DEPTH)]);
            else
                for (int64_t i = 0; i < run; i++) to[i] = LOAD(from[i * (A_DEPTH)]);
        }
    }
}

/* What tile `call` of `calls` asks for: its share of the group of rows that begins with `row`, a
 * step for each k. */
FLOW_TILE const char *FLOW_JOIN(KERNEL, _ahead)(WORK, int64_t row, int64_t call, int64_t calls,
                                                int64_t *step) {
    WITH_SIZES;
    (void)row;
    const int64_t line = 64 / sizeof(STORED);
    *step = A_ACROSS ? (A_DEPTH) : flow_smaller(line, (GROUP - 1) / calls + 1);
    *step *= (int64_t)sizeof(STORED);
    const STORED *a = work->a + (A_DEPTH_AT(work->k));
    return (const char *)(A_ACROSS ? a + (A_ROW_AT(row)) + call * line
                                   : a + (A_ROW_AT(row + call * GROUP / calls)));
}

/* The tiles of `height` rows from row m on; in_group: those of the group before them. */
FLOW_TILE void FLOW_JOIN(KERNEL, _tiles)(WORK, int64_t m, int64_t in_group, int height) {
    WITH_SIZES;
    const CONTEXT context = *work->context;
    const int64_t row = work->row + m, columns = ONE_BLOCK ? (COLUMNS) : work->columns;
    const int64_t stride = PLAIN ? (COLUMNS) : ONE_BLOCK ? ALL_WIDE : work->wide;
    const ELEMENT *a = COPIES_A
                           ? work->left + in_group * COPY_ROW
                           : (const ELEMENT *)work->a + (A_ROW_AT(row)) + (A_DEPTH_AT(work->k));
    ELEMENT *sums =
        PLAIN ? (ELEMENT *)RESULT + (work->slice * (ROWS) + row) * (COLUMNS) + work->column
              : work->waiting + (m - work->start) * stride;
    const int64_t panels = (columns - 1) / WIDTH + 1;
    for (int64_t n = 0; n < columns; n += WIDTH) {
        const int copied = FLOW_JOIN(KERNEL, _is_copied)(work, n);
        const ELEMENT *b = copied ? work->right + n * work->part
                                  : (const ELEMENT *)work->b + (B_DEPTH_AT(work->k)) +
                                        (B_COLUMN_AT(work->column + n));
        int64_t step = 0;
        const char *ahead =
            ASKS ? FLOW_JOIN(KERNEL, _ahead)(work, row - in_group + GROUP,
                                             in_group / TILE_ROWS * panels + n / WIDTH,
                                             GROUP / TILE_ROWS * panels, &step)
                 : NULL;
        FLOW_JOIN(KERNEL, _any_tile)
        (a, COPIES_A ? COPY_ROW : (A_ROW), COPIES_A ? COPY_DEPTH : (A_DEPTH), b,
         copied ? WIDTH : (B_DEPTH), work->depth, sums + n, stride,
         flow_smaller(columns - n, WIDTH), work->k > 0, ahead, step, height);
    }
    if (work->k + work->depth == (DEPTH))
        FINISH(&context, sums, stride, work->slice * (ROWS) + row, work->column, height, columns);
}

/* Rows [work->start, end) of one part of the depth. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _part)(WORK, int64_t end) {
    WITH_SIZES;
    for (int64_t m = work->start, height; m < end; m += height) {
        const int64_t in_group = (m - work->start) % GROUP;
        if (COPIES_A && !in_group)
            FLOW_JOIN(KERNEL, _copy_a)(work, work->row + m, flow_smaller(end - m, GROUP));
        height = FLOW_JOIN(KERNEL, _height)(flow_smaller(end - m, GROUP - in_group));
        FLOW_JOIN(KERNEL, _tiles)(work, m, in_group, (int)height);
    }
}

/* Columns [work->column, work->column + work->columns) of all rows. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _columns)(FLOW_JOIN(KERNEL, _work) *restrict work,
                                                         int64_t rows) {
    WITH_SIZES;
    const int one_part = work->part >= (DEPTH);
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

/* The rows [row, row + rows) and the columns [first, last) of one slice. */
static FLOW_WIDE void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *restrict context, int64_t slice,
                                                int64_t row, int64_t rows, int64_t first,
                                                int64_t last) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    _Alignas(64) ELEMENT right[COPIED_B], left[COPIES_A ? GROUP * (PART + 16) : 1];
    _Alignas(64) ELEMENT waiting[PLAIN ? 1 : WAITING];
    int64_t depth_at[COPIES_A ? PART : 1];
    const int64_t parts = ((DEPTH)-1) / PART + 1, part = ((DEPTH)-1) / parts + 1;
    const int64_t most = flow_smaller(BLOCK / part, 512) / WIDTH * WIDTH;
    const int64_t blocks = ONE_BLOCK ? 1 : (last - first - 1) / most + 1;
    FLOW_JOIN(KERNEL, _work)
    work = {.context = context,
            .a = (const STORED *)context->a + (A_OUTER(slice)),
            .b = (const STORED *)context->b + (B_OUTER(slice)),
            .slice = slice,
            .row = row,
            .part = part,
            .wide = ((last - first - 1) / blocks / WIDTH + 1) * WIDTH,
            .copies_b = rows >= 32 && (B_DEPTH) * sizeof(ELEMENT) > 2048,
            .right = right,
            .left = left,
            .waiting = waiting,
            .depth_at = depth_at};
    for (work.column = first; work.column < last; work.column += work.wide) {
        work.columns = flow_smaller(last - work.column, work.wide);
        FLOW_JOIN(KERNEL, _columns)(&work, rows);
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
    while (first < last && first_column < last_column) {
        const int64_t row = first % (ROWS), rows = flow_smaller(last - first, (ROWS)-row);
        FLOW_JOIN(KERNEL, _slice)(&context, first / (ROWS), row, rows, first_column, last_column);
        first += rows;
    }
}

#undef LANES
#undef ACROSS
#undef TILE_VECTORS
#undef TILE_ROWS
#undef WIDTH
#undef PARTIAL
#undef PART
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
#undef ASKS
#undef VECTOR
#undef WORK
#undef WITH_SIZES
#undef KERNEL
#undef CONTEXT
#undef PREPARE
#undef PLAIN
#undef RESULT
#undef FINISH
#undef ELEMENT
#undef STORED
#undef LOAD
#undef OUTER
#undef ROWS
#undef DEPTH
#undef COLUMNS
#undef MOST_ROWS
#undef MOST_DEPTH
#undef MOST_COLUMNS
#undef COLUMNS_VARY
#undef A_OUTER
#undef A_ROW_AT
#undef A_DEPTH_AT
#undef A_ROW
#undef A_DEPTH
#undef A_ROW_RUN
#undef A_DEPTH_RUN
#undef A_TABLE
#undef B_OUTER
#undef B_DEPTH_AT
#undef B_COLUMN_AT
#undef B_DEPTH
#undef B_COLUMN
#undef B_DEPTH_RUN
#undef B_COLUMN_RUN
#undef B_TABLE
#undef BY_COLUMNS
