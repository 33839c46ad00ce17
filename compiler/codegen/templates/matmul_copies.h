/* matmul_copies.h: of matmul.c, behind its types: copies of operands that tiles read instead. */
#include "runtime/product/turned.h"

/* Copies one panel of b, columns past `columns` as zero. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _copy_panel)(WORK, int64_t first, int64_t columns,
                                                            ELEMENT *restrict panel) {
    WITH_SIZES;
    (void)first;
    const STORED *from = work->b + (B_DEPTH_AT(work->k)) + (B_COLUMN_AT(first));
    if (SAME_TYPE && !B_TABLE && B_DEPTH == 1 && (B_COLUMN_RUN) == (COLUMNS)) {
        for (int v = 0; v < TILE_VECTORS; v++)
            for (int64_t k = 0; k < work->depth; k += LANES) FLOW_JOIN(flow_turn_, ELEMENT)
        ((const ELEMENT *)from + v * LANES * (B_COLUMN) + k, B_COLUMN,
         flow_smaller(work->depth - k, LANES), columns - v * LANES, panel + k * WIDTH + v * LANES,
         WIDTH);
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

/* Copies a row of a panel of b, whose columns are adjacent; those past `columns` as zero. */
FLOW_TILE void FLOW_JOIN(KERNEL, _copy_row)(const STORED *from, int64_t columns,
                                            ELEMENT *restrict to) {
    if (SAME_TYPE)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++)
            *(VECTOR *)(to + v * LANES) = FLOW_JOIN(KERNEL, _get)((const ELEMENT *)from + v * LANES,
                                                                  !PARTIAL, columns - v * LANES);
    else if (columns >= WIDTH)
        for (int n = 0; n < WIDTH; n++) to[n] = LOAD(from[n]);
    else
        for (int n = 0; n < WIDTH; n++) to[n] = n < columns ? LOAD(from[n]) : 0;
}

/* Row by row, so that what is read is adjacent, panels of b whose columns are adjacent: scattered
 * ones, of another type, or not whole. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _copy_rows)(WORK, int64_t first) {
    WITH_SIZES;
    for (int64_t k = 0; k < work->depth; k++)
        for (int64_t n = first; n < work->columns; n += WIDTH) {
            const STORED *from =
                work->b + (B_DEPTH_AT(work->k + k)) + (B_COLUMN_AT(work->column + n));
            if (!SAME_TYPE) __builtin_prefetch(from + ROWS_AHEAD * (B_DEPTH), 0, 2);
            FLOW_JOIN(KERNEL, _copy_row)
            (from, work->columns - n, work->right + n * work->part + k * WIDTH);
        }
}

/* Is the panel at `n` of the block read from a copy? */
FLOW_TILE int FLOW_JOIN(KERNEL, _is_copied)(WORK, int64_t n) {
    WITH_SIZES;
    return !B_READY || COPIES_READY || (SCATTERED_B && work->copies_b) ||
           (!FLOW_MASKS && work->columns - n < WIDTH);
}

static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _copy_b)(WORK) {
    WITH_SIZES;
    if (B_READY && !COPIES_READY && FLOW_MASKS && !SCATTERED_B) return;
    int64_t n = 0;
    while (n < work->columns && !FLOW_JOIN(KERNEL, _is_copied)(work, n)) n += WIDTH;
    if (B_ADJACENT) FLOW_JOIN(KERNEL, _copy_rows)(work, n);
    else
        for (; n < work->columns; n += WIDTH) FLOW_JOIN(KERNEL, _copy_panel)
    (work, work->column + n, flow_smaller(work->columns - n, WIDTH), work->right + n * work->part);
}

/* Copies a group of adjacent rows: depth by depth, as each is a line of the caches or two. */
FLOW_TILE void FLOW_JOIN(KERNEL, _copy_group_across)(WORK, const STORED *a) {
    WITH_SIZES;
    for (int64_t k = 0; k < work->depth; k++) {
        ELEMENT *to = work->left + k * TILE_ROWS;
        const STORED *from = a + work->depth_at[k];
        for (int64_t m = 0; m < GROUP; m += TILE_ROWS, to += COPY_TILE, from += TILE_ROWS)
            if (SAME_TYPE) __builtin_memcpy(to, from, sizeof(ELEMENT[TILE_ROWS]));
            else
                for (int64_t i = 0; i < TILE_ROWS; i++) to[i] = LOAD(from[i]);
    }
}

/* Copies rows of a, run by run. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _copy_a)(WORK, int64_t first, int64_t rows) {
    WITH_SIZES;
    (void)first;
    int64_t rows_at[GROUP], run;
    if (A_ACROSS && rows == GROUP && first % (A_ROW_RUN) + rows <= (A_ROW_RUN)) {
        FLOW_JOIN(KERNEL, _copy_group_across)(work, work->a + (A_ROW_AT(first)));
        return;
    }
    for (int64_t m = 0; m < rows; m++) rows_at[m] = A_ROW_AT(first + m);
    for (int64_t m = 0; A_ACROSS && m < rows; m += run) {
        run = flow_smaller((A_ROW_RUN) - (first + m) % (A_ROW_RUN), rows - m);
        run = flow_smaller(run, TILE_ROWS - m % TILE_ROWS);
        ELEMENT *to = work->left + m / TILE_ROWS * COPY_TILE + m % TILE_ROWS;
        for (int64_t k = 0; k < work->depth; k++) {
            const STORED *from = work->a + work->depth_at[k] + rows_at[m];
            if (run == TILE_ROWS)
                for (int64_t i = 0; i < TILE_ROWS; i++) to[k * TILE_ROWS + i] = LOAD(from[i]);
            else
                for (int64_t i = 0; i < run; i++) to[k * TILE_ROWS + i] = LOAD(from[i]);
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
