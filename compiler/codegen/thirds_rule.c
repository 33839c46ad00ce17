/* Which products of floats matrix tiles multiply by thirds (runtime/product/thirds.h), if there are
 * some. That hangs on sizes alone and on what the function touches, not on threads, any number of
 * which gives the same bits. */
#include "compiler/codegen/writer.h"

#include "runtime/product/product.h"

enum {
    COLUMNS = 96,      /* at least: fewer don't pay for the thirds of a */
    ROWS_SHARED = 128, /* of all slices, which threads share, and each makes thirds of b */
    DEPTH = 32,        /* terms, at least, or of products of fewer than MANY rows so many: */
    MANY = 64,
    DEPTH_OF_FEW = 128,
    RESULTS = 1 << 15, /* at most; or */
    DEEP = 256,        /* terms of each, at least; or */
    TOUCHED = 8 << 20, /* bytes, at most, by all kernels of the function */
};

/* Tiles leave less time in which results, and what is updated with them, come from far away. Are
 * they few, or is there much to add up for each, or do the second caches keep them from call to
 * call? */
static bool are_near(const FunctionPlan *plan, const Loops *loops) {
    const double results = (double)dim_bound(loops->outer) * (double)dim_bound(loops->rows) *
                           (double)dim_bound(loops->columns);
    return results <= RESULTS || dim_bound(loops->depth) >= DEEP || plan->bytes <= TOUCHED;
}

static bool fills_tiles(const Loops *loops) {
    const int64_t rows = dim_bound(loops->rows), depth = dim_bound(loops->depth);
    return rows >= FLOW_THIRDS_FEWEST &&
           (double)rows * (double)dim_bound(loops->outer) >= ROWS_SHARED &&
           dim_bound(loops->columns) >= COLUMNS && depth >= (rows < MANY ? DEPTH_OF_FEW : DEPTH);
}

bool takes_thirds(const FunctionPlan *plan, int kernel) {
    const KernelPlan *planned = &plan->kernels[kernel];
    if (plan->graph->wishes.exact) return false;
    return (is_compiled_ahead(plan, kernel) || multiplies_floats(plan, kernel, 1)) &&
           fills_tiles(&planned->loops) && are_near(plan, &planned->loops) &&
           !has_triangle(planned) && !planned->in_band;
}
