/* Convolve: a sum over windows of a product becomes a product of windows.
 *
 * Windows are read as the depth of a product; what flows back through them is
 *
 *     y[o] = sum(k) p[rows(o, k), columns(o, k)],   p = a b
 *
 * Where each axis of o is in the rows or in the columns alone, that is
 *
 *     y[o] = sum(k, f) a[rows(o, k), f] * b[f, columns(o, k)]
 *
 * and p, as large as all windows, need not be stored. Rows that lie outside of a are looked up in a
 * copy of a with zeros around, and between for strides, so that the windows need no tests; k goes
 * the way in which they lie there in order. The products with zeros are more than p has: where they
 * cost more than storing p, it stays. A slice of y, what padding leaves behind, is taken first.
 *
 * Where the columns of o fill no vector, those of the last axis of k stay beside them, and are
 * added up behind the product: it then has fewer rows, too, since none is of zeros along it. */
#include "compiler/passes/pass.h"

#include "compiler/graph/movement.h"
#include "compiler/graph/scan.h"
#include "compiler/passes/loops.h"

#include <math.h>
#include <string.h>

enum {
    STORED_PRODUCTS = 128, /* products in the time of an element of p, stored and added */
    ADDED_PRODUCTS = 24,   /* the same where few are added, that lie in the caches */
    LEAST_GAIN = 2,        /* times: neighbours.c may make vectors whole, too */
};

/* The sum, as it is found. */
typedef struct Windows {
    NodeId a, b;     /* of the product */
    Type product;    /* of what is viewed: p */
    int row_rank;    /* its first axes, that are rows */
    View view;       /* of p */
    Type type;       /* of the view: o and k */
    uint32_t summed; /* its axes k */
} Windows;

/* Finding. */

/* The axes of a type that make the rows of the product; -1: it is not so. */
static int row_rank(Dimensions *table, const Type *type, const Type *product) {
    Dim columns = product->dims[product->rank - 1];
    for (int i = type->rank - 1; i > 0; i--)
        if (type_count(table, type, i, type->rank) == columns) return i;
    return -1;
}

static bool find_sum(const Graph *graph, const Node *sum, Windows *windows) {
    if (sum->op != OP_sum) return false;
    const Node *view = graph_node(graph, sum->inputs[0]);
    if (view->op != OP_view || view->view->fill != 0) return false;
    const Node *product = graph_node(graph, strip_reshapes(graph, view->inputs[0]));
    if (product->op != OP_matmul || !contraction_collapses(graph, product)) return false;
    *windows = (Windows){.a = product->inputs[0],
                         .b = product->inputs[1],
                         .product = graph_node(graph, view->inputs[0])->type,
                         .view = *view->view,
                         .type = view->type,
                         .summed = sum->axes};
    windows->row_rank = row_rank(graph->dimensions, &windows->product, &product->type);
    return windows->row_rank > 0;
}

static bool is_summed(const Windows *windows, int axis) {
    return windows->summed >> axis & 1;
}

/* The slice as a view of o and k: along the axes of o as it is, over all of k. */
static bool spread_slice(Dimensions *table, const Windows *windows, const Node *slice,
                         const Type *whole, View *spread, Type *type) {
    int at = 0;
    *spread = view_identity(table, windows->type.rank);
    *type = windows->type;
    for (int i = 0; i < type->rank; i++) {
        if (is_summed(windows, i) || dim_is_one(type->dims[i])) continue;
        while (at < whole->rank && dim_is_one(whole->dims[at])) at++;
        if (at == whole->rank || whole->dims[at] != type->dims[i]) return false;
        const Coordinate *along = &slice->view->coordinates[at];
        Coordinate plain = coordinate_along(along->start, at);
        if (memcmp(&plain, along, sizeof plain)) return false;
        spread->coordinates[i].start = along->start;
        type->dims[i] = slice->type.dims[at++];
    }
    return true;
}

