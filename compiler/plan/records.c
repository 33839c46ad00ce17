/* Records: kernels around products of windows are split over threads by whole records, so that
 * nobody waits between a copy with padding and the product that sees it through windows, or between
 * that and a pool: each thread reads at other rows, too, only what it has written itself. Bands of
 * them are of whole records, then.
 *
 * It spreads from a product that reads a value so, to all that hand each other values record by
 * record. Where records are few, or each is one row, kernels stay split by rows. */
#include "compiler/plan/planner.h"

#include "compiler/passes/operand.h"

/* In a batch, at most. Threads share fewer badly; more threads than about half of the records are
 * better served by blocks of rows, but how many there will be is not known here. */
enum { RECORDS_LEAST = 32 };

/* Those that may be split so, and those that are looked at around one. */
typedef struct Spreading {
    Planner *planner;
    bool *able;  /* of each kernel */
    bool found;  /* a read that was asked for */
    bool spread; /* to one more kernel */
} Spreading;

/* How many each record has. */
static int64_t of_record(const Planner *planner, Dim count) {
    return count_of_record(planner->graph->dimensions, count, planner->graph->batch);
}

/* Does the kernel multiply what it sees through windows, where it lies? */
static bool is_of_windows(const Planner *planner, const KernelPlan *kernel) {
    const Node *matmul = node_of(planner, kernel->nodes[0]);
    const ContractionOperand a = contraction_operand(planner->graph, matmul, 0),
                             b = contraction_operand(planner->graph, matmul, 1);
    return sees_windows(planner->graph, &a, &b, kernel->loops.columns);
}

static bool has_fitting_loops(const Planner *planner, const KernelPlan *kernel) {
    switch (kernel->loops.kind) {
    case KERNEL_rows:
    case KERNEL_row_function: return true;
    case KERNEL_columns: return of_record(planner, kernel->loops.outer) > 0;
    case KERNEL_contraction:
        return !kernel->by_columns && kernel->parts == 1 && !kernel->attention &&
               (kernel->winograd || is_of_windows(planner, kernel));
    default: return false;
    }
}

static bool is_able(const Planner *planner, const KernelPlan *kernel) {
    if (is_taken_in(kernel) || op_is_whole(node_of(planner, kernel->nodes[0])->op)) return false;
    return of_record(planner, kernel->share) > 1 && has_fitting_loops(planner, kernel);
}

/* The able kernel, but for the reader, that hands the value on record by record; or NULL. */
static KernelPlan *writer_of(const Spreading *all, NodeId read, IndexKind index) {
    const Planner *planner = all->planner;
    const int writer = node_of(planner, read)->kernel;
    const bool own = index == INDEX_full || index == INDEX_row || index == INDEX_output;
    if (writer == NO_KERNEL || writer == planner->kernel || !all->able[writer]) return NULL;
    return own || index == INDEX_record ? &planner->plan->kernels[writer] : NULL;
}

static void note_windows(void *context, NodeId read, IndexKind index) {
    Spreading *all = context;
    if (index == INDEX_record && writer_of(all, read, index)) all->found = true;
}

/* From the kernel to those whose values it reads, or from them to it. */
static void spread_to(void *context, NodeId read, IndexKind index) {
    Spreading *all = context;
    KernelPlan *reader = &all->planner->plan->kernels[all->planner->kernel];
    KernelPlan *writer = writer_of(all, read, index);
    if (!writer || !reader->records == !writer->records) return;
    reader->records = writer->records = all->planner->graph->batch;
    all->spread = true;
}

static bool may_split(const Planner *planner) {
    const FunctionPlan *plan = planner->plan;
    return planner->graph->batch && !plan->function->of_record && !plan->function->of_turn &&
           !uses_gpu(plan) && dim_bound(planner->graph->batch) >= RECORDS_LEAST;
}

/* On and back: values go from kernels of lower numbers to higher ones, most often. */
static void spread_records(Spreading *all) {
    const int count = all->planner->plan->kernel_count;
    for (all->spread = true; all->spread;) {
        all->spread = false;
        for (int i = 0; i < 2 * count; i++) {
            const int k = i < count ? i : 2 * count - 1 - i;
            if (all->able[k]) visit_kernel(all->planner, k, spread_to, all);
        }
    }
}

void find_records(Planner *planner) {
    FunctionPlan *plan = planner->plan;
    Spreading all = {.planner = planner};
    if (!may_split(planner)) return;
    all.able = arena_new_array(planner->arena, bool, plan->kernel_count + 1);
    for (int k = 0; k < plan->kernel_count; k++) all.able[k] = is_able(planner, &plan->kernels[k]);
    for (int k = 0; k < plan->kernel_count; k++) {
        all.found = false;
        if (!all.able[k] || plan->kernels[k].loops.kind != KERNEL_contraction) continue;
        visit_kernel(planner, k, note_windows, &all);
        if (all.found) plan->kernels[k].records = planner->graph->batch;
    }
    spread_records(&all);
}
