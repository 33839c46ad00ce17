/* Stay: a weight's rows stay with the thread that updates them. A product with a weight that the
 * same function updates, of no more rows than a part is deep, is a sum over parts of its depth:
 *
 *     x w = sum(p) x[:, part p] w[part p, :]
 *
 * Threads share parts there and rows of w in the update, in the same order, so each reads what it
 * has written, and no line goes from cache to cache and back. How many parts there are follows from
 * the sizes alone, so that any number of threads gives the same bits. */
#include "compiler/passes/pass.h"

#include "compiler/graph/movement.h"

enum {
    WEIGHT_LEAST = 1 << 15, /* elements: less is not worth a barrier */
    PARTS_MOST = 8,
    ROWS_LEAST = 8,   /* which threads share as blocks */
    DEPTH_LEAST = 96, /* of a part */
    /* What is multiplied goes from thread to thread, too, and so does what the parts give: */
    INPUT_TIMES = 2,  /* at most so many times the weight, */
    WEIGHT_SHARE = 4, /* and of more than two parts at most this part of it */
};

static bool is_updated(const Graph *graph, NodeId id) {
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_update && output->target == id) return true;
    return false;
}

static bool pays(int64_t parts, int64_t part, int64_t rows, int64_t columns) {
    return parts > 2 ? rows <= part / WEIGHT_SHARE : rows <= part && rows / INPUT_TIMES <= columns;
}

/* 1: it stays as it is. */
static int64_t parts_of(int64_t rows, int64_t depth, int64_t columns) {
    if (rows < ROWS_LEAST || columns < 1 || depth < WEIGHT_LEAST / columns) return 1;
    for (int64_t parts = PARTS_MOST; parts > 1; parts--) {
        int64_t part = depth / parts;
        if (depth % parts == 0 && part >= DEPTH_LEAST && part <= FACTOR_LIMIT &&
            pays(parts, part, rows, columns))
            return parts;
    }
    return 1;
}

static int64_t parts_of_product(const Graph *graph, const Node *node) {
    int64_t depth, columns;
    if (node->op != OP_matmul || node->type.rank != 2 || is_half(node->type.element)) return 1;
    const Node *weight = graph_node(graph, node->inputs[1]);
    if (weight->op != OP_weight || weight->type.rank != 2 ||
        !dim_is_constant(weight->type.dims[0], &depth) ||
        !dim_is_constant(weight->type.dims[1], &columns))
        return 1;
    int64_t parts = parts_of(dim_bound(node->type.dims[0]), depth, columns);
    return parts > 1 && is_updated(graph, node->inputs[1]) ? parts : 1;
}

/* [rows, depth] as [parts, rows, depth / parts]. */
static NodeId parts_of_rows(Graph *to, NodeId id, Dim parts, Range range) {
    Dimensions *table = to->dimensions;
    Type type = graph_node(to, id)->type;
    int64_t depth = 0;
    type.rank = 3;
    type.dims[2] = dim_divide(table, type.dims[1], parts);
    type.dims[1] = type.dims[0];
    type.dims[0] = parts;
    dim_is_constant(type.dims[2], &depth);
    View view = {.rank = 2};
    view.coordinates[0] = coordinate_along(dim_constant(table, 0), 1);
    view.coordinates[1] = coordinate_along(dim_constant(table, 0), 2);
    view.coordinates[1].factors[0] = depth;
    return graph_view(to, id, &view, type, range);
}

static NodeId part(Graph *to, NodeId parts, int64_t number, Type type, Range range) {
    View view = {.rank = 3};
    view.coordinates[0] = coordinate_along(dim_constant(to->dimensions, number), -1);
    view.coordinates[1] = coordinate_along(dim_constant(to->dimensions, 0), 0);
    view.coordinates[2] = coordinate_along(dim_constant(to->dimensions, 0), 1);
    return graph_view(to, parts, &view, type, range);
}

static NodeId in_parts(Graph *to, const Graph *from, const Node *node, const NodeId *map) {
    const int64_t count = parts_of_product(from, node);
    if (count <= 1) return NODE_NONE;
    Dim parts = dim_constant(to->dimensions, count);
    NodeId weight = map[node->inputs[1]];
    Type type = graph_node(to, weight)->type;
    type.rank = 3;
    type.dims[2] = type.dims[1];
    type.dims[1] = dim_divide(to->dimensions, type.dims[0], parts);
    type.dims[0] = parts;
    to->placement = node->placement;
    to->gradient_of = node->gradient_of;
    NodeId rows = parts_of_rows(to, map[node->inputs[0]], parts, node->range);
    weight = graph_declared(to, OP_reshape, weight, type, node->range);
    NodeId products = graph_make(to, OP_matmul, rows, weight, NODE_NONE, node->range);
    NodeId sum = part(to, products, 0, node->type, node->range);
    for (int64_t i = 1; i < count; i++)
        sum = graph_make(to, OP_add, sum, part(to, products, i, node->type, node->range), NODE_NONE,
                         node->range);
    to->placement = (Placement){0};
    to->gradient_of = OP_constant;
    return sum;
}

static bool has_parts(const Graph *graph) {
    vector_each(Node, node, graph->nodes)
        if (parts_of_product(graph, node) > 1) return true;
    return false;
}

Graph *stay(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    return has_parts(graph) ? graph_rewrite(arena, graph, in_parts) : (Graph *)graph;
}