/* A slice of a sum. */
static bool find_slice(const Graph *graph, const Node *slice, Windows *windows) {
    View spread, composed;
    Type type;
    if (slice->op != OP_view || is_guarded_view(graph, slice)) return false;
    const Type *whole = &graph_node(graph, slice->inputs[0])->type;
    const Node *sum = graph_node(graph, strip_reshapes(graph, slice->inputs[0]));
    if (whole->rank != slice->type.rank || !find_sum(graph, sum, windows)) return false;
    if (!spread_slice(graph->dimensions, windows, slice, whole, &spread, &type)) return false;
    if (!view_compose(graph->dimensions, &spread, &windows->view, &composed)) return false;
    windows->view = composed;
    windows->type = type;
    return true;
}

static bool find(const Graph *graph, const Node *node, Windows *windows) {
    return find_sum(graph, node, windows) || find_slice(graph, node, windows);
}

static bool is_of_windows(const Graph *graph, const Node *node) {
    Windows windows;
    return find(graph, node, &windows);
}

/* Axes. */

/* Axes of o and k, in the order in which an operand has them. */
typedef struct Axes {
    int count, axes[RANK_LIMIT];
} Axes;

/* Is the axis in a coordinate of the rows, or of the columns? */
static bool is_in(const Windows *windows, int axis, bool columns) {
    int first = columns ? windows->row_rank : 0;
    int last = columns ? windows->product.rank : windows->row_rank;
    for (int i = first; i < last; i++)
        if (windows->view.coordinates[i].factors[axis]) return true;
    return false;
}

/* Sorts the axes that are longer than 1; false: one of o is in both or none, or a row comes after a
 * column. */
static bool sort_axes(const Windows *windows, Axes *rows, Axes *columns, Axes *summed) {
    rows->count = columns->count = summed->count = 0;
    for (int i = 0; i < windows->type.rank; i++) {
        bool in_rows = is_in(windows, i, false), in_columns = is_in(windows, i, true);
        if (dim_is_one(windows->type.dims[i]) && !in_rows && !in_columns) continue;
        Axes *to = is_summed(windows, i) ? summed : in_columns ? columns : rows;
        if (to != summed && in_rows == in_columns) return false;
        if (to == rows && columns->count) return false;
        to->axes[to->count++] = i;
    }
    return rows->count && columns->count && summed->count &&
           rows->count + summed->count < RANK_LIMIT && columns->count + summed->count < RANK_LIMIT;
}

/* Is the column found without a test? */
static bool has_plain_columns(Dimensions *table, const Windows *windows) {
    for (int i = windows->row_rank; i < windows->product.rank; i++) {
        const Coordinate *coordinate = &windows->view.coordinates[i];
        if (coordinate->divisor != 1 ||
            coordinate_guards(table, coordinate, windows->product.dims[i], &windows->type))
            return false;
    }
    return true;
}

/* Does the row fall where the axis rises? */
static bool falls_along(const Windows *windows, int axis) {
    for (int i = 0; i < windows->row_rank; i++)
        if (windows->view.coordinates[i].factors[axis] < 0) return true;
    return false;
}

/* Goes along an axis of k the other way. */
static bool turn_axis(Dimensions *table, Windows *windows, int axis) {
    int64_t size;
    if (!dim_is_constant(windows->type.dims[axis], &size)) return false;
    for (int i = 0; i < windows->product.rank; i++) {
        Coordinate *coordinate = &windows->view.coordinates[i];
        Dim last = dim_constant(table, (size - 1) * coordinate->factors[axis]);
        coordinate->start = dim_add(table, coordinate->start, last);
        coordinate->factors[axis] = -coordinate->factors[axis];
        if (!coordinate->start) return false;
    }
    return true;
}

static bool turn_falling(Dimensions *table, Windows *windows, const Axes *summed) {
    for (int i = 0; i < summed->count; i++)
        if (falls_along(windows, summed->axes[i]) && !turn_axis(table, windows, summed->axes[i]))
            return false;
    return true;
}

/* What it costs. */

/* Of the largest sizes; what has none, the same in all that is compared, counts as 1. */
static double count_of(const Type *type, const Axes *axes) {
    double count = 1;
    for (int i = 0; i < axes->count; i++) {
        int64_t size = dim_bound(type->dims[axes->axes[i]]);
        count *= size == SIZE_UNKNOWN ? 1 : (double)size;
    }
    return count;
}

