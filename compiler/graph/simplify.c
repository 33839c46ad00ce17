/* Simplify: an equal value that is cheaper, while a node is built.
 *
 * A rule looks at a node that is not appended yet and returns the id of an equal one, or NODE_NONE
 * when it does not apply. To add a rule, write a function of a few lines and name it under its op
 * in `rules`; the first that applies wins. A rule must
 *   - keep the type: `x + 0` is x only where the 0 does not stretch x (see `instead`);
 *   - keep infinities and NaN: there is no `x * 0 = 0`; only the sign of a zero may change (and
 *     what reads_products says);
 *   - make something smaller, so that rules end;
 *   - copy what it needs from other nodes before it adds one: adding moves them. */
#include "compiler/graph/build.h"
#include "compiler/graph/movement.h"

#include <string.h>

typedef NodeId Rule(Graph *graph, const Node *node);

enum {
    RULE_LIMIT = 7,
    MOVED_COST_LIMIT = 4,  /* of an elementwise node that a view goes through */
    MOVED_DEPTH_LIMIT = 2, /* of such nodes below it */
    ROW_LEAST = 128,       /* elements, of a product of one column that is a sum of rows */
};

/* Helpers. */

static const Node *operand(const Graph *graph, const Node *node, int i) {
    return graph_node(graph, node->inputs[i]);
}

static bool is_number(const Graph *graph, const Node *node, int i, double value) {
    const Node *from = operand(graph, node, i);
    return from->op == OP_constant && from->number == value;
}

/* The value where its type is the node's; otherwise none. */
static NodeId instead(const Graph *graph, const Node *node, NodeId value) {
    return type_equal(&graph_node(graph, value)->type, &node->type) ? value : NODE_NONE;
}

/* The value, stretched to the node's shape if need be. */
static NodeId stretched(Graph *graph, const Node *node, NodeId value) {
    if (instead(graph, node, value) != NODE_NONE) return value;
    return graph_declared(graph, OP_broadcast, value, node->type, node->range);
}

static NodeId constant_like(Graph *graph, const Node *node, double value) {
    Node constant = {.op = OP_constant, .type = node->type, .number = value, .range = node->range};
    Problem problem;
    return graph_add(graph, constant, &problem);
}

static bool is_one(const Graph *graph, Dim dim) {
    return dim == dim_constant(graph->dimensions, 1);
}

/* Rules. */

/* A constant is what its type can hold. */
static NodeId round_constant(Graph *graph, const Node *node) {
    double held = element_round(node->type.element, node->number);
    bool same = held == node->number || (held != held && node->number != node->number);
    return same ? NODE_NONE : constant_like(graph, node, held);
}

static NodeId fold(Graph *graph, const Node *node) {
    double values[ARITY_LIMIT] = {0};
    for (int i = 0; i < node->input_count; i++) {
        const Node *from = operand(graph, node, i);
        if (from->op != OP_constant) return NODE_NONE;
        values[i] = from->number;
    }
    if (node->op == OP_check && !(values[0] >= (double)node->low && values[0] < (double)node->high))
        return NODE_NONE;
    return constant_like(graph, node, op_evaluate(node, values, false));
}

/* op(broadcast(x), y) where y has the result's shape anyway. */
static NodeId drop_broadcast(Graph *graph, const Node *node) {
    for (int i = 0; i < node->input_count && node->input_count > 1; i++) {
        if (operand(graph, node, i)->op != OP_broadcast) continue;
        Node without = *node;
        without.inputs[i] = operand(graph, node, i)->inputs[0];
        Operands operands = {.count = node->input_count};
        for (int j = 0; j < node->input_count; j++)
            operands.types[j] = &operand(graph, &without, j)->type;
        Problem problem = op_infer(graph->dimensions, node->op, &operands, &without.type);
        if (problem.text || !shape_equal(&without.type, &node->type)) continue;
        return graph_add(graph, without, &problem);
    }
    return NODE_NONE;
}

static NodeId zero_plus(Graph *graph, const Node *node) {
    return is_number(graph, node, 0, 0) ? instead(graph, node, node->inputs[1]) : NODE_NONE;
}

static NodeId plus_zero(Graph *graph, const Node *node) {
    return is_number(graph, node, 1, 0) ? instead(graph, node, node->inputs[0]) : NODE_NONE;
}

static NodeId one_times(Graph *graph, const Node *node) {
    return is_number(graph, node, 0, 1) ? instead(graph, node, node->inputs[1]) : NODE_NONE;
}

