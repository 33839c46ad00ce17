/* Neighbours: a product of windows with few columns takes the windows that lie side by side in a
 * row together, `together` of them as one wider window:
 *
 *     y[p, c] = sum(k) x[p * step + k] b[k, c]
 *
 * is, of p = P * together + g,
 *
 *     y[P, (g, c)] = sum(k') x[P * together * step + k'] b'[k', (g, c)],
 *     b'[k', (g, c)] = b[k' - g * step, c], or 0 where there is none,
 *
 * whose result lies as it did. There are more products than before, but the columns fill vectors.
 * The gradient of b is x^T dy: it becomes a product of the wider windows too, whose sums for each g
 * are then added. Done where weights are updated alone: there is no x * 0 = 0, so that an infinite
 * x spoils the sums beside its own, and a step that has one is not made anyway. */
#include "compiler/passes/pass.h"

#include "compiler/graph/movement.h"
#include "compiler/graph/scan.h"
#include "compiler/passes/loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_COLUMNS = 4 * COLUMN_RUN,
    MOST_TOGETHER = 16,
};

/* What must be gained, as a share of the products in whole vectors. */
static const double WORTH = 0.8;

/* A matrix whose rows are windows. */
typedef struct Windows {
    const Node *view;
    int depth_axis;      /* of the view: its first that is depth */
    int along, inside;   /* the last axis of rows, and the one of depth that goes the same way */
    int64_t count, size; /* theirs */
    int64_t step, together;
} Windows;

/* The view's first axis of depth; 0: its axes are not rows and depth. */
static int first_of_depth(Dimensions *table, const Type *view, const Type *matrix) {
    for (int axis = view->rank - 1; axis > 0; axis--)
        if (type_count(table, view, axis, view->rank) == matrix->dims[1] &&
            type_count(table, view, 0, axis) == matrix->dims[0])
            return axis;
    return 0;
}

/* How many places inside of a window the next one lies ahead; 0: elsewhere. */
static int64_t step_between(const View *view, int along, int inside) {
    int64_t step = 0;
    for (int i = 0; i < view->rank; i++) {
        int64_t next = view->coordinates[i].factors[along];
        int64_t within = view->coordinates[i].factors[inside];
        if (!within && !next) continue;
        if (!within || next % within || next / within < 1) return 0;
        if (step && next / within != step) return 0;
        step = next / within;
    }
    return step;
}

static bool has_divisors(const View *view) {
    for (int i = 0; i < view->rank; i++)
        if (view->coordinates[i].divisor != 1) return true;
    return false;
}

static bool find_windows(const Graph *graph, NodeId matrix, Windows *windows) {
    const Node *view = graph_node(graph, strip_reshapes(graph, matrix));
    const Type *type = &graph_node(graph, matrix)->type;
    if (view->op != OP_view || type->rank != 2 || view->type.rank + 2 > RANK_LIMIT) return false;
    if (is_guarded_view(graph, view) || has_divisors(view->view)) return false;
    *windows =
        (Windows){.view = view, .depth_axis = first_of_depth(graph->dimensions, &view->type, type)};
    int along = windows->depth_axis - 1;
    while (along > 0 && dim_is_one(view->type.dims[along])) along--;
    if (along < 0 || !dim_is_constant(view->type.dims[along], &windows->count)) return false;
    windows->along = along;
    for (int i = windows->depth_axis; i < view->type.rank; i++) {
        if (!dim_is_constant(view->type.dims[i], &windows->size) || windows->size == 1) continue;
        windows->inside = i;
        windows->step = step_between(view->view, along, i);
        if (windows->step) return true;
    }
    return false;
}

/* Products in whole vectors, of one of the columns' sums. */
static double cost_of(const Windows *windows, int64_t columns, int64_t together) {
    double wide = ceil((double)(columns * together) / COLUMN_RUN) * COLUMN_RUN;
    return wide * (double)(windows->size + (together - 1) * windows->step) / (double)together;
}