static Axes axes_from(int first, int last) {
    Axes axes = {0};
    for (int i = first; i < last; i++) axes.axes[axes.count++] = i;
    return axes;
}

static double in_lanes(double columns) {
    return ceil(columns / COLUMN_RUN) * COLUMN_RUN;
}

static bool is_cheaper(const Windows *windows, double depth, const Axes *rows, const Axes *columns,
                       const Axes *summed) {
    Axes stored_rows = axes_from(0, windows->row_rank);
    Axes stored_columns = axes_from(windows->row_rank, windows->product.rank);
    double places = count_of(&windows->product, &stored_rows);
    double stored = count_of(&windows->product, &stored_columns);
    double products = count_of(&windows->type, rows) * count_of(&windows->type, summed) *
                      in_lanes(count_of(&windows->type, columns)) * depth;
    return products <= places * (in_lanes(stored) * depth + stored * STORED_PRODUCTS);
}

/* Building. */

/* The coordinate with these axes in this order, the first being axis `first` of the result. */
static void add_along(Coordinate *coordinate, const Coordinate *from, const Axes *axes, int first) {
    for (int i = 0; i < axes->count; i++)
        coordinate->factors[first + i] = from->factors[axes->axes[i]];
}

static void add_dims(Type *type, const Type *from, const Axes *axes) {
    for (int i = 0; i < axes->count; i++) type->dims[type->rank++] = from->dims[axes->axes[i]];
}

/* Splits a coordinate into one of what is padded, which it becomes, and one of windows of that,
 * which needs no test. False past a limit. */
static bool split_guards(Dimensions *table, const Type *type, int axis, Coordinate *coordinate,
                         Dim *size, Coordinate *window) {
    *window = *coordinate;
    window->divisor = 1;
    int guards = coordinate_guards(table, coordinate, *size, type);
    *coordinate = (Coordinate){.start = dim_constant(table, 0), .divisor = coordinate->divisor};
    coordinate->factors[axis] = 1;
    if (!guards && coordinate->divisor == 1) return true;
    Dim low = coordinate_extreme(table, window, type, false);
    Dim high = coordinate_extreme(table, window, type, true);
    Dim reach = low && high ? dim_subtract(table, high, low) : NULL;
    coordinate->start = low;
    *size = reach ? dim_add(table, reach, dim_constant(table, 1)) : NULL;
    window->start = low ? dim_subtract(table, window->start, low) : NULL;
    return *size && window->start;
}

static NodeId as_matrix(Graph *to, NodeId id, int row_axes, Range range) {
    const Type from = graph_node(to, id)->type;
    Type type = {.element = from.element, .rank = 2};
    type.dims[0] = type_count(to->dimensions, &from, 0, row_axes);
    type.dims[1] = type_count(to->dimensions, &from, row_axes, from.rank);
    return type.dims[0] && type.dims[1] ? graph_declared(to, OP_reshape, id, type, range)
                                        : NODE_NONE;
}

/* a[rows(o, k), f] with the axes of o, then k, then f. */
static NodeId windows_of_rows(Graph *to, const Windows *windows, NodeId a, const Axes *rows,
                              const Axes *summed, Range range) {
    Dimensions *table = to->dimensions;
    const Type *product = &windows->product;
    int depth = rows->count + summed->count, count = windows->row_rank;
    Dim features = graph_node(to, a)->type.dims[graph_node(to, a)->type.rank - 1];
    Type whole = {.element = product->element, .rank = count + 1},
         type = {product->element, 0, {0}};
    add_dims(&type, &windows->type, rows);
    add_dims(&type, &windows->type, summed);
    View padding = view_identity(table, count + 1), view = {.rank = count + 1};
    for (int i = 0; i < count; i++) {
        const Coordinate *from = &windows->view.coordinates[i];
        Coordinate *row = &padding.coordinates[i];
        *row = (Coordinate){.start = from->start, .divisor = from->divisor};
        add_along(row, from, rows, 0);
        add_along(row, from, summed, rows->count);
        whole.dims[i] = product->dims[i];
        if (!split_guards(table, &type, i, row, &whole.dims[i], &view.coordinates[i]))
            return NODE_NONE;
    }
    view.coordinates[count] = coordinate_along(dim_constant(table, 0), depth);
    whole.dims[count] = type.dims[type.rank++] = features;
    Type given = whole;
    for (int i = 0; i < count; i++) given.dims[i] = product->dims[i];
    a = graph_declared(to, OP_reshape, a, given, range);
    a = graph_view(to, a, &padding, whole, range);
    return as_matrix(to, graph_view(to, a, &view, type, range), rows->count, range);
}

