/* Parts: a deep product of few results has too few tiles for a GPU, so that parts of its depth are
 * added up by blocks of their own, and their sums afterwards, in their order: with any GPU the same
 * bits come out.
 *
 * On the CPU one of windows, whose operands are much more than its results, has parts that each
 * thread reads for itself; else all threads would read all of both operands. Sizes alone say how
 * many there are, so any number of threads gives the same bits. */
#include "compiler/plan/planner.h"

#include "compiler/passes/operand.h"

enum {
    TILE = 64,
    ENOUGH = 256,     /* tiles, two for each multiprocessor of a large GPU */
    DEPTH_LEAST = 64, /* of a part, as templates/cuda_matmul.h divides it */
    PARTS_LEAST = 3,  /* fewer don't make up for a kernel more */
    CPU_PARTS = 8,
    CPU_DEPTH_LEAST = 512, /* of a part */
    CPU_DEPTH_SHARE = 2,   /* times the rows, of a part: results are stored, and read again */
};

static double tiles_of(const Loops *loops) {
    int64_t rows = dim_bound(loops->rows), columns = dim_bound(loops->columns);
    return (double)dim_bound(loops->outer) * (double)((rows - 1) / TILE + 1) *
           (double)((columns - 1) / TILE + 1);
}

static Element sum_element(const Planner *planner, const KernelPlan *kernel) {
    return node_of(planner, kernel->nodes[0])->type.element;
}

/* As each has a multiple of the least, fewer may have all of the depth. */
static int parts_on_gpu(const KernelPlan *kernel) {
    double tiles = tiles_of(&kernel->loops);
    int64_t depth = dim_bound(kernel->loops.depth), most = depth / DEPTH_LEAST;
    int64_t parts = (double)most < ENOUGH / tiles ? most : (int64_t)(ENOUGH / tiles);
    if (parts < PARTS_LEAST) return 1;
    const int64_t each = ((depth - 1) / (parts * DEPTH_LEAST) + 1) * DEPTH_LEAST;
    parts = (depth - 1) / each + 1;
    return parts < PARTS_LEAST ? 1 : (int)parts;
}

static int parts_on_cpu(const Planner *planner, const KernelPlan *kernel) {
    const Node *matmul = node_of(planner, kernel->nodes[0]);
    const ContractionOperand a = contraction_operand(planner->graph, matmul, 0),
                             b = contraction_operand(planner->graph, matmul, 1);
    const int64_t depth = dim_bound(kernel->loops.depth), rows = dim_bound(kernel->loops.rows);
    const int64_t each = depth_of_windows(&a);
    if (kernel->winograd) return kernel->winograd->parts;
    if (kernel->by_columns || !dim_is_one(kernel->loops.outer) || !each ||
        !sees_windows(planner->graph, &a, &b, kernel->loops.columns))
        return 1;
    int parts = CPU_PARTS;
    while (parts > 1 && (depth / each < parts || depth / parts < CPU_DEPTH_LEAST ||
                         depth / parts < rows * CPU_DEPTH_SHARE))
        parts /= 2;
    return parts;
}

bool may_have_parts(const Planner *planner, const KernelPlan *kernel) {
    return kernel->loops.kind == KERNEL_contraction && !kernel->attention && !is_taken_in(kernel) &&
           element_info[sum_element(planner, kernel)].class == CLASS_floating &&
           !makes_records(planner->plan->function) &&
           planner->graph->wishes.replicas <= 1; /* a call of theirs is one launch */
}

void find_parts(const Planner *planner, KernelPlan *kernel) {
    kernel->parts = 1;
    if (!may_have_parts(planner, kernel)) return;
    kernel->parts = runs_on_gpu(kernel) ? parts_on_gpu(kernel) : parts_on_cpu(planner, kernel);
}

void buffer_parts(Planner *planner, int k) {
    const KernelPlan *kernel = &planner->plan->kernels[k];
    const Loops *loops = &kernel->loops;
    if (kernel->parts == 1) return;
    size_t size = sum_element(planner, kernel) == TYPE_f64 ? sizeof(double) : sizeof(float);
    size *= (size_t)kernel->parts * (size_t)dim_bound(loops->outer) *
            (size_t)dim_bound(loops->rows) * (size_t)dim_bound(loops->columns);
    vector_push(planner->arena, &planner->plan->buffers,
                (Buffer){.node = kernel->nodes[0],
                         .size = align_size(size),
                         .first_phase = kernel->phase,
                         .last_phase = kernel->phase,
                         .parts_of = k + 1});
}
