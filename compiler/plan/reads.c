/* Reads: which values a kernel needs for a node, and where in its loops.
 *
 * Where the batch is the leading dimension of what a kernel goes over, each record is an equal part
 * of it, in order. What is read at other rows may still be of the same record: as long as each step
 * from the kernel's points to the value keeps the leading dimension. */
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

/* Where in the loops, and whether it is of the record that the point of the loops is of. */
typedef struct Spot {
    IndexKind index;
    bool own_record;
} Spot;

static void read_operands(const Reader *reader, const Node *node, Spot spot);
static void read_contraction(const Reader *reader, const Node *node, bool own_record);

static bool is_in_memory(const Node *node) {
    return node->op == OP_input || node->op == OP_weight || node->kernel != NO_KERNEL;
}

static void visit_value(const Reader *reader, NodeId id, Spot spot) {
    const bool of_record = spot.index == INDEX_other && spot.own_record;
    reader->visit(reader->context, id, of_record ? INDEX_record : spot.index);
}

static void read_value(const Reader *reader, NodeId id, Spot spot) {
    const Node *node = graph_node(reader->graph, id);
    if (is_in_memory(node)) visit_value(reader, id, spot);
    else if (node->op == OP_matmul) read_contraction(reader, node, false);
    else read_operands(reader, node, spot);
}

/* Does coordinate 0 of the view's operand stay what it is? */
static bool keeps_leading(const View *view) {
    const Coordinate *leading = &view->coordinates[0];
    int64_t start;
    if (leading->divisor != 1 || leading->factors[0] != 1) return false;
    for (int i = 1; i < RANK_LIMIT; i++)
        if (leading->factors[i]) return false;
    return dim_is_constant(leading->start, &start) && !start;
}

/* Is the leading dimension the batch? */
static bool counts_records(const Graph *graph, const Type *type) {
    return graph->batch && type->rank && type->dims[0] == graph->batch;
}

/* Does a record of the node need of operand i only the same record? */
static bool keeps_record(const Graph *graph, const Node *node, int i) {
    const Type *type = &node->type, *operand = &graph_node(graph, node->inputs[i])->type;
    const bool leading = counts_records(graph, type) && counts_records(graph, operand);
    if (node->op == OP_reshape) return true;
    if (node->op == OP_view) return leading && keeps_leading(node->view);
    if (node->op != OP_broadcast && op_info[node->op].class != LOOP_elementwise) return false;
    return (leading && operand->rank == type->rank) ||
           type_elements(graph->dimensions, type) == type_elements(graph->dimensions, operand);
}

static void read_operands(const Reader *reader, const Node *node, Spot spot) {
    for (int i = 0; i < node->input_count; i++) {
        IndexKind inner = needed_index(reader->graph, reader->loops, node, i, spot.index);
        bool own = spot.own_record && keeps_record(reader->graph, node, i);
        read_value(reader, node->inputs[i], (Spot){inner, own});
    }
}

/* From the product's operand to where it lies, by what the product reads it through. */
static bool path_keeps_record(const Graph *graph, const Node *matmul, int which, NodeId read) {
    for (NodeId id = matmul->inputs[which]; id != read; id = graph_node(graph, id)->inputs[0])
        if (!keeps_record(graph, graph_node(graph, id), 0)) return false;
    return true;
}

/* Are so many the same number for each record? */
static bool is_of_records(const Graph *graph, Dim count) {
    return count_of_record(graph->dimensions, count, graph->batch) > 0;
}

/* Rows of a that lie in order belong to the same rows of the result, unless a is computed on the
 * way. */
static void read_contraction(const Reader *reader, const Node *node, bool own_record) {
    const Graph *graph = reader->graph;
    ContractionOperand a = contraction_operand(graph, node, 0);
    bool rows = is_in_order(graph, &a) && is_in_memory(graph_node(graph, a.node));
    bool own = own_record && path_keeps_record(graph, node, 0, a.node);
    read_value(reader, a.node, (Spot){rows ? INDEX_row : INDEX_other, own});
    ContractionOperand b = contraction_operand(graph, node, 1);
    own = own_record && is_of_records(graph, reader->loops->outer) &&
          path_keeps_record(graph, node, 1, b.node);
    visit_value(reader, b.node, (Spot){INDEX_other, own});
}

/* Every thread reads all of both. */
static void read_scatter(const Reader *reader, const Node *node) {
    for (int i = 0; i < node->input_count; i++)
        read_value(reader, node->inputs[i], (Spot){INDEX_other, false});
}

/* Of columns, records are whole where they are counted by what lies outside. */
static Spot reduced_spot(const Reader *reader) {
    if (reader->loops->kind != KERNEL_columns) return (Spot){INDEX_full, true};
    return (Spot){INDEX_other, is_of_records(reader->graph, reader->loops->outer)};
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
    if (node->op == OP_matmul) read_contraction(&reader, node, true);
    else if (op_info[node->op].class == LOOP_scatter) read_scatter(&reader, node);
    else if (op_info[node->op].class == LOOP_row)
        read_value(&reader, node->inputs[0], (Spot){INDEX_full, true});
    else if (node->op == OP_scan || node->op == OP_extern) read_scan(&reader, node);
    else if (node->op == OP_part) return;
    else if (op_info[node->op].class == LOOP_reduce)
        read_value(&reader, node->inputs[0], reduced_spot(&reader));
    else {
        IndexKind native = native_index(graph->dimensions, loops, &node->type);
        read_operands(&reader, node, (Spot){native, native != INDEX_other});
    }
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

void forget_reads(Planner *planner, int kernel) {
    planner->reads_of[kernel].nodes = NULL;
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
