/* A product of dense matrices, rows first, by vectors. */
#ifndef FLOW_TEST_DENSE_H
#define FLOW_TEST_DENSE_H

#include "runtime/product/product.h"

static inline FlowProduct dense_product(const float *a, const float *b, float *sums, int64_t rows,
                                        int64_t depth, int64_t columns) {
    const FlowDigits none = {1, {1, 1, 1, 1}, {0}};
    return (FlowProduct){.a = a,
                         .b = b,
                         .sums = sums,
                         .outer = 1,
                         .rows = rows,
                         .depth = depth,
                         .columns = columns,
                         .most_rows = rows,
                         .most_depth = depth,
                         .a_row = depth,
                         .a_depth = 1,
                         .b_depth = columns,
                         .b_column = 1,
                         .a_row_run = rows,
                         .a_depth_run = depth,
                         .a_slices = none,
                         .b_slices = none,
                         .a_rows = none,
                         .a_depths = none};
}

/* The left or the right matrix lies columns first. */
static inline void turn_left(FlowProduct *product) {
    product->a_row = 1, product->a_depth = product->rows;
}

static inline void turn_right(FlowProduct *product) {
    product->b_depth = 1, product->b_column = product->depth;
}

#endif
