/* product.c: as matmul.c, where a product that was compiled ahead serves: of floats, deep, of many
 * rows. CONTEXT has it as `product`, whose numbers PREPARE takes from the call, so that one kernel
 * serves all sizes; what follows the product is called through pointers. Of the parameters of
 * matmul.c it takes KERNEL, CONTEXT, PREPARE, PLAIN, FINISH and, of a `context` that is pointed to,
 * ASK; and what rows see: SEES_COLUMNS, SEES_DEPTH, SEEN_COLUMNS, SEEN_DEPTH and UNSEEN_DEPTH. */
#include "runtime/product/vectors.h"

/* Rows at a time whose sums go over what any of them sees, counted from row 0, whoever computes
 * them: what is added up in which parts depends on how much that is. They are whole tiles of all
 * processors. */
enum { FLOW_JOIN(KERNEL, _step) = 48 };

#if SEES_COLUMNS
static int64_t FLOW_JOIN(KERNEL, _sees)(int64_t row, int64_t all) {
    return SEEN_COLUMNS(row, all);
}
#endif

#if !PLAIN
static void FLOW_JOIN(KERNEL, _finish_any)(const void *context, const float *sums, int64_t stride,
                                           int64_t first_row, int64_t first_column, int64_t rows,
                                           int64_t columns) {
    FINISH(context, sums, stride, first_row, first_column, rows, columns);
}
#endif

static void FLOW_JOIN(KERNEL, _ask)(const void *of, int64_t i, int64_t rows, int64_t columns) {
    const CONTEXT *const context = of;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t n = 0; n < columns; n += FLOW_LINE / (int)sizeof(float))
            ASK(i + row * context->product.columns + n);
}

static void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *of, int64_t slice, int64_t row, int64_t rows,
                                      int64_t first, int64_t last) {
    FlowProduct product = of->product;
#if !PLAIN
    product.finish = FLOW_JOIN(KERNEL, _finish_any);
#endif
    product.ask = FLOW_JOIN(KERNEL, _ask);
    product.context = of;
#if SEES_COLUMNS
    product.sees = FLOW_JOIN(KERNEL, _sees);
#endif
    const int64_t step = SEES_DEPTH ? FLOW_JOIN(KERNEL, _step) : product.rows;
    for (int64_t end = row + rows, next; row < end; row = next) {
        const int64_t before = row - row % step, after = flow_smaller(before + step, product.rows);
        const int64_t unseen = UNSEEN_DEPTH(before, of->product.depth);
        next = flow_smaller(after, end);
        product.a = of->product.a + unseen * product.a_depth;
        product.b = of->product.b + unseen * product.b_depth;
        product.depth = SEEN_DEPTH(after - 1, of->product.depth) - unseen;
        flow_multiply(&product, slice, row, next - row, first, SEEN_COLUMNS(next - 1, last));
    }
}

#define OUTER context.product.outer
#define ROWS context.product.rows
#define COLUMNS context.product.columns
#define SHARE_BLOCK FLOW_SHARE_BLOCK
#define BY_COLUMNS context.product.by_columns
#include "split.h"