/* Also x / 1 and x ^ 1. */
static NodeId times_one(Graph *graph, const Node *node) {
    return is_number(graph, node, 1, 1) ? instead(graph, node, node->inputs[0]) : NODE_NONE;
}

static NodeId negated(Graph *graph, const Node *node, NodeId value) {
    if (instead(graph, node, value) == NODE_NONE) return NODE_NONE;
    return graph_make(graph, OP_negate, value, 0, 0, node->range);
}

static NodeId minus_one_times(Graph *graph, const Node *node) {
    return is_number(graph, node, 0, -1) ? negated(graph, node, node->inputs[1]) : NODE_NONE;
}

static NodeId times_minus_one(Graph *graph, const Node *node) {
    return is_number(graph, node, 1, -1) ? negated(graph, node, node->inputs[0]) : NODE_NONE;
}

static NodeId square(Graph *graph, const Node *node) {
    NodeId a = node->inputs[0];
    if (!is_number(graph, node, 1, 2) || instead(graph, node, a) == NODE_NONE) return NODE_NONE;
    return graph_make(graph, OP_multiply, a, a, 0, node->range);
}

/* --x and !!x. */
static NodeId undo_twin(Graph *graph, const Node *node) {
    const Node *from = operand(graph, node, 0);
    return from->op == node->op ? from->inputs[0] : NODE_NONE;
}

static NodeId select_known(Graph *graph, const Node *node) {
    const Node *condition = operand(graph, node, 0);
    if (condition->op != OP_constant) return NODE_NONE;
    return stretched(graph, node, node->inputs[condition->number ? 1 : 2]);
}

static NodeId select_same(Graph *graph, const Node *node) {
    bool same = node->inputs[1] == node->inputs[2];
    return same ? instead(graph, node, node->inputs[1]) : NODE_NONE;
}

/* A cast, reshape or broadcast to the type that is there already. */
static NodeId nothing_changes(Graph *graph, const Node *node) {
    return instead(graph, node, node->inputs[0]);
}

/* A reshape of a reshape, a broadcast of a broadcast. */
static NodeId skip_twin(Graph *graph, const Node *node) {
    const Node *from = operand(graph, node, 0);
    if (from->op != node->op) return NODE_NONE;
    return graph_declared(graph, node->op, from->inputs[0], node->type, node->range);
}

/* A reshape of one number, or of one number stretched. */
static NodeId reshape_number(Graph *graph, const Node *node) {
    NodeId number = node->inputs[0];
    if (graph_node(graph, number)->op == OP_broadcast)
        number = graph_node(graph, number)->inputs[0];
    const Node *from = graph_node(graph, number);
    return from->op == OP_constant && !from->type.rank ? stretched(graph, node, number) : NODE_NONE;
}

/* A reduction over axes of size 1. */
static NodeId reduce_nothing(Graph *graph, const Node *node) {
    const Type *from = &operand(graph, node, 0)->type;
    for (int i = 0; i < from->rank; i++)
        if (node->axes >> i & 1 && !is_one(graph, from->dims[i])) return NODE_NONE;
    return node->inputs[0];
}

/* Products. */

/* Does a product stay one? Of halves, which are added up as floats, and of what is moved: windows
 * have kernels of their own, and rows that lie as columns are best added up across. */
static bool stays_product(const Graph *graph, const Node *node) {
    NodeId a = node->inputs[0];
    while (graph_node(graph, a)->op == OP_reshape) a = graph_node(graph, a)->inputs[0];
    return is_half(node->type.element) || graph_node(graph, a)->op == OP_view;
}

/* A product of one depth adds nothing up. */
static NodeId outer_product(Graph *graph, const Node *node) {
    const Type *a = &operand(graph, node, 0)->type;
    if (!is_one(graph, a->dims[a->rank - 1]) || stays_product(graph, node)) return NODE_NONE;
    return graph_make(graph, OP_multiply, node->inputs[0], node->inputs[1], NODE_NONE, node->range);
}

/* A product of one column is a sum of each row, if that is long: vectors go along rows then, where
 * a tile of a product would have one sum in each. */
