/* Apart: a product that sums over all records, and gives little, is one of each record, whose
 * results are summed:
 *
 *     a b = sum(r) a[:, elements of r] b[elements of r, :]
 *
 * Threads share records there, each of which is read once and by one of them, and where there are
 * too few results for each to have some. Halves stay: each record's would be rounded, and may be
 * too large where those of all are not. Whether the records are the batch's makes no difference: it
 * is the same sum. */
#include "compiler/passes/pass.h"

#include "compiler/graph/movement.h"
#include "compiler/passes/loops.h"

enum {
    RESULTS_MOST = 2048, /* of a record: they are stored, and read again */
    DEPTH_LEAST = 128,   /* of a record */
    RECORDS_LEAST = 8,
};

/* How many elements of the depth belong to a record, where it is one for this; else 0. Records are
 * what an operand has, in its first dimension, as many of as come: a weight has none. */
static int64_t record_depth(const Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    int64_t rows, columns, depth, records;
    if (node->op != OP_matmul || node->type.rank != 2 || is_half(node->type.element)) return 0;
    const Type *lies = &graph_node(graph, strip_reshapes(graph, node->inputs[1]))->type;
    Dim whole = graph_node(graph, node->inputs[1])->type.dims[0];
    Dim each = lies->rank > 2 ? dim_divide(table, whole, lies->dims[0]) : NULL;
    if (!each || !dim_is_constant(each, &depth) || depth < DEPTH_LEAST || depth > FACTOR_LIMIT ||
        dim_multiply(table, each, lies->dims[0]) != whole ||
        dim_is_constant(lies->dims[0], &records) || dim_bound(lies->dims[0]) < RECORDS_LEAST)
        return 0;
    bool little = dim_is_constant(node->type.dims[0], &rows) &&
                  dim_is_constant(node->type.dims[1], &columns) && rows <= RESULTS_MOST / columns;
    return little ? depth : 0;
}

/* [rows, records * depth] as [records, rows, depth]. */
static NodeId left_of_records(Graph *to, NodeId id, int64_t depth, Range range) {
    Dimensions *table = to->dimensions;
    Type type = graph_node(to, id)->type;
    type.rank = 3;
    type.dims[2] = dim_constant(table, depth);
    Dim records = dim_divide(table, type.dims[1], type.dims[2]);
    type.dims[1] = type.dims[0];
    type.dims[0] = records;
    View view = {.rank = 2};
    view.coordinates[0] = coordinate_along(dim_constant(table, 0), 1);
    view.coordinates[1] = coordinate_along(dim_constant(table, 0), 2);
    view.coordinates[1].factors[0] = depth;
    return graph_view(to, id, &view, type, range);
}

/* [records * depth, columns] as [records, depth, columns]. */
static NodeId right_of_records(Graph *to, NodeId id, int64_t depth, Range range) {
    Type type = graph_node(to, id)->type;
    type.rank = 3;
    type.dims[2] = type.dims[1];
    type.dims[1] = dim_constant(to->dimensions, depth);
    type.dims[0] = dim_divide(to->dimensions, type.dims[0], type.dims[1]);
    return graph_declared(to, OP_reshape, id, type, range);
}

static NodeId by_records(Graph *to, const Graph *from, const Node *node, const NodeId *map) {
    const int64_t depth = record_depth(from, node);
    if (!depth) return NODE_NONE;
    to->placement = node->placement;
    to->gradient_of = node->gradient_of;
    NodeId left = left_of_records(to, map[node->inputs[0]], depth, node->range);
    NodeId right = right_of_records(to, map[node->inputs[1]], depth, node->range);
    NodeId products = graph_make(to, OP_matmul, left, right, NODE_NONE, node->range);
    NodeId sum = graph_reduce(to, OP_sum, products, 1 << 0, node->range);
    sum = graph_declared(to, OP_reshape, sum, node->type, node->range);
    to->placement = (Placement){0};
    to->gradient_of = OP_constant;
    return sum;
}

Graph *apart(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    vector_each(Node, node, graph->nodes)
        if (record_depth(graph, node)) return graph_rewrite(arena, graph, by_records);
    return (Graph *)graph;
}
