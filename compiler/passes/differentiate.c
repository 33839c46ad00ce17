/* Differentiate: reverse-mode derivatives, by the rules in ops.def.
 *
 * The nodes are copied in order. At the first gradient(loss, …) the nodes up to the loss are
 * swept once, backwards, and the derivative of the loss by each of them is collected; this serves
 * every gradient of that loss. Because the sweep reads the new graph, in which earlier gradients
 * are plain nodes already, gradients of gradients need no care. A last copy drops stop_gradient,
 * which had to stay until all sweeps were done, and what nobody needs.
 *
 * Rules speak of elements only. `fit` undoes broadcasting for all of them: it sums over what was
 * stretched and stretches over what was reduced. */
#include "compiler/passes/pass.h"
#include "compiler/graph/expression.h"
#include "lang/parse.h"

#include <assert.h>
#include <string.h>

/* The parsed gradients of one op. */
typedef struct Rules {
    bool parsed;
    Expression *of[ARITY_LIMIT]; /* NULL: nothing flows to this operand */
} Rules;

typedef struct Differentiation {
    Arena *arena;
    const Graph *from;
    Graph *to;
    Diagnostics *diagnostics;
    NodeId *map;   /* from a node of `from` to its equal in `to` */
    NodeId *first; /* from a loss to its first gradient node in `from` */
    NodeId *next;  /* from a gradient node to the next of the same loss */
    bool failed;
    Rules rules[OP_COUNT];
} Differentiation;

/* One walk backwards from a loss. Arrays cover the nodes of `to` up to the loss. */
typedef struct Sweep {
    NodeId loss;
    bool *carries;     /* does it depend on a wanted node in a way that has a derivative? */
    NodeId *gradients; /* of the loss by this node, or NODE_NONE */
} Sweep;

static NodeId *new_ids(Arena *arena, size_t count) {
    NodeId *ids = arena_new_array(arena, NodeId, count + 1);
    memset(ids, 0xff, sizeof *ids * (count + 1)); /* NODE_NONE */
    return ids;
}

/* Rules. */

static Expression *parse_rule(Differentiation *all, Op op, const char *text, size_t size) {
    if (strspn(text, " \n") >= size) return NULL;
    Diagnostics *problems = diagnostics_new(all->arena);
    const char *path = arena_format(all->arena, "ops.def: %s", op_info[op].name);
    Source *source = source_from_text(all->arena, path, text, size);
    Expression *rule = parse_expression(all->arena, source, problems);
    assert(!problems->list.count && "a gradient in ops.def can't be parsed");
    return rule;
}

static const Rules *rules_of(Differentiation *all, Op op) {
    Rules *rules = &all->rules[op];
    const char *text = op_info[op].gradient;
    for (int i = 0; i < op_info[op].arity && !rules->parsed; i++) {
        size_t size = strcspn(text, ";");
        rules->of[i] = parse_rule(all, op, text, size);
        text += size + (text[size] == ';');
    }
    rules->parsed = true;
    return rules;
}

/* One sweep. */

static bool is_floating(const Node *node) {
    return element_info[node->type.element].class == CLASS_floating;
}

/* Could something flow to operand i? Ops without any rule say yes, and are reported if it does. */
static bool flows(Differentiation *all, const Node *node, int i) {
    if (!is_floating(node)) return false;
    return !op_info[node->op].gradient || rules_of(all, node->op)->of[i];
}

static void find_carriers(Differentiation *all, Sweep *sweep) {
    for (NodeId id = 0; id <= sweep->loss; id++) {
        const Node *node = graph_node(all->to, id);
        for (int i = 0; i < node->input_count; i++)
            if (sweep->carries[node->inputs[i]] && flows(all, node, i)) sweep->carries[id] = true;
        if (!is_floating(node)) sweep->carries[id] = false;
    }
}

/* The axes of `large` that `small` does not have or has with size 1. */
static uint32_t stretched_axes(const Graph *graph, const Type *large, const Type *small) {
    Dim one = dim_constant(graph->dimensions, 1);
    int missing = large->rank - small->rank;
    uint32_t axes = 0;
    for (int i = 0; i < large->rank; i++)
        if (i < missing || (small->dims[i - missing] == one && large->dims[i] != one))
            axes |= 1u << i;
    return axes;
}

