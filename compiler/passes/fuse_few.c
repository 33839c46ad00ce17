/* Fuse, few: a reduction over few elements becomes elementwise, of views, from the first to the
 * last: a loop of such a length costs more than what it does. Few are those that lie apart, as a
 * pool's window or that of a convolution of each channel by itself, and up to four that lie
 * together and are not stored, as the results of a channel on the way back. */
#include "compiler/passes/fuser.h"

#include "compiler/graph/movement.h"

#include <math.h>

enum {
    FEW = 9,          /* elements of one reduction */
    FEW_OF_RUNS = 49, /* the same of what repeats, with whole runs of columns behind each */
    FEW_AT_END = 4,   /* the same with none behind, of what is larger than its operands */
    CHEAP_ABOVE = 3,  /* elementwise nodes above what is viewed */
};

/* The elementwise op that does the same; OP_constant: none. */
static Op step_of(Op op) {
    switch (op) {
    case OP_sum: return OP_add;
    case OP_prod: return OP_multiply;
    case OP_max: return OP_maximum;
    case OP_min: return OP_minimum;
    case OP_any: return OP_or;
    case OP_all: return OP_and;
    default: return OP_constant;
    }
}

/* A place along the axes that are reduced. */
typedef struct Place {
    uint32_t axes;
    int rank;
    int64_t at[RANK_LIMIT];
} Place;

/* The axis of the place that is axis i of a type. */
static int axis_of(const Place *place, const Type *type, int i) {
    return i + place->rank - type->rank;
}

/* Does a value of that type have elements at different places? */
static bool has_places(const Place *place, const Type *type) {
    for (int i = 0; i < type->rank; i++)
        if (place->axes >> axis_of(place, type, i) & 1 && !dim_is_one(type->dims[i])) return true;
    return false;
}

/* The type at one place. */
static Type type_at(Dimensions *table, const Place *place, Type type) {
    for (int i = 0; i < type.rank; i++)
        if (place->axes >> axis_of(place, &type, i) & 1) type.dims[i] = dim_constant(table, 1);
    return type;
}

static NodeId viewed_at(Graph *to, NodeId id, const Place *place, Range range) {
    Dimensions *table = to->dimensions;
    const Type type = graph_node(to, id)->type;
    View view = view_identity(table, type.rank);
    for (int i = 0; i < type.rank; i++) {
        int axis = axis_of(place, &type, i);
        if (place->axes >> axis & 1 && !dim_is_one(type.dims[i]))
            view.coordinates[i] = coordinate_along(dim_constant(table, place->at[axis]), -1);
    }
    return graph_view(to, id, &view, type_at(table, place, type), range);
}

/* NODE_NONE: it would be computed again for each place, or stored for them. */
static NodeId element_at(Graph *to, NodeId id, const Place *place, int depth) {
    Node node = *graph_node(to, id);
    LoopClass class = op_info[node.op].class;
    if (!has_places(place, &node.type)) return id;
    if (class == LOOP_generate || class == LOOP_gather) return NODE_NONE;
    if (class != LOOP_elementwise) return viewed_at(to, id, place, node.range);
    if (!depth || op_info[node.op].cost > INLINE_COST_LIMIT) return NODE_NONE;
    node.type = type_at(to->dimensions, place, node.type);
    for (int i = 0; i < node.input_count; i++) {
        node.inputs[i] = element_at(to, node.inputs[i], place, depth - 1);
        if (node.inputs[i] == NODE_NONE) return NODE_NONE;
    }
    return graph_must_add(to, node);
}

/* The next place, the last axis first; false: there is none. */
static bool next_place(const Type *type, Place *place) {
    for (int i = type->rank - 1; i >= 0; i--) {
        int64_t size;
        if (!(place->axes >> i & 1)) continue;
        dim_is_constant(type->dims[i], &size);
        if (++place->at[i] < size) return true;
        place->at[i] = 0;
    }
    return false;
}

/* How many elements the axes have; 0: that is not known. */
static int64_t count_along(const Type *type, uint32_t axes) {
    int64_t count = 1, size;
    for (int i = 0; i < type->rank && count <= FEW_OF_RUNS; i++)
        if (axes >> i & 1) count = dim_is_constant(type->dims[i], &size) ? count * size : 0;
    return count;
}

