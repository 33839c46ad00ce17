/* Fuse, copying: what is needed, in a form with fewer cases: reductions over neighbouring axes, no
 * division by one number for all elements, casts that only one product reads. */
#include "compiler/passes/fuser.h"

#include "compiler/graph/external.h"
#include "compiler/graph/list.h"
#include "compiler/graph/scan.h"
#include "compiler/passes/operand.h"

#include <math.h>

/* Of the axes those that lie side by side with the last one. */
static uint32_t last_run(const Type *type, uint32_t axes) {
    int first = 31 - __builtin_clz(axes);
    while (first > 0 && (axes >> (first - 1) & 1 || dim_is_one(type->dims[first - 1]))) first--;
    return axes & ~((1u << first) - 1);
}

static Dim count_of_run(Graph *to, const Type *type, uint32_t run) {
    return type_count(to->dimensions, type, __builtin_ctz(run), 32 - __builtin_clz(run));
}

/* Which of the runs is reduced first: the last one, or where its rows are short the one before it,
 * if that is longer and goes down whole vectors, so that few short rows are left. */
static uint32_t best_run(Graph *to, const Type *type, uint32_t axes) {
    enum { SHORT = 32 };
    const uint32_t last = last_run(type, axes);
    if (last == axes) return last;
    const uint32_t before = last_run(type, axes & ~last);
    const int64_t count = dim_bound(count_of_run(to, type, last));
    const Dim behind = type_count(to->dimensions, type, 32 - __builtin_clz(before), type->rank);
    const bool longer = dim_bound(count_of_run(to, type, before)) > count;
    return count <= SHORT && longer && are_whole_runs(behind) ? before : last;
}

/* One reduction after the other; what lies between two is not rounded to a half type. */
static NodeId copy_runs(Graph *to, const Node *node, NodeId operand, uint32_t axes) {
    const Type type = graph_node(to, operand)->type;
    bool widens = is_half(type.element) && last_run(&type, axes) != axes &&
                  (node->op == OP_sum || node->op == OP_prod);
    Type wide = type;
    wide.element = TYPE_f32;
    if (widens) operand = graph_declared(to, OP_cast, operand, wide, node->range);
    while (axes) {
        uint32_t run = best_run(to, &type, axes);
        NodeId parts = reduce_parts(to, node, operand, run);
        operand =
            parts != NODE_NONE ? parts : graph_reduce(to, node->op, operand, run, node->range);
        axes &= ~run;
    }
    return widens ? graph_declared(to, OP_cast, operand, node->type, node->range) : operand;
}

/* Splits a reduction over axes with others between them; drops one over axes of size 1. */
static NodeId copy_reduction(Graph *to, const Node *node, NodeId operand) {
    const Type type = graph_node(to, operand)->type;
    uint32_t left = 0;
    for (int i = 0; i < type.rank; i++)
        if (node->axes >> i & 1 && !dim_is_one(type.dims[i])) left |= 1u << i;
    NodeId few = left ? reduce_few(to, node, operand, left) : NODE_NONE;
    if (few != NODE_NONE) return few;
    if (left) return copy_runs(to, node, operand, left);
    if (op_info[node->op].gives != GIVES_index) return operand;
    NodeId zero = graph_constant(to, node->type.element, 0, node->range);
    return node->type.rank ? graph_declared(to, OP_broadcast, zero, node->type, node->range) : zero;
}

/* Whose reciprocal may be a number without all its digits, which counts as 0. */
static const double largest_divisor = 0x1p126;

/* 2^-64 for a divisor that is larger, else 1. What is computed where it is used would be computed
 * three times: such a divisor is taken for no larger. */
static NodeId divisor_scale(Graph *to, const Node *node, NodeId b) {
    const Node *divisor = graph_node(to, b);
    const Element element = divisor->type.element;
    const NodeId one = graph_constant(to, element, 1, node->range);
    const bool small_constant =
        divisor->op == OP_constant && fabs(divisor->number) <= largest_divisor;
    if (small_constant || is_elementwise(divisor->op)) return one;
    const NodeId limit = graph_constant(to, element, largest_divisor, node->range);
    const NodeId small = graph_constant(to, element, 0x1p-64, node->range);
    const NodeId size = graph_make(to, OP_abs, b, NODE_NONE, NODE_NONE, node->range);
    const NodeId large = graph_make(to, OP_less, limit, size, NODE_NONE, node->range);
    return graph_make(to, OP_select, large, small, one, node->range);
}