/* The gradient with the shape of what it is the gradient of. */
static NodeId fit(Graph *graph, NodeId gradient, Type wanted, Range range) {
    Type type = graph_node(graph, gradient)->type;
    if (shape_equal(&type, &wanted)) return gradient;
    if (type.rank >= wanted.rank) {
        int missing = type.rank - wanted.rank;
        uint32_t axes = stretched_axes(graph, &type, &wanted);
        if (axes) gradient = graph_reduce(graph, OP_sum, gradient, axes, range);
        type = graph_node(graph, gradient)->type;
        type.rank = wanted.rank;
        memmove(type.dims, type.dims + missing, sizeof(Dim) * (size_t)wanted.rank);
        gradient = graph_declared(graph, OP_reshape, gradient, type, range);
    }
    return graph_declared(graph, OP_broadcast, gradient, wanted, range);
}

static void add_gradient(Differentiation *all, Sweep *sweep, NodeId id, NodeId gradient,
                         Range range) {
    NodeId *sum = &sweep->gradients[id];
    gradient = fit(all->to, gradient, graph_node(all->to, id)->type, range);
    *sum = *sum == NODE_NONE ? gradient : graph_make(all->to, OP_add, *sum, gradient, 0, range);
}

static Environment environment_of(Differentiation *all, const Sweep *sweep, NodeId id) {
    static const char *const names[ARITY_LIMIT] = {"a", "b", "c"};
    const Node *node = graph_node(all->to, id);
    Environment environment = {.axes = node->axes,
                               .view = node->view,
                               .element = node->type.element,
                               .range = node->range};
    for (int i = 0; i < node->input_count; i++)
        vector_push(all->arena, &environment.bindings, (Binding){names[i], node->inputs[i]});
    vector_push(all->arena, &environment.bindings, (Binding){"y", id});
    vector_push(all->arena, &environment.bindings, (Binding){"dy", sweep->gradients[id]});
    return environment;
}

static void report_missing(Differentiation *all, const Sweep *sweep, const Node *node) {
    Diagnostic *diagnostic = diagnostic_add(all->diagnostics, E0401, node->range,
                                            "`%s` has no gradient", op_info[node->op].name);
    diagnostic_note(diagnostic, graph_node(all->to, sweep->loss)->range,
                    "the gradient of this is wanted");
    all->failed = true;
}

static void sweep_node(Differentiation *all, Sweep *sweep, NodeId id) {
    Node node = *graph_node(all->to, id);
    if (!node.input_count) return;
    if (!op_info[node.op].gradient) {
        report_missing(all, sweep, &node);
        return;
    }
    const Rules *rules = rules_of(all, node.op);
    Environment environment = environment_of(all, sweep, id);
    all->to->placement = node.placement; /* a gradient runs where its node does */
    for (int i = 0; i < node.input_count; i++) {
        if (!rules->of[i] || !sweep->carries[node.inputs[i]]) continue;
        NodeId gradient = expression_build(all->to, rules->of[i], &environment);
        if (gradient == NODE_NONE) report_missing(all, sweep, &node);
        else add_gradient(all, sweep, node.inputs[i], gradient, node.range);
    }
}

/* The gradients of one loss. */

/* A loss depends on nothing that came after it. */
static NodeId target_of(const Differentiation *all, const Sweep *sweep, NodeId gradient) {
    NodeId target = all->map[graph_node(all->from, gradient)->inputs[1]];
    return target != NODE_NONE && target <= sweep->loss ? target : NODE_NONE;
}

static void sweep_loss(Differentiation *all, Sweep *sweep, NodeId first) {
    Node loss = *graph_node(all->to, sweep->loss);
    for (NodeId id = first; id != NODE_NONE; id = all->next[id]) {
        NodeId target = target_of(all, sweep, id);
        if (target != NODE_NONE) sweep->carries[target] = true;
    }
    find_carriers(all, sweep);
    if (!sweep->carries[sweep->loss]) return;
    sweep->gradients[sweep->loss] = graph_constant(all->to, loss.type.element, 1, loss.range);
    for (NodeId id = sweep->loss + 1; id-- > 0;)
        if (sweep->gradients[id] != NODE_NONE) sweep_node(all, sweep, id);
    all->to->placement = (Placement){0};
}