static NodeId sum_of_rows(Graph *graph, const Node *node) {
    const int rank = node->type.rank;
    const NodeId a = node->inputs[0], b = node->inputs[1];
    Type across = graph_node(graph, b)->type;
    int64_t depth;
    if (!is_one(graph, node->type.dims[rank - 1]) || stays_product(graph, node) ||
        !dim_is_constant(across.dims[across.rank - 2], &depth) || depth < ROW_LEAST)
        return NODE_NONE;
    across.dims[across.rank - 1] = across.dims[across.rank - 2];
    across.dims[across.rank - 2] = dim_constant(graph->dimensions, 1);
    const NodeId row = graph_declared(graph, OP_reshape, b, across, node->range);
    const NodeId products = graph_make(graph, OP_multiply, a, row, NODE_NONE, node->range);
    const Node sum = {
        .op = OP_sum, .inputs = {products}, .axes = 1u << (rank - 1), .range = node->range};
    Problem problem;
    return graph_add(graph, sum, &problem);
}

/* Views. */

static bool is_unguarded(const Graph *graph, const Node *node) {
    return !view_is_guarded(graph->dimensions, node->view, &operand(graph, node, 0)->type,
                            &node->type);
}

/* Axes of size 1 have no factor, a fill that nothing has is 0, one that is there is rounded. */
static NodeId plain_view(Graph *graph, const Node *node) {
    View view = *node->view;
    view.fill = is_unguarded(graph, node) ? 0 : element_round(node->type.element, view.fill);
    for (int i = 0; i < view.rank; i++)
        for (int j = 0; j < node->type.rank; j++)
            if (dim_is_one(node->type.dims[j])) view.coordinates[i].factors[j] = 0;
    bool same = !memcmp(&view, node->view, sizeof view);
    return same ? NODE_NONE : graph_view(graph, node->inputs[0], &view, node->type, node->range);
}

/* How far a step along axis `axis` of the result goes in the operand; NULL past a limit. */
static Dim view_stride(const Graph *graph, const Node *node, int axis) {
    Dimensions *table = graph->dimensions;
    const Type *from = &operand(graph, node, 0)->type;
    Dim stride = dim_constant(table, 0);
    for (int i = 0; i < from->rank && stride; i++) {
        Dim step = type_count(table, from, i + 1, from->rank);
        Dim factor = dim_constant(table, node->view->coordinates[i].factors[axis]);
        step = step ? dim_multiply(table, step, factor) : NULL;
        stride = step ? dim_add(table, stride, step) : NULL;
    }
    return stride;
}

static bool starts_at_zero(const Graph *graph, const View *view) {
    for (int i = 0; i < view->rank; i++)
        if (view->coordinates[i].start != dim_constant(graph->dimensions, 0) ||
            view->coordinates[i].divisor != 1)
            return false;
    return true;
}

/* A view of all elements in their order. */
static NodeId same_place(Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    const Type *from = &operand(graph, node, 0)->type, *to = &node->type;
    Dim count = type_elements(table, to);
    if (!count || count != type_elements(table, from) || !is_unguarded(graph, node) ||
        !starts_at_zero(graph, node->view))
        return NODE_NONE;
    for (int j = 0; j < to->rank; j++)
        if (!is_one(graph, to->dims[j]) &&
            view_stride(graph, node, j) != type_count(table, to, j + 1, to->rank))
            return NODE_NONE;
    return graph_declared(graph, OP_reshape, node->inputs[0], *to, node->range);
}

/* At the largest sizes. */
static int64_t most_elements(const Graph *graph, const Type *type) {
    Dim count = type_elements(graph->dimensions, type);
    return count ? dim_bound(count) : SIZE_UNKNOWN;
}

/* A view without guards of a view. Windows over padding stay two: what is padded is stored, and
 * read many times. */
static NodeId compose_views(Graph *graph, const Node *node) {
    const Node *inner = operand(graph, node, 0);
    View composed;
    if (inner->op != OP_view || !is_unguarded(graph, node)) return NODE_NONE;
    for (int i = 0; i < node->view->rank; i++)
        if (node->view->coordinates[i].divisor != 1) return NODE_NONE;
    bool repeats = most_elements(graph, &node->type) > most_elements(graph, &inner->type);
    if (repeats && !is_unguarded(graph, inner)) return NODE_NONE;
    if (!view_compose(graph->dimensions, node->view, inner->view, &composed)) return NODE_NONE;
    NodeId a = inner->inputs[0];
    const Type *from = &graph_node(graph, a)->type;
    if (!has_adjoint(graph->dimensions, &composed, from, &node->type)) return NODE_NONE;
    return graph_view(graph, a, &composed, node->type, node->range);
}

/* The next axis from `axis` on that is longer than 1; the rank: there is none. */
static int next_axis(const Graph *graph, const Type *type, int axis) {
    while (axis < type->rank && is_one(graph, type->dims[axis])) axis++;
    return axis;
}

