/* Products: of a warpgroup, which go on while its threads do. Each thread has its share of the
 * sums: two lines of one operand with a quarter of the lines of the other. What it reads is read
 * when the product begins, and again when it is waited for, which must find the same; until then
 * its sums are not numbers. How matrices lie in shared memory, and in registers: see
 * compiler/codegen/templates/cuda_group.h. */
#include "runtime/device/simulated_launch.h"

#include <math.h>
#include <string.h>

enum { PRODUCT_LIMIT = 8, DEEP = 16, DOWN = 2, ACROSS = 64 /* at most */, SUMS = DOWN * ACROSS };

typedef struct Matrix {
    uint64_t descriptor;
    int by_depth;
} Matrix;

typedef struct Read {
    uint16_t a[DOWN][DEEP], b[ACROSS][DEEP];
} Read;

typedef struct Product {
    Matrix a, b;
    float (*value)(uint16_t half);
    int columns, line, group;
    Read read;
} Product;

/* Those of a thread that are not waited for, all of the same sums. */
typedef struct Products {
    int count, group; /* of the next one */
    uint32_t number;  /* of the next one */
    bool fenced;
    float *sums, held[SUMS];
    int columns;
    Product items[PRODUCT_LIMIT];
} Products;

/* What a group's product number `number` of that block multiplies. */
typedef struct Named {
    uint32_t block, number;
    int64_t line;
    uint64_t a, b;
} Named;

enum { GROUP = 128, NAMED = 64 /* products that a warp may be ahead of another one */ };

static Launch *launch_now;
static Named all_named[THREAD_LIMIT / GROUP][NAMED];
static Products all[THREAD_LIMIT];
static bool is_used[THREAD_LIMIT]; /* by the thread that has this number now */

static Products *own_products(void) {
    int thread = (int)launch_now->seen.thread;
    Products *own = &all[thread];
    if (!is_used[thread]) own->count = own->group = own->fenced = 0, own->number = 0;
    is_used[thread] = true;
    return own;
}

/* Descriptors. */

static uint32_t field(uint64_t descriptor, int first) {
    return (uint32_t)(descriptor >> first & 0x3fff) << 4;
}

/* Bytes whose groups of 16 change places; none: such a matrix is not simulated. */
static uint32_t swizzle_of(const Matrix *matrix, int line) {
    uint32_t mode = (uint32_t)(matrix->descriptor >> 62);
    if (!mode || matrix->descriptor >> 49 & 7)
        launch_fail(launch_now, "a matrix at line %d has no swizzle, or one that begins elsewhere",
                    line);
    return 256u >> mode;
}

static uint16_t half_of(const Matrix *matrix, int at, int k, int line) {
    uint32_t wide = swizzle_of(matrix, line), lines = wide / 2;
    uint32_t leading = field(matrix->descriptor, 16), stride = field(matrix->descriptor, 32);
    uint32_t l = (uint32_t)at, depth = (uint32_t)k, address = field(matrix->descriptor, 0);
    if (matrix->by_depth) address += l / 8 * stride + l % 8 * wide + depth * 2;
    else address += l / lines * leading + depth / 8 * stride + depth % 8 * wide + l % lines * 2;
    address ^= (address >> 7 & (wide / 16 - 1)) << 4;
    return launch_half_at(launch_now, address, line);
}

/* Of one thread. */

static Read read_operands(const Product *product) {
    Read read = {{{0}}, {{0}}};
    int thread = (int)launch_now->seen.thread % 128, lane = thread % WARP;
    for (int k = 0; k < DEEP; k++) {
        for (int i = 0; i < DOWN; i++)
            read.a[i][k] =
                half_of(&product->a, thread / WARP * 16 + lane / 4 + i * 8, k, product->line);
        for (int i = 0; i < product->columns / 4; i++)
            read.b[i][k] = half_of(&product->b, i / 2 * 8 + lane % 4 * 2 + i % 2, k, product->line);
    }
    return read;
}

/* Halves are multiplied as the floats that they are. */
static void add_product(const Product *product, float *sums) {
    float a[DOWN], b[ACROSS];
    for (int k = 0; k < DEEP; k++) {
        for (int i = 0; i < DOWN; i++) a[i] = product->value(product->read.a[i][k]);
        for (int i = 0; i < product->columns / 4; i++) b[i] = product->value(product->read.b[i][k]);
        for (int i = 0; i < product->columns / 2; i++)
            sums[i] += a[i % 4 / 2] * b[i / 4 * 2 + i % 2];
    }
}