/* b[f, columns(o, k)] with the axes k, then f, then those of o. */
static NodeId windows_of_columns(Graph *to, const Windows *windows, NodeId b, const Axes *columns,
                                 const Axes *summed, Range range) {
    Dimensions *table = to->dimensions;
    const Type *product = &windows->product;
    Type whole = {.element = product->element, .rank = 1}, type = {product->element, 0, {0}};
    View view = {.rank = 1 + product->rank - windows->row_rank};
    whole.dims[0] = graph_node(to, b)->type.dims[0];
    add_dims(&type, &windows->type, summed);
    type.dims[type.rank++] = whole.dims[0];
    add_dims(&type, &windows->type, columns);
    view.coordinates[0] = coordinate_along(dim_constant(table, 0), summed->count);
    for (int i = windows->row_rank; i < product->rank; i++) {
        const Coordinate *from = &windows->view.coordinates[i];
        Coordinate *column = &view.coordinates[whole.rank];
        *column = (Coordinate){.start = from->start, .divisor = 1};
        add_along(column, from, summed, 0);
        add_along(column, from, columns, summed->count + 1);
        whole.dims[whole.rank++] = product->dims[i];
    }
    b = graph_declared(to, OP_reshape, b, whole, range);
    return as_matrix(to, graph_view(to, b, &view, type, range), summed->count + 1, range);
}

static double depth_of(const Graph *graph, const Windows *windows) {
    Axes first = axes_from(0, 1);
    return count_of(&graph_node(graph, windows->b)->type, &first);
}

/* The windows as a product with the node's type, or NODE_NONE. */
static NodeId windows_product(Graph *to, const Graph *from, Windows *windows, const Node *node,
                              const Type *type, const NodeId *map) {
    Axes rows, columns, summed;
    if (!sort_axes(windows, &rows, &columns, &summed) ||
        !has_plain_columns(to->dimensions, windows) ||
        !is_cheaper(windows, depth_of(from, windows), &rows, &columns, &summed) ||
        !turn_falling(to->dimensions, windows, &summed))
        return NODE_NONE;
    NodeId a = windows_of_rows(to, windows, map[windows->a], &rows, &summed, node->range);
    NodeId b = windows_of_columns(to, windows, map[windows->b], &columns, &summed, node->range);
    NodeId product = a == NODE_NONE || b == NODE_NONE
                         ? NODE_NONE
                         : graph_make(to, OP_matmul, a, b, NODE_NONE, node->range);
    return product == NODE_NONE ? NODE_NONE
                                : graph_declared(to, OP_reshape, product, *type, node->range);
}

/* Columns beside each other. */

/* The only axis besides `axis` that its only coordinate of the rows has, and which is in no other
 * one; -1: there is none. */
static int axis_beside(const Windows *windows, int axis, int *coordinate) {
    int beside = -1, count = 0;
    for (int i = 0; i < windows->row_rank; i++)
        if (windows->view.coordinates[i].factors[axis]) *coordinate = i, count++;
    for (int j = 0; j < windows->type.rank && count == 1; j++)
        if (j != axis && windows->view.coordinates[*coordinate].factors[j])
            count += beside >= 0 || is_summed(windows, j), beside = j;
    for (int i = 0; i < windows->product.rank && beside >= 0; i++)
        count += i != *coordinate && windows->view.coordinates[i].factors[beside];
    return count == 1 ? beside : -1;
}

