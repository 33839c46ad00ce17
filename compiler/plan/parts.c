/* Parts: a deep product of few results has too few tiles for a GPU, so that parts of its depth are
 * added up by blocks of their own, and their sums afterwards, in their order: with any GPU the same
 * bits come out. */
#include "compiler/plan/planner.h"

enum {
    TILE = 64,
    ENOUGH = 128,      /* tiles */
    DEPTH_LEAST = 256, /* of a part */
    PARTS_LEAST = 4,   /* fewer don't make up for a kernel more */
};

static double tiles_of(const Loops *loops) {
    int64_t rows = dim_bound(loops->rows), columns = dim_bound(loops->columns);
    return (double)dim_bound(loops->outer) * (double)((rows - 1) / TILE + 1) *
           (double)((columns - 1) / TILE + 1);
}

static Element sum_element(const Planner *planner, const KernelPlan *kernel) {
    return node_of(planner, kernel->nodes[0])->type.element;
}

void find_parts(const Planner *planner, KernelPlan *kernel) {
    kernel->parts = 1;
    bool floats = element_info[sum_element(planner, kernel)].class == CLASS_floating;
    if (kernel->loops.kind != KERNEL_contraction || !runs_on_gpu(kernel) || !floats ||
        kernel->attention || is_taken_in(kernel) || makes_records(planner->plan->function) ||
        planner->graph->wishes.replicas > 1) /* a call of theirs is one launch */
        return;
    double tiles = tiles_of(&kernel->loops);
    int64_t most = dim_bound(kernel->loops.depth) / DEPTH_LEAST;
    int parts = (double)most < ENOUGH / tiles ? (int)most : (int)(ENOUGH / tiles);
    if (parts >= PARTS_LEAST) kernel->parts = parts;
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