static void finish_product(const Product *product, float *sums) {
    Read again = read_operands(product);
    if (memcmp(&again, &product->read, sizeof again))
        launch_fail(launch_now,
                    "what the product of line %d reads has changed before it was waited for",
                    product->line);
    add_product(product, sums);
}

static void hold_sums(Products *products, float *sums, int columns, int line) {
    if (products->count && (products->sums != sums || products->columns != columns))
        launch_fail(launch_now, "a product at line %d begins while others have other sums", line);
    const int count = columns / 2;
    if (!products->count) memcpy(products->held, sums, (size_t)count * sizeof *sums);
    products->sums = sums;
    products->columns = columns;
    for (int i = 0; i < count; i++) sums[i] = NAN;
}

/* All lanes name the same matrices. */
static void check_warp(uint64_t a, uint64_t b, int line) {
    const uint64_t brought[2] = {a, b};
    const char *met = launch_now->seen.meet(brought, sizeof brought, line);
    for (int lane = 0; lane < WARP; lane++)
        if (memcmp(met + lane * FLOW_MEETING, brought, sizeof brought))
            launch_fail(launch_now, "lanes of a warp multiply different matrices at line %d", line);
}

/* So do all warps, by the number of the product: the first one that comes to it says which. */
static void check_group(uint32_t number, uint64_t a, uint64_t b, int line) {
    const Named wanted = {launch_now->epochs.block, number, line, a, b};
    Named *named = &all_named[launch_now->seen.thread / GROUP][number % NAMED];
    if (named->block != wanted.block || named->number < number) *named = wanted;
    if (named->number == number && memcmp(named, &wanted, sizeof wanted))
        launch_fail(launch_now,
                    "warps of a group multiply different matrices at line %d and line %d",
                    (int)named->line, line);
}

static void check_begin(const Products *products, int line) {
    if (launch_now->seen.thread / GROUP >= launch_now->seen.threads / GROUP)
        launch_fail(launch_now, "a product at line %d by a warpgroup that is not whole", line);
    if (!products->fenced)
        launch_fail(launch_now, "a product begins at line %d with no fence before it", line);
    if (products->count == PRODUCT_LIMIT)
        launch_fail(launch_now, "too many products at once begin at line %d", line);
}

/* What kernels call. */

static void multiply(float *sums, int columns, uint64_t a, uint64_t b, int a_by_depth,
                     int b_by_depth, float (*value)(uint16_t half), int line) {
    Products *products = own_products();
    check_begin(products, line);
    check_warp(a, b, line);
    check_group(products->number++, a, b, line);
    hold_sums(products, sums, columns, line);
    Product *next = &products->items[products->count];
    *next = (Product){.a = {a, a_by_depth},
                      .b = {b, b_by_depth},
                      .value = value,
                      .columns = columns,
                      .line = line,
                      .group = products->group};
    next->read = read_operands(next);
    products->count++;
}

static void begin_products(void) {
    own_products()->fenced = true;
}

static void end_products(void) {
    own_products()->group++;
}

/* The warp goes on together. */
static void await_products(int groups, int line) {
    Products *products = own_products();
    int done = 0;
    while (done < products->count && products->items[done].group < products->group - groups)
        finish_product(&products->items[done++], products->held);
    products->count -= done;
    products->fenced = false;
    memmove(products->items, products->items + done, (size_t)products->count * sizeof(Product));
    if (done && !products->count)
        memcpy(products->sums, products->held, (size_t)products->columns / 2 * sizeof(float));
    launch_now->seen.shuffle(0, 0, line);
}

static void show_writes(void) {
    launch_now->lanes[launch_now->seen.thread].shown = launch_now->epochs.now;
}

static uint32_t shared_address(const void *place, int line) {
    return launch_shared_address(launch_now, place, line);
}

void launch_forget_products(int thread) {
    is_used[thread] = false;
}

void launch_set_products(Launch *launch) {
    launch_now = launch;
    launch->seen.shared_address = shared_address;
    launch->seen.show_writes = show_writes;
    launch->seen.begin_products = begin_products;
    launch->seen.multiply = multiply;
    launch->seen.end_products = end_products;
    launch->seen.await_products = await_products;
}
