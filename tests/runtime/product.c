/* Products that were compiled ahead, for each kind of processor, by vectors and by thirds: each sum
 * beside one in double precision, whatever rows and columns are left for smaller tiles, however a
 * and b lie, whoever copies b, and the same bits however results are split. What is not finite, or
 * very large or small, is what it is in f32. */
#include "runtime/flow.h"
#include "runtime/product/product.h"
#include "tests/runtime/dense.h"
#include "tests/runtime/test.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined __x86_64__
FlowMultiply flow_multiply_v4, flow_multiply_v3;
#endif

static FlowMultiply *multiply; /* of the processor that is tested */
static bool thirds;

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

static int64_t offset_of(const FlowDigits *digits, int64_t index) {
    return index / digits->size[1] * digits->stride[0] +
           index % digits->size[1] * digits->stride[1];
}

static float left_of(const FlowProduct *product, int64_t m, int64_t k) {
    return product->in_runs
               ? product->a[offset_of(&product->a_rows, m) + offset_of(&product->a_depths, k)]
               : product->a[m * product->a_row + k * product->a_depth];
}

static void compare(const FlowProduct *product, const float *y) {
    for (int64_t m = 0; m < product->rows; m++)
        for (int64_t n = 0; n < product->columns; n += n % 32 ? 1 : 7) {
            double sum = 0;
            for (int64_t k = 0; k < product->depth; k++)
                sum += (double)left_of(product, m, k) *
                       (double)product->b[k * product->b_depth + n * product->b_column];
            const double found = (double)y[m * product->columns + n];
            CHECK(fabs(found - sum) < 1e-7 * (double)product->depth,
                  "%d x %d x %d%s: row %d, column %d is %.9g, not %.9g", (int)product->rows,
                  (int)product->depth, (int)product->columns, thirds ? " by thirds" : "", (int)m,
                  (int)n, found, sum);
        }
}

/* Depths that are adjacent where not all are: those of the next row follow. */
enum { RUN = 20 };

typedef enum Left { ALONG, ACROSS, IN_RUNS, TURNED } Left;

/* waits: sums go to `finish`. left: depths of a are adjacent, or its rows, or runs of depths, or
 * depths of both a and b. */
