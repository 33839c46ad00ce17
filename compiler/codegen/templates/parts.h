/* parts.h: the end of a contraction of windows whose depth is cut into PARTS parts, each for
 * KERNEL_slice a slice of PART_ROWS rows. Threads share the rows of all parts, in whole blocks of
 * PART_BLOCK; once all are there, they share rows, and add up each row's parts, in their order. */
enum { FLOW_JOIN(KERNEL, _ROWS_ADDED) = 8 };

static FLOW_WIDE void FLOW_JOIN(KERNEL, _add_parts)(const CONTEXT context, int64_t first,
                                                    int64_t last) {
    const int64_t batch = context.batch, *const sizes = context.sizes;
    (void)batch, (void)sizes;
    for (int64_t row = first, rows; row < last; row += rows) {
        rows = flow_smaller(last - row, FLOW_JOIN(KERNEL, _ROWS_ADDED));
        const ELEMENT *restrict parts = context.parts + row * (COLUMNS);
#if PLAIN
        ELEMENT *restrict to = (ELEMENT *)RESULT + row * (COLUMNS);
#else
        _Alignas(64) ELEMENT to[FLOW_JOIN(KERNEL, _ROWS_ADDED) * MOST_COLUMNS];
#endif
        for (int64_t i = 0; i < rows * (COLUMNS); i++) {
            ELEMENT sum = parts[i];
#pragma GCC unroll 8
            for (int part = 1; part < PARTS; part++) sum += parts[part * (ROWS) * (COLUMNS) + i];
            to[i] = sum;
        }
        FINISH(&context, to, COLUMNS, row, 0, rows, COLUMNS);
    }
}

FLOW_KERNEL void KERNEL(const FlowFrame *frame, const int64_t *operands, int thread, int threads) {
    const CONTEXT context = PREPARE(frame, operands);
    const int64_t batch = context.batch, *const sizes = context.sizes;
    (void)batch, (void)sizes;
    int64_t first, last;
    flow_share(PARTS * (PART_ROWS), PART_BLOCK, thread, threads, &first, &last);
    while (first < last) {
        const int64_t row = first % (PART_ROWS), rows = flow_smaller(last - first, (PART_ROWS)-row);
        FLOW_JOIN(KERNEL, _slice)(&context, first / (PART_ROWS), row, rows, 0, COLUMNS);
        first += rows;
    }
    flow_barrier(frame, thread, threads);
    flow_share(ROWS, FLOW_SHARE_BLOCK, thread, threads, &first, &last);
    FLOW_JOIN(KERNEL, _add_parts)(context, first, last);
}

#undef PART_ROWS
#undef PART_BLOCK
#undef LANES
#undef VECTOR
#undef CHOICE
#include "forget.h"
