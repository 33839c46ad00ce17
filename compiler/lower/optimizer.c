/* Optimizer: the update of each weight by its gradient. */
#include "compiler/lower/training.h"

#include <string.h>

static const char *trained_weight(const Context *context, const Node *node) {
    if (node->op != OP_weight) return NULL;
    uintptr_t index = (uintptr_t)map_get(&context->lowering->stored, node->name);
    return index && context->lowering->program->storage.items[index - 1].trained ? node->name
                                                                                 : NULL;
}

static void update_weight(const Context *context, const Expression *optimizer, NodeId loss,
                          NodeId weight, const char *name) {
    Graph *graph = context->graph;
    Problem problem;
    Range range = optimizer->range;
    NodeId gradient = graph_add(
        graph, (Node){.op = OP_gradient, .inputs = {loss, weight}, .range = range}, &problem);
    if (gradient == NODE_NONE) {
        report(context, problem.code, range, "%s", problem.text);
        return;
    }
    Value first[] = {value_tensor(graph, weight, range), value_tensor(graph, gradient, range)};
    const char *path = arena_format(context->lowering->arena, "optimizer/%s", name);
    Value updated = call_with(context, optimizer, first, 2, path);
    if (updated.kind == VALUE_error) return;
    Type type = graph_node(graph, weight)->type;
    NodeId node = to_node(context, &updated, type.element, range);
    if (node == NODE_NONE) return;
    if (shape_equal(&graph_node(graph, node)->type, &type)) {
        graph_output(graph, OUTPUT_update, name, node, weight);
        return;
    }
    Diagnostic *d = report(context, E0207, range, "the optimizer makes %s of a weight that is %s",
                           type_text(context->lowering->arena, &graph_node(graph, node)->type),
                           type_text(context->lowering->arena, &type));
    diagnostic_note(d, graph_node(graph, weight)->range, "the weight");
}

/* Does a gradient of the node reach that operand? Where ops.def has none, differentiate says so. */
static bool passes_gradient(const Node *node, int operand) {
    const char *gradient = op_info[node->op].gradient;
    if (element_info[node->type.element].class != CLASS_floating) return false;
    if (!gradient) return true;
    for (int i = 0; i < operand && gradient; i++) {
        gradient = strchr(gradient, ';');
        if (gradient) gradient++;
    }
    return gradient && gradient[strspn(gradient, " ")] && gradient[strspn(gradient, " ")] != ';';
}

/* The nodes that a gradient of the loss reaches. */
static const bool *reached_nodes(Arena *arena, const Graph *graph, NodeId loss) {
    bool *reached = arena_new_array(arena, bool, graph->nodes.count + 1);
    reached[loss] = true;
    for (size_t id = (size_t)loss + 1; id-- > 0;) {
        const Node *node = graph_node(graph, (NodeId)id);
        for (int i = 0; reached[id] && i < node->input_count; i++)
            reached[node->inputs[i]] |= passes_gradient(node, i);
    }
    return reached;
}

void lower_optimizer(const Context *context, const Declaration *declaration) {
    const Expression *optimizer = find_entry(declaration, "optimizer")->value;
    Graph *graph = context->graph;
    size_t count = graph->nodes.count;
    bool any = false, learns = false;
    if (!graph->outputs.count) return; /* the loss is broken, and that was reported */
    if (optimizer->kind != EXPRESSION_call) {
        Diagnostic *d = report(context, E0203, optimizer->range, "expects an optimizer");
        diagnostic_help(d, "`adam(1e-3)`, `sgd(0.1)`");
        return;
    }
    NodeId loss = NODE_NONE;
    vector_each(Output, output, graph->outputs)
        if (output->kind == OUTPUT_result && loss == NODE_NONE) loss = output->value;
    if (loss == NODE_NONE) return;
    const bool *reached = reached_nodes(context->lowering->arena, graph, loss);
    for (NodeId id = 0; id < count; id++) {
        const char *name = trained_weight(context, graph_node(graph, id));
        if (!name) continue;
        any = true;
        learns |= reached[id];
        update_weight(context, optimizer, loss, id, name);
    }
    if (learns) return;
    Diagnostic *d = report(context, E0401, find_entry(declaration, "loss")->value->range,
                           any ? "no gradient flows from this loss to a weight"
                               : "the loss depends on no weight: there is nothing to train");
    if (any) diagnostic_help(d, "comparisons, argmax and integers have no gradient");
}
