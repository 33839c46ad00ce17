/* Again: what kernels that run slice by slice read of an earlier band is made again, by calling its
 * kernels once more, if nobody else wants it: then it has no place in memory. What these read must
 * be there anyhow, and the arithmetic take no longer than memory would. */
#include "compiler/plan/slices.h"

enum { OPERATIONS_MOST = 24 /* that make a byte again: in that time memory gives about one */ };

static int begin_of_run(const Finder *finder, int place) {
    while (place > 0 && !kernel_at(finder->bander, place)->barrier &&
           !finder->bander->given[place] &&
           is_alike(finder, planner_of(finder)->plan->order[place - 1]))
        place--;
    return place;
}

bool is_earlier(const Finder *finder, int k) {
    return k != NO_KERNEL && place_of(finder, k) >= finder->earlier &&
           place_of(finder, k) < finder->behind;
}

/* Is the value wanted only in the earlier run, by rows, and in the band? */
static bool may_be_made_again(const Finder *finder, NodeId id) {
    const Planner *planner = planner_of(finder);
    if (finder->bander->kept[id] || planner->target[id] != NODE_NONE ||
        !row_size(finder->bander, id, finder->share))
        return false;
    vector_each(SliceReader, reader, finder->readers[id])
        if (!(is_earlier(finder, reader->kernel) && reader->own_row) &&
            !reads_within(finder, reader))
            return false;
    return true;
}

/* Of what kernels leave that run again, large values are made anew, and so have no place in memory,
 * but for reductions. */
static bool is_made_anew(const Finder *finder, NodeId id) {
    return is_large(finder->bander, id) && !is_found_again(finder, id);
}

static bool makes_again(Finder *finder, int k);

/* A large value that the earlier run leaves is made again as well; all else stays in memory. */
static void ask_again(void *context, NodeId read, IndexKind index) {
    Finder *finder = context;
    const Planner *planner = planner_of(finder);
    (void)index;
    if (planner->update[read] != NODE_NONE) finder->good = false;
    if (!is_large(finder->bander, read) || writer_of(finder, read) == planner->kernel) return;
    if (!is_earlier(finder, writer_of(finder, read)))
        finder->good &= finder->bander->readings[read].last >= finder->first;
}

static bool makes_reads_again(Finder *finder, int k) {
    const KernelPlan *kernel = kernel_of(finder, k);
    for (int i = finder->earlier; i < place_of(finder, k); i++) {
        const int writer = planner_of(finder)->plan->order[i];
        const KernelPlan *before = kernel_of(finder, writer);
        for (size_t j = 0; j < before->node_count; j++) {
            if (!is_made_anew(finder, before->nodes[j])) continue;
            vector_each(SliceReader, reader, finder->readers[before->nodes[j]])
                if (kernel_of(finder, reader->kernel) == kernel && !makes_again(finder, writer))
                    return false;
        }
    }
    return true;
}

/* Adds the kernel and those that it needs, if it may run again. */
static bool makes_again(Finder *finder, int k) {
    if (has_kernel(&finder->again, k)) return true;
    const KernelPlan *kernel = kernel_of(finder, k);
    for (size_t i = 0; i < kernel->node_count; i++)
        if (is_made_anew(finder, kernel->nodes[i]) && !may_be_made_again(finder, kernel->nodes[i]))
            return false;
    finder->good = !changes_weights(finder, k);
    visit_kernel(planner_of(finder), k, ask_again, finder);
    if (!finder->good || !makes_reads_again(finder, k)) return false;
    vector_push(planner_of(finder)->arena, &finder->again, k);
    return true;
}

static double operations_at(const Finder *finder, NodeId id) {
    const Node *node = node_of(planner_of(finder), id);
    if (node->op != OP_matmul) return op_info[node->op].cost ? op_info[node->op].cost : 1;
    return 2 * (double)dim_bound(kernel_of(finder, node->kernel)->loops.depth);
}

/* Would memory take as long to keep what is read again, stored and loaded? */
static bool is_cheap(const Finder *finder) {
    double operations = 0, bytes = 0;
    vector_each(int, k, finder->again) {
        const KernelPlan *kernel = kernel_of(finder, *k);
        for (size_t i = 0; i < kernel->node_count; i++) {
            const NodeId id = kernel->nodes[i];
            const Node *node = node_of(planner_of(finder), id);
            operations += operations_at(finder, id);
            vector_each(SliceReader, reader, finder->readers[id])
                if (has_kernel(&finder->kernels, reader->kernel)) {
                    bytes += 2 * element_info[node->type.element].size;
                    break;
                }
        }
    }
    return operations <= OPERATIONS_MOST * bytes;
}

static void note_values(Finder *finder) {
    vector_each(int, k, finder->again) {
        const KernelPlan *kernel = kernel_of(finder, *k);
        for (size_t i = 0; i < kernel->node_count; i++)
            if (is_made_anew(finder, kernel->nodes[i]))
                vector_push(planner_of(finder)->arena, &finder->values, kernel->nodes[i]);
    }
}

/* What the kernels of the band read of kernel k, which is none of them. */
static bool wants_of(const Finder *finder, int k) {
    const KernelPlan *kernel = kernel_of(finder, k);
    for (size_t i = 0; i < kernel->node_count; i++) {
        if (!is_made_anew(finder, kernel->nodes[i])) continue;
        vector_each(SliceReader, reader, finder->readers[kernel->nodes[i]])
            if (has_kernel(&finder->kernels, reader->kernel)) return true;
    }
    return false;
}

/* Is the kernel at that place, and what it needs, run again? */
static bool is_run_again(Finder *finder, int place) {
    const int k = planner_of(finder)->plan->order[place];
    if (!is_alike(finder, k) || !wants_of(finder, k)) return false;
    finder->again.count = 0;
    finder->earlier = begin_of_run(finder, place);
    finder->behind = end_of_run(finder->bander, finder->earlier);
    return !finder->bander->given[finder->earlier] && makes_again(finder, k) && is_cheap(finder);
}

void find_again(Finder *finder) {
    int place = finder->first - 1;
    while (place >= 0 && !is_run_again(finder, place)) place--;
    if (place < 0) finder->again.count = 0;
    note_values(finder);
}