/* How many windows cost least together. */
static int64_t best_together(const Windows *windows, int64_t columns) {
    int64_t best = 1;
    for (int64_t i = 2; i <= MOST_TOGETHER && i * columns <= MOST_COLUMNS; i++)
        if (windows->count % i == 0 &&
            cost_of(windows, columns, i) < cost_of(windows, columns, best))
            best = i;
    double alone = cost_of(windows, columns, 1);
    return cost_of(windows, columns, best) <= WORTH * alone ? best : 1;
}

/* Sets `together`; false: the columns are as good alone. */
static bool is_better_together(Windows *windows, const Type *product) {
    int64_t columns;
    if (product->rank != 2 || !dim_is_constant(product->dims[1], &columns) || columns >= COLUMN_RUN)
        return false;
    windows->together = best_together(windows, columns);
    return windows->together > 1;
}

/* Building. */

/* The axes of depth, those inside of a window as many as one of several has. */
static Type depth_type(Dimensions *table, const Windows *windows, bool wide) {
    Type type = {.element = windows->view->type.element};
    int64_t more = wide ? (windows->together - 1) * windows->step : 0;
    for (int i = windows->depth_axis; i < windows->view->type.rank; i++)
        type.dims[type.rank++] = i == windows->inside ? dim_constant(table, windows->size + more)
                                                      : windows->view->type.dims[i];
    return type;
}

static void add_axis(Type *type, Dim size) {
    type->dims[type->rank++] = size;
}

static NodeId as_matrix(Graph *to, NodeId id, Dim rows, Dim columns, Range range) {
    Type type = {.element = graph_node(to, id)->type.element, .rank = 2, .dims = {rows, columns}};
    return rows && columns ? graph_declared(to, OP_reshape, id, type, range) : NODE_NONE;
}

/* The matrix of wider windows. */
static NodeId wide_windows(Graph *to, const Windows *windows, const NodeId *map) {
    Dimensions *table = to->dimensions;
    const Node *from = windows->view;
    View view = *from->view;
    Type type = from->type, depth = depth_type(table, windows, true);
    type.dims[windows->along] = dim_constant(table, windows->count / windows->together);
    type.dims[windows->inside] = depth.dims[windows->inside - windows->depth_axis];
    for (int i = 0; i < view.rank; i++)
        view.coordinates[i].factors[windows->along] *= windows->together;
    for (int i = 0; i < view.rank; i++)
        if (llabs(view.coordinates[i].factors[windows->along]) > FACTOR_LIMIT) return NODE_NONE;
    NodeId wide = graph_view(to, map[from->inputs[0]], &view, type, from->range);
    return as_matrix(to, wide, type_count(table, &type, 0, windows->depth_axis),
                     type_count(table, &depth, 0, depth.rank), from->range);
}

/* b', as a matrix. */
static NodeId repeated(Graph *to, const Windows *windows, NodeId b, Range range) {
    Dimensions *table = to->dimensions;
    Dim columns = graph_node(to, b)->type.dims[1],
        together = dim_constant(table, windows->together);
    Type narrow = depth_type(table, windows, false), wide = depth_type(table, windows, true);
    int count = narrow.rank, inside = windows->inside - windows->depth_axis;
    add_axis(&narrow, columns);
    Dim depth = type_count(table, &wide, 0, count);
    add_axis(&wide, together);
    add_axis(&wide, columns);
    View view = view_identity(table, count + 1);
    view.coordinates[inside].factors[count] = -windows->step;
    view.coordinates[count] = coordinate_along(dim_constant(table, 0), count + 1);
    narrow.element = wide.element = graph_node(to, b)->type.element;
    b = graph_declared(to, OP_reshape, b, narrow, range);
    b = graph_view(to, b, &view, wide, range);
    return as_matrix(to, b, depth, dim_multiply(table, together, columns), range);
}

/* What each of the windows that are together adds to the sums, added up. */
static NodeId added_up(Graph *to, const Windows *windows, NodeId sums, Dim columns, Range range) {
    Dimensions *table = to->dimensions;
    Dim together = dim_constant(table, windows->together);
    Type narrow = depth_type(table, windows, false), wide = depth_type(table, windows, true);
    int count = narrow.rank, inside = windows->inside - windows->depth_axis;
    narrow.element = wide.element = graph_node(to, sums)->type.element;
    add_axis(&wide, together);
    add_axis(&wide, columns);
    add_axis(&narrow, together);
    add_axis(&narrow, columns);
    View view = view_identity(table, count + 2);
    view.coordinates[inside].factors[count] = windows->step;
    sums = graph_declared(to, OP_reshape, sums, wide, range);
    sums = graph_view(to, sums, &view, narrow, range);
    return graph_reduce(to, OP_sum, sums, 1u << count, range);
}