static void multiplies(int64_t rows, int64_t depth, int64_t columns, bool waits, Left left) {
    const int64_t size = rows * columns;
    float *a = random_matrix(rows * depth), *b = random_matrix(depth * columns);
    float *y = random_matrix(size), *split = random_matrix(size);
    Results results = {y, columns};
    FlowProduct product = dense_product(a, b, waits ? NULL : y, rows, depth, columns);
    product.finish = waits ? keep : NULL;
    product.context = &results;
    product.thirds = thirds;
    if (left == ACROSS) turn_left(&product);
    if (left == TURNED) turn_right(&product);
    if (left == IN_RUNS) {
        product.in_runs = true;
        product.a_row = 0, product.a_row_run = 1; /* the inner digit of rows */
        product.a_depth_run = RUN;
        product.a_rows = (FlowDigits){2, {rows, 1}, {RUN, 0}};
        product.a_depths = (FlowDigits){2, {depth / RUN, RUN}, {RUN * rows, 1}};
    }
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

static void multiplies_all(void) {
    for (int64_t rows = 96; rows < 121; rows++)
        multiplies(rows, 300, 530, rows % 2, rows % 3 ? ALONG : ACROSS);
    multiplies(173, 1100, 544, true, ALONG); /* rows are left, too few for a tile that copies */
    multiplies(173, 1100, 544, true, ACROSS);
    multiplies(1028, 1100, 64, true, ALONG); /* or they are two low tiles */
    multiplies(48, 520, 520, true, ALONG);   /* b is copied row by row */
    multiplies(250, 1100, 1100, false, ALONG);
    multiplies(100, 512, 1024, false, ALONG); /* rows of b fall on the same lines, and those of a */
    multiplies(101, 1536, 200, false, ALONG); /* those of a alone */
    multiplies(100, 512, 512, false, ALONG);  /* b is read where it lies, in one block, */
    multiplies(100, 300, 100, false, ALONG);  /* or is narrow */
    multiplies(1030, 301, 100, true, ALONG);  /* many rows pay for a copy of b; an odd depth */
    multiplies(1030, 513, 100, true, ACROSS);
    multiplies(107, 340, 200, true, IN_RUNS);
    multiplies(107, 1700, 200, true, IN_RUNS);
    multiplies(107, 1100, 200, false, IN_RUNS);
    multiplies(600, 1700, 100, true, ALONG); /* so deep that more sums wait than have room */
    multiplies(101, 301, 101, true, TURNED);
    multiplies(200, 1101, 203, false, TURNED);
    multiplies(784, 32, 128, true, ACROSS); /* flat */
    multiplies(500, 545, 384, true, ALONG); /* b is made into thirds again for the last rows */
}

/* Of one group of tiles, or two, or few more; and so wide that there are several blocks. */
static void multiplies_few(void) {
    for (int64_t rows = 32; rows < 68; rows += 5)
        for (Left left = ALONG; left <= TURNED; left++)
            if (left != IN_RUNS)
                multiplies(rows, 60 + 3 * rows, 96 + rows * 7 % 40, rows % 2, left);
    multiplies(32, 64, 96, false, ALONG), multiplies(64, 96, 128, false, ALONG);
    multiplies(40, 33, 4700, true, ALONG);
}

/* Slices of b beside each other, of which nothing is adjacent: each sum, and where it goes. */
static void multiplies_slices(void) {
    enum { OUTER = 3, SIDE = 70, DEPTH = 65 };
    float *a = random_matrix(OUTER * SIDE * DEPTH), *b = random_matrix(OUTER * SIDE * DEPTH * 2);
    static float y[OUTER * SIDE * SIDE];
    const FlowDigits none = {1, {1, 1, 1, 1}, {0}};
    FlowProduct product = {.a = a,
                           .b = b,
                           .sums = y,
                           .outer = OUTER,
                           .rows = SIDE,
                           .depth = DEPTH,
                           .columns = SIDE,
                           .most_rows = SIDE,
                           .most_depth = DEPTH,
                           .thirds = thirds,
                           .a_row = DEPTH,
                           .a_depth = 1,
                           .b_depth = 2 * OUTER,
                           .b_column = 2 * OUTER * DEPTH,
                           .a_row_run = SIDE,
                           .a_depth_run = DEPTH,
                           .a_slices = {1, {OUTER, 1, 1, 1}, {SIDE * DEPTH}},
                           .b_slices = {1, {OUTER, 1, 1, 1}, {2}},
                           .a_rows = none,
                           .a_depths = none};
    CHECK(a && b, "no memory");
    for (int slice = OUTER - 1; slice >= 0; slice--) multiply(&product, slice, 0, SIDE, 0, SIDE);
    for (int slice = 0; slice < OUTER; slice++) {
        product.a = a + slice * SIDE * DEPTH, product.b = b + 2 * slice;
        compare(&product, y + slice * SIDE * SIDE);
    }
    free(a), free(b);
}

enum { SIDE = 64 };

static int64_t at_once = SIDE; /* rows of a call */
static int64_t place;          /* the depth of the two, and their row or column */
static bool turned;            /* do they lie the other way round? */

/* A result of a and b at one depth, in one row and column, beside others; all from `place` on. */
static float result_of(float a, float b, float others, int row, int column) {
    static float left[SIDE * SIDE], right[SIDE * SIDE], y[SIDE * SIDE];
    FlowProduct product = dense_product(left, right, y, SIDE, SIDE, SIDE);
    product.thirds = thirds;
    if (turned) turn_left(&product), turn_right(&product);
    for (int i = 0; i < SIDE * SIDE; i++) left[i] = right[i] = others;
    left[place * (SIDE + 1)] = a, right[place * (SIDE + 1)] = b;
    for (int64_t m = 0; m < SIDE; m += at_once) multiply(&product, 0, m, at_once, 0, SIDE);
    return y[(place + row) * SIDE + place + column];
}

/* By itself it is exactly what it is, by 1. */
static void keeps(float number) {
    CHECK(result_of(number, 1, 0, 0, 0) == number && result_of(1, number, 0, 0, 0) == number,
          "%.9g is %.9g", (double)number, (double)result_of(number, 1, 0, 0, 0));
}

static void keeps_extremes(void) {
    const float inf = INFINITY, most = FLT_MAX, last = 1 + FLT_EPSILON;
    keeps(most), keeps(-most), keeps(inf), keeps(-inf), keeps(last), keeps(0x1p-103f * last);
    keeps(-FLT_MIN), keeps(0x1.555556p-3f), keeps(0x1.010101p0f * 0x1.0001p100f);
    CHECK(!isfinite(result_of(most, most, 0, 0, 0)), "the largest number squared is finite");
    CHECK(result_of(inf, -2, 1, 0, 0) == -inf, "infinity has the wrong sign");
    CHECK(result_of(inf, 1, 1, 1, 0) == SIDE && result_of(1, inf, 1, 0, 1) == SIDE,
          "infinity is elsewhere");
    CHECK(isnan(result_of(inf, 0, 1, 0, 0)), "infinity times 0 is a number");
    CHECK(isnan(result_of(NAN, 1, 1, 0, 0)) && isnan(result_of(1, NAN, 1, 0, 0)), "NaN is lost");
}

static void *test_all(void *of) {
    multiply = *(FlowMultiply **)of;
    multiplies_all();
    multiplies_few();
    multiplies_slices();
    for (at_once = SIDE / 2; at_once <= SIDE; at_once *= 2)
        for (place = 0; place < SIDE; place += 40)
            for (int way = 0; way < 2; way++) {
                turned = way;
                keeps_extremes();
            }
    return NULL;
}

/* With no more of a stack than exports promise to take. */
static void test(FlowMultiply *of) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1536 << 10);
    CHECK(!pthread_create(&thread, &attributes, test_all, &of), "no thread");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

/* Numbers are told in the order of the struct, those of records as so many of each. */
static void reads_numbers(void) {
    enum { RECORDS = 7 };
    int64_t operands[FLOW_PRODUCT_NUMBERS];
    FlowProduct product = {.sums = NULL};
    for (size_t i = 0; i < FLOW_PRODUCT_NUMBERS; i++) operands[i] = -(int64_t)i;
    operands[1] = FLOW_OF_RECORDS + 64;
    operands[9] = FLOW_OF_RECORDS - 64;
    operands[FLOW_PRODUCT_NUMBERS - 1] = INT64_C(1) << 40;
    flow_read_product(&product, operands, RECORDS);
    CHECK(product.rows == 64 * RECORDS && product.a_depth == -64 * RECORDS, "%d rows, not 448",
          (int)product.rows);
    CHECK(product.outer == 0 && product.depth == -2, "depth %d", (int)product.depth);
    CHECK(product.a_depths.stride[FLOW_DIGITS - 1] == INT64_C(1) << 40, "not the last number");
}

int main(void) {
    reads_numbers();
    test(flow_multiply);
#if defined __x86_64__
    if (__builtin_cpu_supports("x86-64-v3")) test(flow_multiply_v3);
    if (__builtin_cpu_supports("x86-64-v4")) test(flow_multiply_v4);
    thirds = flow_half_means() == FLOW_HALF_tiles;
    if (thirds) test(flow_multiply_v4);
#endif
    return test_result();
}
