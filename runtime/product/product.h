/* Product: y[row, column] = sum(depth) a[row, depth] * b[depth, column] of floats, compiled ahead
 * for each kind of processor, for generated programs.
 *
 * It is for deep products of matrices at any distances in memory: there it costs nothing that these
 * are no constants. Other products are compiled for each kernel (compiler/codegen/templates). */
#ifndef FLOW_PRODUCT_H
#define FLOW_PRODUCT_H

#include "runtime/product/tile.h"

#include <stddef.h>
#include <stdint.h>

/* The loops that an index stands for, the inner one last, and what one more of each adds. */
enum { FLOW_DIGITS = 4 };
typedef struct FlowDigits {
    int64_t count, size[FLOW_DIGITS], stride[FLOW_DIGITS];
} FlowDigits;

/* Makes results of sums: those of some rows from first_row and columns from first_column on, which
 * lie at `sums`, a row every `stride`. context: the product's. */
typedef void FlowFinish(const void *context, const float *sums, int64_t stride, int64_t first_row,
                        int64_t first_column, int64_t rows, int64_t columns);

/* Asks for what will be written or read of `rows` rows of results, `columns` of each, from element
 * i on. */
typedef void FlowAsk(const void *context, int64_t i, int64_t rows, int64_t columns);

/* How many of `all` columns row `row` of a slice sees, no fewer than the row before: others may be
 * left out. */
typedef int64_t FlowSees(int64_t row, int64_t all);

/* Products of one shape, one for each slice. Everything belongs to the caller; distances count
 * floats. */
typedef struct FlowProduct {
    const float *a, *b;
    float *sums;         /* where they go, slice after slice; NULL: to `finish` */
    FlowFinish *finish;  /* or NULL */
    FlowAsk *ask;        /* or NULL */
    FlowSees *sees;      /* or NULL: rows see all columns */
    const void *context; /* of both */
    /* From here on numbers only, see flow_read_product. */
    int64_t outer, rows, depth, columns; /* outer: slices */
    int64_t by_columns;                  /* threads split columns, not rows */
    int64_t thirds; /* matrix tiles may be used (thirds.h): none has `sees`, nor is asked */
    int64_t most_rows, most_depth; /* of any call of this kernel: from the latter and the processor
                                      follows in which parts vectors take the depth, so that bits
                                      depend on nothing else */
    int64_t a_row, a_depth;        /* what the next one adds, in a run */
    int64_t b_depth, b_column;
    int64_t a_row_run, a_depth_run; /* how many there are in one */
    int64_t in_runs;                /* rows or depths of a are not one run each */
    FlowDigits a_slices, b_slices, a_rows, a_depths;
} FlowProduct;

/* Takes the numbers of the product, from `outer` on, from FLOW_PRODUCT_NUMBERS operands of a call
 * for `batch` records, all of them sizes as flow_size knows them: a kernel's text says none. */
typedef void FlowReadProduct(FlowProduct *product, const int64_t *operands, int64_t batch);
#define FLOW_PRODUCT_NUMBERS \
    ((sizeof(FlowProduct) - offsetof(FlowProduct, outer)) / sizeof(int64_t))

/* Computes rows [row, row + rows) and columns [first, last) of a slice. */
typedef void FlowMultiply(const FlowProduct *product, int64_t slice, int64_t row, int64_t rows,
                          int64_t first, int64_t last);

/* What it is for: other products are faster as kernels that know their sizes. */
enum {
    FLOW_PRODUCT_VECTORS = 2, /* of a row of a tile, which is best for so many rows and columns */
    FLOW_PRODUCT_ROWS = 65,   /* at least */
    FLOW_PRODUCT_COLUMNS = 49,
    FLOW_PRODUCT_DEPTH = 257,
    FLOW_PRODUCT_WORK = 1 << 20,      /* all three multiplied */
    FLOW_PRODUCT_LEAST_DEPTH = 48,    /* is enough where there are many slices or much of one: */
    FLOW_PRODUCT_MUCH_WORK = 1 << 26, /* of all slices */
};

/* Products by thirds. */
enum {
    FLOW_THIRDS_PRODUCTS = 6, /* of bf16, for one of floats */
    FLOW_THIRDS_SIDE = 32,    /* rows and columns of a tile: two by two of the processor's */
    FLOW_THIRDS_FEWEST = 32,  /* rows of a call, or of what a kernel is compiled for */
};

#define flow_multiply FLOW_AHEAD(flow_multiply)
FlowMultiply flow_multiply;
#define flow_read_product FLOW_AHEAD(flow_read_product)
FlowReadProduct flow_read_product;

#endif
