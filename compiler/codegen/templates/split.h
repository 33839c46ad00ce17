/* split.h: the end of a contraction, which has defined KERNEL_slice(context, slice, row, rows,
 * first, last): those rows of a slice, and columns [first, last). Calls it for what is this
 * thread's, and takes the parameters back. CALLED: how the kernel is declared. */
#ifndef CALLED
#define CALLED FLOW_KERNEL
#endif
CALLED void KERNEL(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    const CONTEXT context = PREPARE(frame, operands);
    const int64_t batch = context.batch, *const sizes = context.sizes;
    (void)batch, (void)sizes;
#if LEAVES_ZEROS
    if (!FLOW_JOIN(KERNEL, _has_zeros)(&context)) {
        DENSE_KERNEL(frame, operands, thread, threads);
        return;
    }
#endif
    int64_t first, last, first_column = 0, last_column = COLUMNS;
    if (BY_COLUMNS) {
        first = 0, last = (OUTER) * (ROWS);
        flow_share_columns(COLUMNS, thread, threads, &first_column, &last_column);
    } else {
        flow_share((OUTER) * (ROWS), SHARE_BLOCK, thread, threads, &first, &last);
    }
    while (first < last && first_column < last_column) {
        const int64_t slice = (OUTER) == 1 ? 0 : first / (ROWS), row = first - slice * (ROWS);
        const int64_t rows = flow_smaller(last - first, (ROWS)-row);
        FLOW_JOIN(KERNEL, _slice)(&context, slice, row, rows, first_column, last_column);
        first = (OUTER) == 1 ? last : first + rows;
    }
}

#undef LANES
#undef VECTOR
#undef CHOICE
#undef CALLED
#include "forget.h"
