/* Triangle: what no row of causal scores sees isn't computed.
 *
 * A kernel that has a row for each query goes only over what the row sees, if whoever reads what it
 * stores does so, too, or it is 0 behind that; a product with such rows as its left operand adds up
 * no more. Sums only lose terms that are 0, unless these were weighted by infinity or all that a
 * row sees is -infinity. */
#include "compiler/plan/triangle.h"

#include "compiler/passes/operand.h"

#include <math.h>

typedef struct Finder {
    Planner *planner;
    Halves halves;
    NodeId *of;       /* of each kernel that leaves out columns: a node that has its triangle */
    bool *read_whole; /* of each node: somebody reads it behind the diagonal */
    int reader;
    bool changed;
} Finder;

/* Kernels. */

static bool may_leave_out(const Finder *finder, const KernelPlan *kernel) {
    const Loops *loops = &kernel->loops;
    return !runs_on_gpu(kernel) && kernel->node_count && !kernel->by_columns &&
           (loops->kind == KERNEL_rows || loops->kind == KERNEL_contraction) &&
           !finder->planner->plan->function->of_record;
}

/* Has the node an element at each point of the loops? */
static bool is_full(const Finder *finder, const KernelPlan *kernel, NodeId id) {
    Dimensions *table = finder->halves.graph->dimensions;
    const Dim rows = dim_multiply(table, kernel->loops.outer, kernel->loops.rows);
    return type_elements(table, &graph_node(finder->halves.graph, id)->type) ==
           dim_multiply(table, rows, kernel->loops.columns);
}

/* A kernel that makes one of them has its triangle. */
static void begin_kernels(const Finder *finder) {
    const FunctionPlan *plan = finder->planner->plan;
    for (int k = 0; k < plan->kernel_count; k++) {
        finder->of[k] = NODE_NONE;
        if (!may_leave_out(finder, &plan->kernels[k])) continue;
        for (size_t i = 0; i < plan->kernels[k].node_count; i++) {
            const NodeId id = plan->kernels[k].nodes[i];
            if (finder->halves.items[id].is && is_full(finder, &plan->kernels[k], id))
                finder->of[k] = finder->halves.items[id].of;
        }
    }
}

/* The product that makes what such a kernel reads has the same. */
static void give_to_writer(void *context, NodeId read, IndexKind index) {
    const Finder *finder = context;
    const KernelPlan *kernels = finder->planner->plan->kernels;
    const int writer = graph_node(finder->halves.graph, read)->kernel;
    const NodeId of = finder->of[finder->reader];
    if (index == INDEX_full && writer != NO_KERNEL && finder->of[writer] == NODE_NONE &&
        is_square_of(&finder->halves, read, of) && may_leave_out(finder, &kernels[writer]) &&
        kernels[writer].loops.kind == KERNEL_contraction)
        finder->of[writer] = of;
}

static void visit_reads(Finder *finder, int k, VisitRead *visit) {
    finder->reader = k;
    visit_kernel(finder->planner, k, visit, finder);
}

static void give_to_writers(Finder *finder) {
    for (int k = 0; k < finder->planner->plan->kernel_count; k++)
        if (finder->of[k] != NODE_NONE) visit_reads(finder, k, give_to_writer);
}

/* Who reads more than what rows see. */

static void note_read(void *context, NodeId read, IndexKind index) {
    const Finder *finder = context;
    const KernelPlan *reader = &finder->planner->plan->kernels[finder->reader];
    const int writer = graph_node(finder->halves.graph, read)->kernel;
    if (writer == NO_KERNEL || writer == finder->reader) return;
    const NodeId of = finder->of[writer], own = finder->of[finder->reader];
    if (index != INDEX_full || reader->loops.kind != KERNEL_rows ||
        !have_same_triangle(&finder->halves, of, own))
        finder->read_whole[read] = true;
}

static void find_whole_reads(Finder *finder) {
    for (NodeId id = 0; id < finder->halves.graph->nodes.count; id++)
        finder->read_whole[id] = false;
    for (int k = 0; k < finder->planner->plan->kernel_count; k++) visit_reads(finder, k, note_read);
    vector_each(Node, node, finder->halves.graph->nodes)
        if (node->op == OP_check)
            finder->read_whole[strip_reshapes(finder->halves.graph, node->inputs[0])] = true;
    vector_each(Output, output, finder->halves.graph->outputs)
        finder->read_whole[strip_reshapes(finder->halves.graph, output->value)] = true;
}

/* Does a sum or a maximum of its row take no notice of what is left out? */
static bool reduces_seen(const Finder *finder, const Node *node, NodeId of) {
    const NodeId operand = strip_reshapes(finder->halves.graph, node->inputs[0]);
    const Half half = finder->halves.items[operand];
    const bool takes = (node->op == OP_sum && half.is == HALF_zero) ||
                       (node->op == OP_max && half.is == HALF_masked);
    return takes && is_square_of(&finder->halves, operand, of) &&
           have_same_triangle(&finder->halves, half.of, of);
}

static bool is_left_out(const Finder *finder, const KernelPlan *kernel, NodeId id, NodeId of) {
    const bool product = kernel->loops.kind == KERNEL_contraction;
    if (!finder->planner->stored[id]) return true;
    if (finder->planner->target[id] != NODE_NONE) return false;
    return !finder->read_whole[id] || (!product && is_zero_behind(&finder->halves, id, of));
}