/* A view of a view, or of products, behind a reshape that only puts axes of size 1 in or takes them
 * away, on which the view has no test: it is one of what is before the reshape. */
static NodeId view_of_expanded(Graph *graph, const Node *node) {
    Dimensions *table = graph->dimensions;
    const Node *reshape = operand(graph, node, 0);
    if (reshape->op != OP_reshape) return NODE_NONE;
    const Op op = operand(graph, reshape, 0)->op;
    if (op != OP_view && op != OP_multiply) return NODE_NONE;
    const Type *expanded = &reshape->type, *from = &operand(graph, reshape, 0)->type;
    View view = {.rank = from->rank, .fill = node->view->fill};
    for (int i = 0; i < from->rank; i++)
        view.coordinates[i] = coordinate_along(dim_constant(table, 0), -1);
    int i = 0, j = 0;
    for (;; i++, j++) {
        for (int end = next_axis(graph, expanded, j); j < end; j++)
            if (coordinate_guards(table, &node->view->coordinates[j], expanded->dims[j],
                                  &node->type))
                return NODE_NONE;
        i = next_axis(graph, from, i);
        if (i == from->rank || j == expanded->rank) break;
        if (from->dims[i] != expanded->dims[j]) return NODE_NONE;
        view.coordinates[i] = node->view->coordinates[j];
    }
    if (i < from->rank || j < expanded->rank || !has_adjoint(table, &view, from, &node->type))
        return NODE_NONE;
    return graph_view(graph, reshape->inputs[0], &view, node->type, node->range);
}

/* What a view of a node does to an operand of it, which may repeat along axes of the node. */
static NodeId view_of_operand(Graph *graph, const Node *node, NodeId a) {
    const Type *from = &graph_node(graph, a)->type;
    if (!from->rank) return a;
    View view = {.rank = from->rank, .fill = node->view->fill};
    for (int i = 0; i < from->rank; i++)
        view.coordinates[i] = is_one(graph, from->dims[i])
                                  ? coordinate_along(dim_constant(graph->dimensions, 0), -1)
                                  : node->view->coordinates[node->view->rank - from->rank + i];
    Type type = node->type;
    type.element = from->element;
    if (!has_adjoint(graph->dimensions, &view, from, &type)) return NODE_NONE;
    return graph_view(graph, a, &view, type, node->range);
}

/* Has the view a test on an axis of its operand that `repeated` lacks, or has one place for? No
 * factor on that has it to tell. */
static bool tests_repeated(const Graph *graph, const Node *node, const Type *repeated) {
    const Type *from = &operand(graph, node, 0)->type;
    const int missing = from->rank - repeated->rank;
    for (int i = 0; i < from->rank; i++)
        if ((i < missing || is_one(graph, repeated->dims[i - missing])) &&
            coordinate_guards(graph->dimensions, &node->view->coordinates[i], from->dims[i],
                              &node->type))
            return true;
    return false;
}

static NodeId view_of_broadcast(Graph *graph, const Node *node) {
    const Node *from = operand(graph, node, 0);
    if (from->op != OP_broadcast) return NODE_NONE;
    const Type *repeated = &operand(graph, from, 0)->type;
    return repeated->rank && !tests_repeated(graph, node, repeated)
               ? view_of_operand(graph, node, from->inputs[0])
               : NODE_NONE;
}

/* Is the node cheap, and made of nothing but what is moved or repeated? */
static bool is_of_moved(const Graph *graph, const Node *node, int depth) {
    if (op_info[node->op].class != LOOP_elementwise || node->op == OP_cast ||
        op_info[node->op].cost > MOVED_COST_LIMIT)
        return false;
    for (int i = 0; i < node->input_count; i++) {
        const Node *from = operand(graph, node, i);
        bool moved = from->op == OP_view || from->op == OP_broadcast ||
                     most_elements(graph, &from->type) < most_elements(graph, &node->type);
        if (!moved && !(depth && is_of_moved(graph, from, depth - 1))) return false;
    }
    return node->input_count > 0;
}

/* The last axis that is longer than 1; -1: none is. */
static int last_axis(const Graph *graph, const Type *type) {
    int axis = type->rank - 1;
    while (axis >= 0 && is_one(graph, type->dims[axis])) axis--;
    return axis;
}

/* Is the last axis of the view that of its operand? What is read across is better computed once. */
static bool reads_along(const Graph *graph, const Node *node) {
    const int axis = last_axis(graph, &node->type);
    const int from = last_axis(graph, &operand(graph, node, 0)->type);
    return axis >= 0 && from >= 0 && node->view->coordinates[from].factors[axis];
}

