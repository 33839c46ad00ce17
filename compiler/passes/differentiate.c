/* Differentiate: reverse-mode derivatives, by the rules in ops.def.
 *
 * The nodes are copied in order. At the first gradient(loss, …) the nodes up to the loss are
 * swept once, backwards, and the derivative of the loss by each of them is collected; this serves
 * every gradient of that loss. Because the sweep reads the new graph, in which earlier gradients
 * are plain nodes already, gradients of gradients need no care. A last copy drops stop_gradient,
 * which had to stay until all sweeps were done, and what nobody needs.
 *
 * A scan that is met in a sweep is differentiated as a whole, by scan.h.
 *
 * Rules speak of elements only. `fit` undoes broadcasting for all of them: it sums over what was
 * stretched and stretches over what was reduced. */
#include "compiler/passes/pass.h"
#include "compiler/graph/expression.h"
#include "compiler/graph/external.h"
#include "compiler/graph/list.h"
#include "compiler/passes/factor.h"
#include "compiler/passes/scan.h"
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
    Diagnostics *problems = diagnostics_new(all->arena);
    const char *path = arena_format(all->arena, "ops.def: %s", op_info[op].name);
    Source *source = source_from_text(all->arena, path, text, size);
    Expression *rule = parse_expression(all->arena, source, problems);
    assert(!problems->list.count && "a gradient in ops.def can't be parsed");
    return rule;
}

static const Rules *rules_of(Differentiation *all, Op op) {
    Rules *rules = &all->rules[op];
    for (int i = 0; i < op_info[op].arity && !rules->parsed; i++) {
        size_t size;
        const char *text = op_gradient(op, i, &size);
        rules->of[i] = text ? parse_rule(all, op, text, size) : NULL;
    }
    rules->parsed = true;
    return rules;
}

/* One sweep. */