static bool may_leave_out_of(const Finder *finder, const KernelPlan *kernel, NodeId id, NodeId of) {
    const Node *node = graph_node(finder->halves.graph, id);
    switch (op_info[node->op].class) {
    case LOOP_reduce: return reduces_seen(finder, node, of);
    case LOOP_contract:
    case LOOP_generate:
    case LOOP_elementwise: break;
    default: return false;
    }
    if (!is_full(finder, kernel, id))
        return kernel->loops.kind == KERNEL_rows || !finder->planner->stored[id];
    return is_square_of(&finder->halves, id, of) && is_left_out(finder, kernel, id, of);
}

static void check_kernel(Finder *finder, int k) {
    const KernelPlan *kernel = &finder->planner->plan->kernels[k];
    const NodeId of = finder->of[k];
    if (of == NODE_NONE) return;
    const Node *square = graph_node(finder->halves.graph, of);
    bool good = kernel->loops.columns == keys_of(square) &&
                (kernel->loops.kind == KERNEL_rows || kernel->loops.rows == queries_of(square));
    for (size_t i = 0; good && i < kernel->node_count; i++)
        good = may_leave_out_of(finder, kernel, kernel->nodes[i], of);
    if (good) return;
    finder->of[k] = NODE_NONE;
    finder->changed = true;
}

static void drop_until_good(Finder *finder) {
    for (finder->changed = true; finder->changed;) {
        finder->changed = false;
        find_whole_reads(finder);
        for (int k = 0; k < finder->planner->plan->kernel_count; k++) check_kernel(finder, k);
    }
}

/* Products of what is 0 behind the diagonal. */

static bool is_stride(const Digits *digits, Dim stride) {
    return digits->count == 1 && digits->items[0].stride == stride;
}

/* Is the operand read column by column, one matrix after the other? */
static bool is_turned(Dimensions *table, const Loops *loops, const ContractionOperand *a) {
    const Dim none = dim_constant(table, 0), one = dim_constant(table, 1);
    const Dim each = dim_multiply(table, loops->rows, loops->depth);
    return a->start == none && is_stride(&a->first, one) && is_stride(&a->second, loops->rows) &&
           (dim_is_one(loops->outer) || is_stride(&a->outer, each));
}

static NodeId seen_depth(const Finder *finder, const KernelPlan *kernel, bool *turned) {
    if (!may_leave_out(finder, kernel) || kernel->loops.kind != KERNEL_contraction)
        return NODE_NONE;
    const Node *product = graph_node(finder->halves.graph, kernel->nodes[0]);
    const ContractionOperand a = contraction_operand(finder->halves.graph, product, 0);
    const Half half = finder->halves.items[a.node];
    const Loops *loops = &kernel->loops;
    if (half.is != HALF_zero) return NODE_NONE;
    const Node *left = graph_node(finder->halves.graph, a.node);
    *turned = loops->rows == keys_of(left) && loops->depth == queries_of(left) &&
              is_turned(finder->halves.graph->dimensions, loops, &a);
    const bool rows = loops->depth == keys_of(left) && loops->rows == queries_of(left) &&
                      is_in_order(finder->halves.graph, &a);
    return rows || *turned ? half.of : NODE_NONE;
}

static void give_triangle(const Finder *finder, int k) {
    KernelPlan *kernel = &finder->planner->plan->kernels[k];
    bool turned = false;
    const NodeId columns = finder->of[k], depth = seen_depth(finder, kernel, &turned);
    const NodeId of = columns != NODE_NONE ? columns : depth;
    const bool both = depth != NODE_NONE && have_same_triangle(&finder->halves, depth, of);
    kernel->triangle = triangle_of(&finder->halves, of);
    kernel->triangle.columns = columns != NODE_NONE;
    kernel->triangle.depth = both && !turned;
    kernel->triangle.turned = both && turned;
}

double seen_share(const KernelPlan *kernel) {
    const Triangle *triangle = &kernel->triangle;
    if (!triangle->queries) return 1;
    const Dim keys = triangle->columns  ? kernel->loops.columns
                     : triangle->turned ? kernel->loops.rows
                                        : kernel->loops.depth;
    const double queries = (double)triangle->queries, all = (double)dim_bound(keys);
    const double first = (double)triangle->seen + 1; /* of row 0; each row sees one more */
    const double growing = fmin(fmax(all - first, 0), queries);
    const double seen = growing * (first + (growing - 1) / 2) + (queries - growing) * all;
    return seen / (queries * all);
}

static void find_partial(const Finder *finder) {
    FunctionPlan *plan = finder->planner->plan;
    const size_t count = finder->halves.graph->nodes.count;
    plan->partial = arena_new_array(finder->planner->arena, bool, count + 1);
    for (NodeId id = 0; id < count; id++) {
        const int kernel = graph_node(finder->halves.graph, id)->kernel;
        plan->partial[id] = kernel != NO_KERNEL && plan->kernels[kernel].triangle.columns &&
                            is_full(finder, &plan->kernels[kernel], id) && !finder->read_whole[id];
    }
}

void find_triangles(Planner *planner) {
    Arena *arena = planner->arena;
    const size_t nodes = planner->graph->nodes.count + 1;
    const size_t kernels = (size_t)planner->plan->kernel_count + 1;
    Finder finder = {.planner = planner,
                     .halves = {planner->graph, arena_new_array(arena, Half, nodes)}};
    if (!find_halves(&finder.halves)) return;
    finder.of = arena_new_array(arena, NodeId, kernels);
    finder.read_whole = arena_new_array(arena, bool, nodes);
    begin_kernels(&finder);
    give_to_writers(&finder);
    drop_until_good(&finder);
    for (int k = 0; k < planner->plan->kernel_count; k++) give_triangle(&finder, k);
    find_partial(&finder);
}