/* Are there more elements than are viewed, as windows that overlap have? What lies in memory once
 * is better read once. */
static bool repeats(const Graph *graph, NodeId id, int depth) {
    const Node *node = graph_node(graph, id);
    const int64_t count = dim_bound(type_elements(graph->dimensions, &node->type));
    if (node->op == OP_view || node->op == OP_reshape)
        return dim_bound(type_elements(graph->dimensions,
                                       &graph_node(graph, node->inputs[0])->type)) < count ||
               (depth && repeats(graph, node->inputs[0], depth - 1));
    if (!is_elementwise(node->op) || !depth) return false;
    for (int i = 0; i < node->input_count; i++)
        if (repeats(graph, node->inputs[i], depth - 1)) return true;
    return false;
}

/* Is it larger than each of its operands? */
static bool is_outer(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, id);
    const int64_t count = dim_bound(type_elements(graph->dimensions, &node->type));
    for (int i = 0; i < node->input_count; i++)
        if (dim_bound(type_elements(graph->dimensions,
                                    &graph_node(graph, node->inputs[i])->type)) >= count)
            return false;
    return is_elementwise(node->op);
}

/* Is a product added to something, in what element_at would compute again for each element? A
 * compiler may round that once or twice, and the way back asks which element the result equals. */
static bool rounds_freely(const Graph *graph, NodeId id, int depth) {
    const Node *node = graph_node(graph, id);
    if (!depth || op_info[node->op].class != LOOP_elementwise) return false;
    const bool adds = node->op == OP_add || node->op == OP_subtract;
    for (int i = 0; i < node->input_count; i++)
        if ((adds && graph_node(graph, node->inputs[i])->op == OP_multiply) ||
            rounds_freely(graph, node->inputs[i], depth - 1))
            return true;
    return false;
}

/* Is the reduction one over few elements, with others behind them or larger than its operands? */
static bool is_of_few(Graph *to, const Node *node, NodeId operand, uint32_t axes) {
    const Type *type = &graph_node(to, operand)->type;
    int64_t count = count_along(type, axes);
    int last = 31 - __builtin_clz(axes);
    bool rounds = is_half(type->element) && (node->op == OP_sum || node->op == OP_prod);
    const bool extreme = node->op == OP_max || node->op == OP_min;
    if (count < 2 || rounds || step_of(node->op) == OP_constant) return false;
    if (extreme && is_floating(type->element) && rounds_freely(to, operand, CHEAP_ABOVE))
        return false;
    Dim behind = type_count(to->dimensions, type, last + 1, type->rank);
    if (count > FEW && !(are_whole_runs(behind) && repeats(to, operand, CHEAP_ABOVE))) return false;
    if (dim_is_one(behind)) return count <= FEW_AT_END && is_outer(to, operand);
    return count <= FEW_OF_RUNS;
}

/* What a reduction begins with matters where its first element is not a number. */
static NodeId first_of(Graph *to, const Node *node, NodeId element) {
    bool extreme = node->op == OP_max || node->op == OP_min;
    if (!extreme || !is_floating(node->type.element)) return element;
    NodeId least = graph_constant(to, node->type.element, node->op == OP_max ? -INFINITY : INFINITY,
                                  node->range);
    return graph_make(to, step_of(node->op), least, element, NODE_NONE, node->range);
}

NodeId reduce_few(Graph *to, const Node *node, NodeId operand, uint32_t axes) {
    const Type type = graph_node(to, operand)->type;
    if (!is_of_few(to, node, operand, axes)) return NODE_NONE;
    Place place = {.axes = axes, .rank = type.rank};
    NodeId total = element_at(to, operand, &place, CHEAP_ABOVE);
    if (total == NODE_NONE) return NODE_NONE;
    total = first_of(to, node, total);
    while (next_place(&type, &place)) {
        NodeId element = element_at(to, operand, &place, CHEAP_ABOVE);
        total = graph_make(to, step_of(node->op), total, element, NODE_NONE, node->range);
    }
    return total;
}