static void find_carriers(Differentiation *all, Sweep *sweep) {
    for (NodeId id = 0; id <= sweep->loss; id++) {
        const Node *node = graph_node(all->to, id);
        for (int i = 0; i < node->input_count; i++)
            if (sweep->carries[node->inputs[i]] && passes_gradient(node, i))
                sweep->carries[id] = true;
        if (!is_floating(node->type.element) && !has_list_form(node->op))
            sweep->carries[id] = false;
        if (node->op == OP_part && !is_floating(node->type.element)) sweep->carries[id] = false;
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
    if (*sum == NODE_NONE) *sum = gradient;
    else *sum = factored_sum(all->to, *sum, gradient, sweep->loss, range);
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
    bool external = node->op == OP_extern;
    Diagnostic *diagnostic =
        diagnostic_add(all->diagnostics, E0401, node->range, "`%s` has no gradient",
                       external ? node->external->name : op_info[node->op].name);
    if (external) {
        diagnostic_note(diagnostic, node->external->declared, "it is a C function");
        diagnostic_help(diagnostic, "`stop_gradient(…)` around what it is given");
    }
    diagnostic_note(diagnostic, graph_node(all->to, sweep->loss)->range,
                    "the gradient of this is wanted");
    all->failed = true;
}

static Graph *expand(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* The gradients of the scan's results that the sweep has met, and which operands want theirs: not
 * one that the body does not read. */
static Adjoint collect_adjoint(Differentiation *all, const Sweep *sweep, NodeId id,
                               const NodeId *operands) {
    const Scan *scan = graph_node(all->to, id)->scan;
    int results = scan_result_count(scan), count = scan_operand_count(scan);
    const NodeId *inputs = scan_inputs(all->arena, scan);
    Adjoint adjoint = {id, new_ids(all->arena, (size_t)results),
                       arena_new_array(all->arena, bool, count + 1)};
    for (NodeId part = id + 1; part <= sweep->loss; part++) {
        const Node *node = graph_node(all->to, part);
        if (node->op == OP_part && node->inputs[0] == id)
            adjoint.results[node->part] = sweep->gradients[part];
    }
    for (int i = 0; i < count; i++)
        adjoint.wanted[i] = sweep->carries[operands[i]] &&
                            is_floating(graph_node(all->to, operands[i])->type.element) &&
                            (i < scan->carried || inputs[i] != NODE_NONE);
    return adjoint;
}

static void sweep_scan(Differentiation *all, Sweep *sweep, NodeId id) {
    const NodeId *operands = list_operands(all->arena, all->to, id);
    Adjoint adjoint = collect_adjoint(all, sweep, id, operands);
    ScanBuilder builder = scan_begin_adjoint(all->arena, all->to, &adjoint);
    const Graph *body = expand(all->arena, builder.body, all->diagnostics);
    if (!body) all->failed = true;
    if (!body) return;
    NodeId *gradients = scan_end_adjoint(all->arena, &adjoint, &builder, body);
    for (int i = 0; i < scan_operand_count(graph_node(all->to, id)->scan); i++)
        if (gradients[i] != NODE_NONE)
            add_gradient(all, sweep, operands[i], gradients[i], builder.range);
}

static void sweep_node(Differentiation *all, Sweep *sweep, NodeId id) {
    Node node = *graph_node(all->to, id);
    if (!node.input_count) return;
    if (node.op == OP_part) {
        sweep->gradients[node.inputs[0]] = id; /* the scan has something to do */
        return;
    }
    if (node.op == OP_scan) {
        sweep_scan(all, sweep, id);
        return;
    }
    if (!op_info[node.op].gradient) {
        report_missing(all, sweep, &node);
        return;
    }
    const Rules *rules = rules_of(all, node.op);
    Environment environment = environment_of(all, sweep, id);
    all->to->placement = node.placement; /* a gradient runs where its node does */
    all->to->gradient_of = node.op;
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
    all->to->gradient_of = OP_constant;
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
        all->map[id] =
            gradient == NODE_NONE ? graph_zeros(all->to, node->type, node->range) : gradient;
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

/* The body, which may have gradients itself, is expanded; it keeps what a sweep will ask for. */
static NodeId copy_scan(Differentiation *all, const Node *node) {
    const Graph *body = expand(all->arena, node->scan->body, all->diagnostics);
    NodeId list = all->map[node->inputs[0]];
    if (body) return scan_keep(all->to, node, list, body);
    all->failed = true;
    return scan_copy(all->to, node, list, node->scan->body);
}

static void expand_gradients(Differentiation *all) {
    const bool *needed = graph_needed(all->arena, all->from);
    list_gradients(all, needed);
    for (NodeId id = 0; id < all->from->nodes.count; id++) {
        const Node *node = graph_node(all->from, id);
        if (!needed[id]) continue;
        if (node->op == OP_scan) all->map[id] = copy_scan(all, node);
        else if (node->op != OP_gradient)
            all->map[id] = graph_copy_node(all->to, all->from, id, all->map);
        else if (all->map[id] == NODE_NONE) differentiate_loss(all, node->inputs[0]);
    }
    graph_copy_outputs(all->to, all->from, all->map);
}

/* The graph with every gradient replaced; stop_gradient stays. NULL after reporting. */
static Graph *expand(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    size_t count = graph->nodes.count;
    Differentiation *all = arena_new_item(arena, Differentiation);
    *all = (Differentiation){.arena = arena,
                             .from = graph,
                             .to = graph_like(arena, graph),
                             .diagnostics = diagnostics,
                             .map = new_ids(arena, count),
                             .first = new_ids(arena, count),
                             .next = new_ids(arena, count)};
    graph_reserve(all->to, 2 * count); /* gradients and updates are most often no more */
    expand_gradients(all);
    return all->failed ? NULL : all->to;
}

static bool has_dead_nodes(Arena *arena, const Graph *graph) {
    const bool *needed = graph_needed(arena, graph);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        if (!needed[id]) return true;
    return false;
}

static Graph *drop_stops(Arena *arena, const Graph *graph);

/* Copying simplifies, and drops operands of scans, which can leave nodes behind. */
static Graph *drop_unneeded(Arena *arena, const Graph *graph) {
    Graph *result = drop_stops(arena, graph);
    while (has_dead_nodes(arena, result) && result->nodes.count < graph->nodes.count) {
        graph = result;
        result = drop_stops(arena, graph);
    }
    return result;
}

static Graph *drop_stops(Arena *arena, const Graph *graph) {
    Graph *to = graph_like(arena, graph);
    const bool *needed = graph_needed(arena, graph);
    NodeId *map = new_ids(arena, graph->nodes.count);
    int **parts = arena_new_array(arena, int *, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (!needed[id] || node->op == OP_list) continue;
        if (node->op == OP_stop_gradient) map[id] = map[node->inputs[0]];
        else if (node->op == OP_scan) {
            parts[id] = arena_new_array(arena, int, scan_result_count(node->scan) + 1);
            map[id] = scan_trim(arena, to, graph, id, map, needed, drop_unneeded, parts[id]);
        } else if (node->op == OP_extern) {
            map[id] = external_copy(arena, to, graph, id, map);
        } else if (node->op == OP_part && graph_node(graph, node->inputs[0])->op == OP_scan) {
            NodeId scan = node->inputs[0];
            map[id] = list_part(to, map[scan], parts[scan][node->part], node->range);
        } else map[id] = graph_copy_node(to, graph, id, map);
    }
    graph_copy_outputs(to, graph, map);
    return to;
}

Graph *differentiate(Arena *arena, const Graph *graph, Diagnostics *diagnostics) {
    Graph *expanded = expand(arena, graph, diagnostics);
    Graph *result = expanded ? drop_unneeded(arena, expanded) : NULL;
    if (expanded) graph_forget(expanded);
    return result;
}