/* y = a b of windows a. */
static NodeId of_windows(Graph *to, const Windows *windows, const Node *node, const NodeId *map) {
    NodeId a = wide_windows(to, windows, map);
    NodeId b = repeated(to, windows, map[node->inputs[1]], node->range);
    if (a == NODE_NONE || b == NODE_NONE) return NODE_NONE;
    NodeId product = graph_make(to, OP_matmul, a, b, NODE_NONE, node->range);
    return graph_declared(to, OP_reshape, product, node->type, node->range);
}

/* y = a^T b. */
static NodeId of_depth(Graph *to, const Windows *windows, const Node *node, const NodeId *map) {
    Dimensions *table = to->dimensions;
    NodeId a = wide_windows(to, windows, map), b = map[node->inputs[1]];
    if (a == NODE_NONE) return NODE_NONE;
    Dim columns = dim_multiply(table, node->type.dims[1], dim_constant(table, windows->together));
    b = as_matrix(to, b, graph_node(to, a)->type.dims[0], columns, node->range);
    a = graph_transpose(to, a, node->range);
    if (b == NODE_NONE) return NODE_NONE;
    NodeId product = graph_make(to, OP_matmul, a, b, NODE_NONE, node->range);
    product = added_up(to, windows, product, node->type.dims[1], node->range);
    return graph_declared(to, OP_reshape, product, node->type, node->range);
}

/* What a matrix is the transpose of; NODE_NONE: of nothing. */
static NodeId transposed(const Graph *graph, NodeId id) {
    const Node *view = graph_node(graph, id);
    if (view->op != OP_view || view->type.rank != 2) return NODE_NONE;
    View transposition = view_transposition(graph->dimensions, 2);
    bool is = view->view->rank == 2;
    for (int i = 0; i < 2 && is; i++)
        is =
            !memcmp(&view->view->coordinates[i], &transposition.coordinates[i], sizeof(Coordinate));
    return is ? view->inputs[0] : NODE_NONE;
}

/* is_depth: they are the columns of a, whose transpose is viewed. */
static bool find_narrow(const Graph *graph, const Node *node, Windows *windows, bool *is_depth) {
    if (node->op != OP_matmul || is_half(node->type.element) || !contraction_collapses(graph, node))
        return false;
    const NodeId other = transposed(graph, node->inputs[0]);
    *is_depth = other != NODE_NONE;
    return find_windows(graph, *is_depth ? other : node->inputs[0], windows) &&
           is_better_together(windows, &node->type);
}

static bool is_narrow(const Graph *graph, const Node *node) {
    Windows windows;
    bool is_depth;
    return find_narrow(graph, node, &windows, &is_depth);
}

/* The node as a product of wider windows, or NODE_NONE. */
static NodeId together(Graph *to, const Graph *from, const Node *node, const NodeId *map) {
    Windows windows;
    bool is_depth;
    if (!find_narrow(from, node, &windows, &is_depth)) return NODE_NONE;
    to->placement = node->placement;
    to->gradient_of = node->gradient_of;
    NodeId product = (is_depth ? of_depth : of_windows)(to, &windows, node, map);
    to->placement = (Placement){0};
    to->gradient_of = OP_constant;
    return product;
}

static NodeId rewritten(Graph *to, const Graph *from, const Node *node, const NodeId *map) {
    if (node->op != OP_scan) return together(to, from, node, map);
    const Graph *body = graph_rewrite(to->arena, node->scan->body, rewritten);
    return scan_copy(to, node, map[node->inputs[0]], body);
}

Graph *neighbours(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    const bool changes = graph_has_updates(graph) && graph_has(graph, is_narrow);
    return (Graph *)(changes ? graph_rewrite(arena, graph, rewritten) : graph);
}
