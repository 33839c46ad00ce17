/* product.c: as matmul.c, with the same parameters, where a product that was compiled ahead serves:
 * of floats, deep, of many rows; what follows it is called through pointers. b has no table, and
 * its columns are one run. Of a, where A_TABLE is 1, A_ROWS and A_DEPTHS are the digits of its rows
 * and depths. */
#include "runtime/product/product.h"
#include "runtime/product/vectors.h"

#if !PLAIN
static void FLOW_JOIN(KERNEL, _finish_any)(const void *context, const float *sums, int64_t stride,
                                           int64_t first_row, int64_t first_column, int64_t rows,
                                           int64_t columns) {
    FINISH(context, sums, stride, first_row, first_column, rows, columns);
}
#endif

static void FLOW_JOIN(KERNEL, _ask)(const void *of, int64_t i, int64_t rows, int64_t columns) {
    const CONTEXT context = *(const CONTEXT *)of;
    const int64_t batch = context.batch, *const sizes = context.sizes;
    (void)batch, (void)sizes;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t n = 0; n < columns; n += FLOW_VECTOR / (int)sizeof(ELEMENT))
            ASK(i + row * (COLUMNS) + n);
}

static void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *of, int64_t slice, int64_t row, int64_t rows,
                                      int64_t first, int64_t last) {
    const CONTEXT context = *of;
    const int64_t batch = context.batch, *const sizes = context.sizes;
    (void)batch, (void)sizes;
#if A_TABLE
    const FlowDigits rows_of_a = A_ROWS, depths_of_a = A_DEPTHS;
#endif
    const FlowProduct product = {
        .a = context.a + (A_OUTER(slice)),
        .b = context.b + (B_OUTER(slice)),
#if PLAIN
        .sums = (float *)RESULT + slice * (ROWS) * (COLUMNS),
#else
        .finish = FLOW_JOIN(KERNEL, _finish_any),
#endif
        .ask = FLOW_JOIN(KERNEL, _ask),
        .context = of,
        .first = slice * (ROWS),
        .depth = DEPTH,
        .columns = COLUMNS,
        .most_rows = MOST_ROWS,
        .most_depth = MOST_DEPTH,
        .a_row = A_ROW,
        .a_depth = A_DEPTH,
        .b_depth = B_DEPTH,
        .b_column = B_COLUMN,
        .a_row_run = A_ROW_RUN,
        .a_depth_run = A_DEPTH_RUN,
#if A_TABLE
        .rows = &rows_of_a,
        .depths = &depths_of_a,
#endif
    };
    flow_multiply(&product, row, rows, first, last);
}

#include "split.h"
