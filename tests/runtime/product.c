/* Products that were compiled ahead: each sum beside one in double precision, whatever rows are
 * left for lower tiles, whoever copies b, and the same bits however results are split. */
#include "runtime/product/product.h"
#include "tests/runtime/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined __x86_64__
FlowMultiply flow_multiply_v4, flow_multiply_v3;
#endif

static FlowMultiply *multiply_here(void) {
#if defined __x86_64__
    if (__builtin_cpu_supports("x86-64-v4")) return flow_multiply_v4;
    if (__builtin_cpu_supports("x86-64-v3")) return flow_multiply_v3;
#endif
    return flow_multiply;
}

static float *random_matrix(int64_t count) {
    float *matrix = malloc((size_t)count * sizeof *matrix);
    for (int64_t i = 0; matrix && i < count; i++) matrix[i] = (float)(rand() % 2001 - 1000) / 1000;
    return matrix;
}

/* What `finish` is given goes there: sums that waited for the rest of their depth. */
typedef struct Results {
    float *y;
    int64_t columns;
} Results;

static void keep(const void *context, const float *sums, int64_t stride, int64_t first_row,
                 int64_t first_column, int64_t rows, int64_t columns) {
    const Results *results = context;
    for (int64_t m = 0; m < rows; m++)
        memcpy(results->y + (first_row + m) * results->columns + first_column, sums + m * stride,
               (size_t)columns * sizeof(float));
}

static void compare(const FlowProduct *product, const float *y) {
    for (int64_t m = 0; m < product->rows; m++)
        for (int64_t n = 0; n < product->columns; n += n % 32 ? 1 : 7) {
            double sum = 0;
            for (int64_t k = 0; k < product->depth; k++)
                sum += (double)product->a[m * product->a_row + k * product->a_depth] *
                       (double)product->b[k * product->b_depth + n];
            const double found = (double)y[m * product->columns + n];
            CHECK(fabs(found - sum) < 1e-4 * sqrt((double)product->depth),
                  "%d x %d x %d: row %d, column %d is %g, not %g", (int)product->rows,
                  (int)product->depth, (int)product->columns, (int)m, (int)n, found, sum);
        }
}

/* waits: sums go to `finish`. across: rows of a are adjacent, and not its depths. */
static void multiplies(int64_t rows, int64_t depth, int64_t columns, bool waits, bool across) {
    const int64_t size = rows * columns;
    float *a = random_matrix(rows * depth), *b = random_matrix(depth * columns);
    float *y = random_matrix(size), *split = random_matrix(size);
    Results results = {y, columns};
    const FlowDigits none = {1, {1, 1, 1, 1}, {0}};
    FlowProduct product = {.a = a,
                           .b = b,
                           .sums = waits ? NULL : y,
                           .finish = waits ? keep : NULL,
                           .context = &results,
                           .outer = 1,
                           .rows = rows,
                           .depth = depth,
                           .columns = columns,
                           .most_rows = rows,
                           .most_depth = depth,
                           .a_row = across ? 1 : depth,
                           .a_depth = across ? rows : 1,
                           .b_depth = columns,
                           .b_column = 1,
                           .a_row_run = rows,
                           .a_depth_run = depth,
                           .a_slices = none,
                           .b_slices = none,
                           .a_rows = none,
                           .a_depths = none};
    FlowMultiply *multiply = multiply_here();
    CHECK(a && b && y && split, "no memory");
    multiply(&product, 0, 0, rows, 0, columns);
    compare(&product, y);
    results.y = split;
    if (!waits) product.sums = split;
    const int64_t row = rows / 3, column = columns / 64 * 32;
    multiply(&product, 0, 0, row, 0, columns);
    multiply(&product, 0, row, rows - row, 0, column);
    multiply(&product, 0, row, rows - row, column, columns);
    CHECK(!memcmp(y, split, (size_t)size * sizeof *y), "%d x %d x %d: bits depend on the split",
          (int)rows, (int)depth, (int)columns);
    free(a), free(b), free(y), free(split);
}

int main(void) {
    for (int64_t rows = 96; rows < 121; rows++) multiplies(rows, 300, 530, rows % 2, rows % 3 == 0);
    for (int across = 0; across < 2; across++) /* rows are left, too few for a tile that copies */
        multiplies(173, 1100, 544, true, across);
    multiplies(250, 1100, 1100, false, false);
    multiplies(100, 512, 1024, false, false); /* rows of b fall on the same lines */
    multiplies(100, 300, 100, false, false);  /* b is read where it lies */
    return test_result();
}
