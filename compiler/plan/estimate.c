/* Estimate: what each kernel computes and moves, at the largest sizes. */
#include "compiler/plan/planner.h"

#include "compiler/plan/scan.h"

static double bound(Dim dim) {
    return (double)dim_bound(dim);
}

/* Does the value lie in memory, not in a buffer of its band? */
static bool moves(const Planner *planner, NodeId id) {
    return planner->plan->places[id].kind != PLACE_band;
}

static void estimate_read(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    (void)index;
    KernelPlan *kernel = &planner->plan->kernels[planner->kernel];
    if (node_of(planner, read)->kernel != planner->kernel && moves(planner, read))
        kernel->bytes += (double)type_size_bound(&node_of(planner, read)->type);
}

static void estimate(Planner *planner, int k) {
    KernelPlan *kernel = &planner->plan->kernels[k];
    visit_kernel(planner, k, estimate_read);
    if (kernel->scan) {
        kernel->operations = scan_operations(planner->plan, k);
        return;
    }
    for (size_t i = 0; i < kernel->node_count; i++) {
        const Node *node = node_of(planner, kernel->nodes[i]);
        const Loops *loops = &kernel->loops;
        double count = (double)type_size_bound(&node->type) / element_info[node->type.element].size;
        double cost = op_info[node->op].cost ? op_info[node->op].cost : 1;
        double points = bound(loops->outer) * bound(loops->rows) * bound(loops->columns);
        if (node->op == OP_matmul) cost = 2 * bound(loops->depth);
        if (op_info[node->op].class == LOOP_reduce) count = points * bound(loops->depth);
        kernel->operations += count * cost;
        if (planner->stored[kernel->nodes[i]] && moves(planner, kernel->nodes[i]))
            kernel->bytes += (double)type_size_bound(&node->type);
    }
}

void estimate_kernels(Planner *planner) {
    for (int k = 0; k < planner->plan->kernel_count; k++) estimate(planner, k);
}
