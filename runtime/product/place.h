/* place.h: where the operands of a product lie. */
#ifndef FLOW_PLACE_H
#define FLOW_PLACE_H

#include "runtime/product/product.h"

static inline int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many of `each` hold so many. */
static inline int64_t parts_of(int64_t count, int64_t each) {
    return (count - 1) / each + 1;
}

/* What an index adds. */
static inline int64_t offset_of(const FlowDigits *digits, int64_t index) {
    int64_t sum = 0;
    for (int64_t i = digits->count - 1; i > 0; i--) {
        sum += index % digits->size[i] * digits->stride[i];
        index /= digits->size[i];
    }
    return sum + index * digits->stride[0];
}

static inline int64_t row_at(const FlowProduct *product, int64_t row) {
    return product->in_runs ? offset_of(&product->a_rows, row) : row * product->a_row;
}

static inline int64_t depth_at(const FlowProduct *product, int64_t k) {
    return product->in_runs ? offset_of(&product->a_depths, k) : k * product->a_depth;
}

static inline FlowProduct product_of_slice(const FlowProduct *all, int64_t slice) {
    FlowProduct product = *all;
    product.a += offset_of(&all->a_slices, slice);
    product.b += offset_of(&all->b_slices, slice);
    if (all->sums) product.sums += slice * all->rows * all->columns;
    return product;
}

#endif