/* The last axis of k; -1: it is the only one. */
static int last_summed(const Windows *windows) {
    int last = 31 - __builtin_clz(windows->summed);
    while (last > 0 && dim_is_one(windows->type.dims[last])) last--;
    return is_summed(windows, last) && windows->summed != 1u << last ? last : -1;
}

static double products_of(const Graph *graph, const Windows *windows) {
    Axes rows, columns, summed;
    if (!sort_axes(windows, &rows, &columns, &summed)) return INFINITY;
    return count_of(&windows->type, &rows) * count_of(&windows->type, &summed) *
           in_lanes(count_of(&windows->type, &columns)) * depth_of(graph, windows);
}

/* What the product gives for each place along `axis`, before these are added up. */
static Windows windows_apart(Dimensions *table, const Windows *windows, int axis, int beside,
                             int coordinate) {
    Windows apart = *windows;
    apart.summed &= ~(1u << axis);
    apart.view.coordinates[coordinate] = coordinate_along(dim_constant(table, 0), beside);
    apart.type.dims[beside] = windows->product.dims[coordinate];
    return apart;
}

static bool is_better_apart(const Graph *graph, const Windows *windows, const Windows *apart) {
    Axes rows, columns, summed;
    if (!sort_axes(windows, &rows, &columns, &summed) ||
        count_of(&windows->type, &columns) >= COLUMN_RUN)
        return false;
    double all = products_of(graph, windows), some = products_of(graph, apart);
    if (!sort_axes(apart, &rows, &columns, &summed)) return false;
    double stored = count_of(&apart->type, &rows) * count_of(&apart->type, &columns);
    return (some + stored * ADDED_PRODUCTS) * LEAST_GAIN <= all;
}

/* The sum over one axis of k of a product that sums over the others, or NODE_NONE. */
static NodeId added_product(Graph *to, const Graph *from, const Windows *windows, const Node *node,
                            const NodeId *map) {
    Dimensions *table = to->dimensions;
    int coordinate = 0, axis = last_summed(windows);
    int beside = axis < 0 ? -1 : axis_beside(windows, axis, &coordinate);
    if (beside < 0) return NODE_NONE;
    Windows apart = windows_apart(table, windows, axis, beside, coordinate);
    if (!is_better_apart(from, windows, &apart)) return NODE_NONE;
    Type type = apart.type, all = windows->type;
    View view = view_identity(table, type.rank);
    for (int i = 0; i < type.rank; i++)
        if (is_summed(&apart, i)) type.dims[i] = all.dims[i] = dim_constant(table, 1);
    view.coordinates[beside] = windows->view.coordinates[coordinate];
    NodeId sums = windows_product(to, from, &apart, node, &type, map);
    if (sums == NODE_NONE) return NODE_NONE;
    sums = graph_view(to, sums, &view, all, node->range);
    return graph_declared(to, OP_reshape, graph_reduce(to, OP_sum, sums, 1u << axis, node->range),
                          node->type, node->range);
}

/* The node as a product, or NODE_NONE. */
static NodeId as_product(Graph *to, const Graph *from, const Node *node, const NodeId *map) {
    Windows windows;
    if (!find(from, node, &windows)) return NODE_NONE;
    to->placement = node->placement;
    to->gradient_of = node->gradient_of;
    NodeId product = added_product(to, from, &windows, node, map);
    if (product == NODE_NONE) product = windows_product(to, from, &windows, node, &node->type, map);
    to->placement = (Placement){0};
    to->gradient_of = OP_constant;
    return product;
}

static NodeId rewritten(Graph *to, const Graph *from, const Node *node, const NodeId *map) {
    if (node->op == OP_scan)
        return scan_copy(to, node, map[node->inputs[0]],
                         graph_rewrite(to->arena, node->scan->body, rewritten));
    return as_product(to, from, node, map);
}

Graph *convolve(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    (void)diagnostics;
    return (Graph *)(graph_has(graph, is_of_windows) ? graph_rewrite(arena, graph, rewritten)
                                                     : graph);
}
