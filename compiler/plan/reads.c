/* Reads: which values a kernel needs for a node, and where in its loops. */
#include "compiler/passes/operand.h"
#include "compiler/plan/planner.h"
#include "compiler/graph/scan.h"

typedef struct Reader {
    const Graph *graph;
    int kernel;
    const Loops *loops;
    VisitRead *visit;
    void *context;
} Reader;

static void read_operands(const Reader *reader, const Node *node, IndexKind index);
static void read_contraction(const Reader *reader, const Node *node);

static bool is_in_memory(const Node *node) {
    return node->op == OP_input || node->op == OP_weight || node->kernel != NO_KERNEL;
}

static void read_value(const Reader *reader, NodeId id, IndexKind index) {
    const Node *node = graph_node(reader->graph, id);
    if (is_in_memory(node)) reader->visit(reader->context, id, index);
    else if (node->op == OP_matmul) read_contraction(reader, node);
    else read_operands(reader, node, index);
}

static void read_operands(const Reader *reader, const Node *node, IndexKind index) {
    for (int i = 0; i < node->input_count; i++) {
        IndexKind inner = needed_index(reader->graph, reader->loops, node, i, index);
        read_value(reader, node->inputs[i], inner);
    }
}

/* Rows of a that lie in order belong to the same rows of the result, unless a is computed on the
 * way. */
static void read_contraction(const Reader *reader, const Node *node) {
    ContractionOperand a = contraction_operand(reader->graph, node, 0);
    bool rows = is_in_order(reader->graph, &a) && is_in_memory(graph_node(reader->graph, a.node));
    read_value(reader, a.node, rows ? INDEX_row : INDEX_other);
    ContractionOperand b = contraction_operand(reader->graph, node, 1);
    reader->visit(reader->context, b.node, INDEX_other);
}

/* Every thread reads all of both. */
static void read_scatter(const Reader *reader, const Node *node) {
    for (int i = 0; i < node->input_count; i++) read_value(reader, node->inputs[i], INDEX_other);
}

/* Every operand, by all threads. */
static void read_scan(const Reader *reader, const Node *node) {
    const Node *list = graph_node(reader->graph, node->inputs[0]);
    for (; list->op == OP_list; list = graph_node(reader->graph, list->inputs[0]))
        reader->visit(reader->context, strip_reshapes(reader->graph, list->inputs[1]), INDEX_other);
}

void each_read(const Graph *graph, int kernel, const Loops *loops, NodeId id, VisitRead *visit,
               void *context) {
    const Node *node = graph_node(graph, id);
    Reader reader = {graph, kernel, loops, visit, context};
    if (node->op == OP_matmul) read_contraction(&reader, node);
    else if (op_info[node->op].class == LOOP_scatter) read_scatter(&reader, node);
    else if (op_info[node->op].class == LOOP_row) read_value(&reader, node->inputs[0], INDEX_full);
    else if (node->op == OP_scan || node->op == OP_extern) read_scan(&reader, node);
    else if (node->op == OP_part) return;
    else if (op_info[node->op].class == LOOP_reduce)
        read_value(&reader, node->inputs[0],
                   loops->kind == KERNEL_columns ? INDEX_other : INDEX_full);
    else read_operands(&reader, node, native_index(graph->dimensions, loops, &node->type));
}

static void keep_read(void *context, NodeId read, IndexKind index) {
    Planner *planner = context;
    vector_push(planner->arena, &planner->reads, (KernelRead){planner->node, read, index});
}

static void find_reads(Planner *planner, int k, KernelReads *reads) {
    const KernelPlan *kernel = &planner->plan->kernels[k];
    *reads = (KernelReads){kernel->nodes, kernel->node_count, planner->reads.count, 0};
    for (size_t i = 0; i < kernel->node_count; i++) {
        planner->node = kernel->nodes[i];
        each_read(planner->graph, k, &kernel->loops, kernel->nodes[i], keep_read, planner);
    }
    reads->count = planner->reads.count - reads->first;
}

void visit_kernel(Planner *planner, int k, VisitRead *visit, void *context) {
    const KernelPlan *kernel = &planner->plan->kernels[k];
    KernelReads *reads = &planner->reads_of[k];
    if (reads->nodes != kernel->nodes || reads->node_count != kernel->node_count)
        find_reads(planner, k, reads);
    planner->kernel = k;
    for (size_t i = reads->first; i < reads->first + reads->count; i++) {
        const KernelRead read = planner->reads.items[i];
        planner->node = read.node;
        visit(context, read.read, read.index);
    }
}