static NodeId zeros(Graph *graph, Type type, Range range) {
    NodeId zero = graph_constant(graph, type.element, 0, range);
    return graph_declared(graph, OP_broadcast, zero, type, range);
}

static void differentiate_loss(Differentiation *all, NodeId loss) {
    Sweep sweep = {.loss = all->map[loss]};
    sweep.carries = arena_new_array(all->arena, bool, sweep.loss + 1);
    sweep.gradients = new_ids(all->arena, sweep.loss);
    sweep_loss(all, &sweep, all->first[loss]);
    for (NodeId id = all->first[loss]; id != NODE_NONE; id = all->next[id]) {
        const Node *node = graph_node(all->from, id);
        NodeId target = target_of(all, &sweep, id);
        NodeId gradient = target == NODE_NONE ? NODE_NONE : sweep.gradients[target];
        all->map[id] = gradient == NODE_NONE ? zeros(all->to, node->type, node->range) : gradient;
    }
}

/* The graph. */

static void list_gradients(Differentiation *all, const bool *needed) {
    for (size_t id = all->from->nodes.count; id-- > 0;) {
        const Node *node = graph_node(all->from, (NodeId)id);
        if (!needed[id] || node->op != OP_gradient) continue;
        all->next[id] = all->first[node->inputs[0]];
        all->first[node->inputs[0]] = (NodeId)id;
    }
}

static Graph *new_graph_like(Arena *arena, const Graph *graph) {
    Graph *new = graph_new(arena, graph->dimensions, graph->name);
    new->batch = graph->batch;
    return new;
}

static void copy_outputs(Graph *to, const Graph *from, const NodeId *map) {
    vector_each(Output, output, from->outputs) {
        NodeId target = output->kind == OUTPUT_update ? map[output->target] : NODE_NONE;
        graph_output(to, output->kind, output->name, map[output->value], target);
    }
}

static void expand_gradients(Differentiation *all) {
    const bool *needed = graph_needed(all->arena, all->from);
    list_gradients(all, needed);
    for (NodeId id = 0; id < all->from->nodes.count; id++) {
        const Node *node = graph_node(all->from, id);
        if (!needed[id]) continue;
        if (node->op != OP_gradient)
            all->map[id] = graph_copy_node(all->to, all->from, id, all->map);
        else if (all->map[id] == NODE_NONE) differentiate_loss(all, node->inputs[0]);
    }
    copy_outputs(all->to, all->from, all->map);
}

static Graph *drop_stops(Arena *arena, const Graph *graph) {
    Graph *to = new_graph_like(arena, graph);
    const bool *needed = graph_needed(arena, graph);
    NodeId *map = new_ids(arena, graph->nodes.count);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (!needed[id]) continue;
        map[id] = node->op == OP_stop_gradient ? map[node->inputs[0]]
                                               : graph_copy_node(to, graph, id, map);
    }
    copy_outputs(to, graph, map);
    return to;
}

static bool has_dead_nodes(Arena *arena, const Graph *graph) {
    const bool *needed = graph_needed(arena, graph);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        if (!needed[id]) return true;
    return false;
}

/* Copying simplifies, which can leave nodes behind. */
Graph *differentiate(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    size_t count = graph->nodes.count;
    Differentiation *all = arena_new_item(arena, Differentiation);
    *all = (Differentiation){.arena = arena,
                             .from = graph,
                             .to = new_graph_like(arena, graph),
                             .diagnostics = diagnostics,
                             .map = new_ids(arena, count),
                             .first = new_ids(arena, count),
                             .next = new_ids(arena, count)};
    expand_gradients(all);
    if (all->failed) return NULL;
    Graph *result = drop_stops(arena, all->to);
    return has_dead_nodes(arena, result) ? drop_stops(arena, result) : result;
}