/* Division by one number for all elements becomes multiplication by its reciprocal: a * (1 / (b *
 * scale)) * scale. */
static NodeId copy_division(Graph *to, const Node *node, NodeId a, NodeId b) {
    const Element element = graph_node(to, b)->type.element;
    const NodeId one = graph_constant(to, element, 1, node->range);
    const NodeId scale = divisor_scale(to, node, b);
    const NodeId divisor = graph_make(to, OP_multiply, b, scale, NODE_NONE, node->range);
    const NodeId reciprocal = graph_make(to, OP_divide, one, divisor, NODE_NONE, node->range);
    const NodeId product = graph_make(to, OP_multiply, a, reciprocal, NODE_NONE, node->range);
    return graph_make(to, OP_multiply, product, scale, NODE_NONE, node->range);
}

/* The reciprocal of a half number has too few digits; with --exact there is none. */
static bool is_by_reciprocal(const Graph *graph, const Node *node) {
    if (node->op != OP_divide || node->type.rank == 0 || graph->wishes.exact) return false;
    return graph_node(graph, node->inputs[1])->type.rank == 0 && !is_half(node->type.element);
}

/* Sums of halves are made in f32 and rounded once. */
static NodeId copy_scatter(Graph *to, const Node *node, NodeId index, NodeId updates) {
    Type wide = graph_node(to, updates)->type, result = node->type;
    wide.element = result.element = TYPE_f32;
    NodeId widened = graph_declared(to, OP_cast, updates, wide, node->range);
    Node sums = *node;
    sums.inputs[0] = index;
    sums.inputs[1] = widened;
    sums.type = result;
    return graph_declared(to, OP_cast, graph_must_add(to, sums), node->type, node->range);
}

/* A cast that only one product reads, which therefore no kernel stores. */
static NodeId own_cast(Graph *to, NodeId id) {
    Node node = *graph_node(to, id);
    vector_push(to->arena, &to->nodes, node);
    return (NodeId)(to->nodes.count - 1);
}

static NodeId copy_product(Graph *to, const Graph *from, NodeId id, const NodeId *map) {
    Node node = *graph_node(from, id);
    for (int i = 0; i < 2; i++) node.inputs[i] = map[node.inputs[i]];
    if (widens_both(to, &node))
        for (int i = 0; i < 2; i++) node.inputs[i] = own_cast(to, node.inputs[i]);
    return graph_must_add(to, node);
}

static NodeId copy_scan(Graph *to, const Node *node, const NodeId *map,
                        Graph *(*body)(Arena *, const Graph *)) {
    Graph turn = *node->scan->body;
    turn.wishes.exact = to->wishes.exact;
    turn.wishes.tf32 = to->wishes.tf32;
    return scan_copy(to, node, map[node->inputs[0]], body(to->arena, &turn));
}

static NodeId copy_node(Graph *to, const Graph *from, NodeId id, const NodeId *map,
                        Graph *(*body)(Arena *, const Graph *)) {
    const Node *node = graph_node(from, id);
    if (node->op == OP_scan) return copy_scan(to, node, map, body);
    if (node->op == OP_matmul) return copy_product(to, from, id, map);
    if (node->op == OP_scatter_add && is_half(node->type.element))
        return copy_scatter(to, node, map[node->inputs[0]], map[node->inputs[1]]);
    if (op_info[node->op].class == LOOP_reduce)
        return copy_reduction(to, node, map[node->inputs[0]]);
    if (is_by_reciprocal(from, node))
        return copy_division(to, node, map[node->inputs[0]], map[node->inputs[1]]);
    return graph_copy_node(to, from, id, map);
}

/* A C function stores all its results, wanted or not. */
static void add_parts(Graph *graph, NodeId call) {
    const Node node = *graph_node(graph, call);
    for (size_t i = 0; i < node.external->results.count; i++)
        list_part(graph, call, (int)i, node.range);
}

Graph *fuse_copy(Arena *arena, const Graph *graph, Graph *(*body)(Arena *, const Graph *)) {
    Graph *to = graph_like(arena, graph);
    const bool *needed = graph_needed(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        if (needed[id] || graph_node(graph, id)->op == OP_weight) {
            to->placement = graph_node(graph, id)->placement;
            map[id] = copy_node(to, graph, id, map, body);
            if (graph_node(graph, id)->op == OP_extern) add_parts(to, map[id]);
        }
    graph_copy_outputs(to, graph, map);
    return to;
}
