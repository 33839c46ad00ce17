/* by_thirds.h: the slice of a product of floats, by matrix tiles where the processor has them and
 * there are rows enough to fill them (product/thirds.h); otherwise by matmul.c's vectors, SLICE. */

#if APPLIES
FLOW_TILE void FLOW_JOIN(KERNEL, _finish_vector)(const CONTEXT *context, const float *sums,
                                                 int64_t row, int64_t column, const int whole,
                                                 int64_t lanes, int closed) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    VECTOR results[RESULTS];
    const VECTOR kept =
        FLOW_JOIN(KERNEL, _apply)(context, *(const VECTOR *)sums, results, row * (COLUMNS), column,
                                  row, column, whole, lanes);
#if KEPT
    if (__builtin_expect(closed || !FLOW_JOIN(KERNEL, _is_finite)(kept), 0)) {
        FLOW_JOIN(KERNEL, _keep)
        (context, (const ELEMENT *)results, LANES, row * (COLUMNS) + column, lanes);
        return;
    }
#endif
    (void)kept, (void)closed;
    FLOW_JOIN(KERNEL, _put_results)(context, results, row * (COLUMNS), column, whole, lanes);
}

/* Sums lie in whole vectors, columns past the last in their lanes. */
static FLOW_WIDE void FLOW_JOIN(KERNEL, _finish_sums)(const void *of, const float *sums,
                                                      int64_t stride, int64_t first_row,
                                                      int64_t first_column, int64_t rows,
                                                      int64_t columns) {
    const CONTEXT *const context = of;
#if KEPT
    const int closed = FLOW_JOIN(KERNEL, _is_closed)(context);
#else
    const int closed = 0;
#endif
    for (int64_t m = 0; m < rows; m++, sums += stride) {
        int64_t n = 0;
        for (; n + LANES <= columns; n += LANES) FLOW_JOIN(KERNEL, _finish_vector)
        (context, sums + n, first_row + m, first_column + n, 1, LANES, closed);
        if (n < columns) FLOW_JOIN(KERNEL, _finish_vector)
        (context, sums + n, first_row + m, first_column + n, 0, columns - n, closed);
    }
}
#elif !PLAIN
static void FLOW_JOIN(KERNEL, _finish_sums)(const void *context, const float *sums, int64_t stride,
                                            int64_t first_row, int64_t first_column, int64_t rows,
                                            int64_t columns) {
    FINISH(context, sums, stride, first_row, first_column, rows, columns);
}
#endif

static FLOW_WIDE void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *restrict of, int64_t slice,
                                                int64_t row, int64_t rows, int64_t first,
                                                int64_t last) {
    const CONTEXT context = *of;
    const int64_t batch = of->batch, *const sizes = of->sizes;
    (void)batch, (void)sizes;
    if (!flow_fills_tiles(ROWS)) {
        SLICE(of, slice, row, rows, first, last);
        return;
    }
    const FlowDigits none = {.count = 1, .size = {1}};
    const FlowProduct product = {
        .a = context.a + (A_OUTER(slice)),
        .b = context.b + (B_OUTER(slice)),
#if PLAIN
        .sums = RESULT,
#else
        .finish = FLOW_JOIN(KERNEL, _finish_sums),
#endif
        .context = of,
        .rows = ROWS,
        .depth = DEPTH,
        .columns = COLUMNS,
        .a_row = A_ROW,
        .a_depth = A_DEPTH,
        .b_depth = B_DEPTH,
        .b_column = B_COLUMN,
        .a_slices = none,
        .b_slices = none,
    };
    flow_multiply_thirds(&product, slice, row, rows, first, last);
}