/* Does the view read what is moved at most once, all of it inside? */
static bool reads_once(const Graph *graph, const Node *node, const Node *from) {
    return is_unguarded(graph, node) && starts_at_zero(graph, node->view) &&
           most_elements(graph, &node->type) <= most_elements(graph, &from->type);
}

/* Does the view see one place of an axis? */
static bool sees_place(const Graph *graph, const View *view, const Type *from) {
    for (int i = 0; i < view->rank; i++) {
        bool moves = is_one(graph, from->dims[i]);
        for (int j = 0; j < RANK_LIMIT; j++) moves |= view->coordinates[i].factors[j] != 0;
        if (!moves) return true;
    }
    return false;
}

/* Is it one place, as of a window, of products of fewer numbers each, 0 outside? There 0 is then
 * multiplied with the other factor, which gives NaN if that is not finite. */
static bool reads_products(const Graph *graph, const Node *node, const Node *from) {
    if (from->op != OP_multiply || node->view->fill != 0 ||
        !sees_place(graph, node->view, &from->type) || tests_repeated(graph, node, &from->type))
        return false;
    const int64_t products = most_elements(graph, &from->type);
    return most_elements(graph, &operand(graph, from, 0)->type) < products &&
           most_elements(graph, &operand(graph, from, 1)->type) < products;
}

/* A view of such a node is that of its operands: what flows back through a pool finds each value
 * beside the largest of its window, and through a convolution of each channel its weights. */
static NodeId view_of_moved(Graph *graph, const Node *node) {
    const Node *from = operand(graph, node, 0);
    NodeId moved[3] = {NODE_NONE, NODE_NONE, NODE_NONE};
    Node copy = *from;
    if (!(reads_once(graph, node, from) || reads_products(graph, node, from)) ||
        !reads_along(graph, node) || !is_of_moved(graph, from, MOVED_DEPTH_LIMIT))
        return NODE_NONE;
    for (int i = 0; i < copy.input_count; i++) {
        moved[i] = view_of_operand(graph, node, copy.inputs[i]);
        if (moved[i] == NODE_NONE) return NODE_NONE;
    }
    return graph_make(graph, copy.op, moved[0], moved[1], moved[2], copy.range);
}

/* A view of one number everywhere, which is also what fills it. */
static NodeId view_of_number(Graph *graph, const Node *node) {
    NodeId number = node->inputs[0];
    if (graph_node(graph, number)->op == OP_broadcast)
        number = graph_node(graph, number)->inputs[0];
    const Node *from = graph_node(graph, number);
    bool known = from->op == OP_constant;
    if (from->type.rank) return NODE_NONE;
    if (!is_unguarded(graph, node) && !(known && from->number == node->view->fill))
        return NODE_NONE;
    return stretched(graph, node, number);
}

static Rule *const rules[OP_COUNT][RULE_LIMIT] = {
    [OP_constant] = {round_constant},
    [OP_add] = {zero_plus, plus_zero},
    [OP_subtract] = {plus_zero},
    [OP_multiply] = {one_times, times_one, minus_one_times, times_minus_one},
    [OP_divide] = {times_one},
    [OP_power] = {times_one, square},
    [OP_negate] = {undo_twin},
    [OP_not] = {undo_twin},
    [OP_select] = {select_known, select_same},
    [OP_cast] = {nothing_changes},
    [OP_stop_gradient] = {skip_twin},
    [OP_matmul] = {outer_product, sum_of_rows},
    [OP_sum] = {reduce_nothing},
    [OP_max] = {reduce_nothing},
    [OP_min] = {reduce_nothing},
    [OP_prod] = {reduce_nothing},
    [OP_any] = {reduce_nothing},
    [OP_all] = {reduce_nothing},
    [OP_reshape] = {nothing_changes, skip_twin, reshape_number},
    [OP_view] = {plain_view, same_place, compose_views, view_of_expanded, view_of_number,
                 view_of_broadcast, view_of_moved},
    [OP_broadcast] = {nothing_changes, skip_twin},
};

NodeId graph_simplify(Graph *graph, const Node *node) {
    NodeId found = NODE_NONE;
    if (op_info[node->op].class == LOOP_elementwise) {
        found = fold(graph, node);
        if (found == NODE_NONE) found = drop_broadcast(graph, node);
    }
    for (int i = 0; i < RULE_LIMIT && found == NODE_NONE && rules[node->op][i]; i++)
        found = rules[node->op][i](graph, node);
    return found;
}
