/* Verify: what every graph promises. A pass that breaks it is wrong. */
#include "compiler/graph/build.h"
#include "compiler/graph/list.h"
#include "compiler/graph/scan.h"

typedef struct Verifier {
    Arena *arena;
    const Graph *graph;
    bool *updated; /* weights that have their update */
    const char *broken;
} Verifier;

static void broken(Verifier *verifier, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void broken(Verifier *verifier, const char *format, ...) {
    va_list arguments;
    if (verifier->broken) return;
    va_start(arguments, format);
    verifier->broken = arena_format_list(verifier->arena, format, arguments);
    va_end(arguments);
}

static bool has_inputs_before(Verifier *verifier, NodeId id, const Node *node) {
    if (node->input_count != op_info[node->op].arity) {
        broken(verifier, "%%%u has %d operands", id, node->input_count);
        return false;
    }
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= id) {
            broken(verifier, "%%%u uses %%%u before it is there", id, node->inputs[i]);
            return false;
        }
    return true;
}

static void verify_type(Verifier *verifier, NodeId id, const Node *node) {
    Operands operands = {.count = node->input_count, .axes = node->axes, .view = node->view};
    Type type = node->type;
    for (int i = 0; i < node->input_count; i++)
        operands.types[i] = &graph_node(verifier->graph, node->inputs[i])->type;
    Node copy = *node;
    Problem problem = has_list_form(node->op)
                          ? list_infer(verifier->graph, &copy)
                          : op_infer(verifier->graph->dimensions, node->op, &operands, &type);
    if (has_list_form(node->op)) type = copy.type;
    if (problem.text) broken(verifier, "%%%u: %s", id, problem.text);
    else if (!type_equal(&type, &node->type))
        broken(verifier, "%%%u is %s, not %s", id, type_text(verifier->arena, &type),
               type_text(verifier->arena, &node->type));
}

static void verify_node(Verifier *verifier, NodeId id) {
    const Node *node = graph_node(verifier->graph, id);
    if ((unsigned)node->op >= OP_COUNT) {
        broken(verifier, "%%%u has no op", id);
        return;
    }
    if (!has_inputs_before(verifier, id, node)) return;
    bool named = node->op == OP_input || node->op == OP_weight || node->op == OP_check;
    if (named && !node->name) broken(verifier, "%%%u has no name", id);
    if (node->kernel < NO_KERNEL || (node->kernel >= verifier->graph->kernel_count))
        broken(verifier, "%%%u is in kernel %d of %d", id, node->kernel,
               verifier->graph->kernel_count);
    const char *inside = node->op == OP_scan ? scan_verify(verifier->arena, node->scan) : NULL;
    if (inside) broken(verifier, "%%%u: %s", id, inside);
    verify_type(verifier, id, node);
}

static void verify_update(Verifier *verifier, const Output *output) {
    const Graph *graph = verifier->graph;
    if (output->target >= graph->nodes.count ||
        graph_node(graph, output->target)->op != OP_weight) {
        broken(verifier, "update \"%s\" is not of a weight", output->name);
        return;
    }
    const Type *target = &graph_node(graph, output->target)->type;
    const Type *value = &graph_node(graph, output->value)->type;
    if (!type_equal(value, target))
        broken(verifier, "update \"%s\" has type %s, its weight %s", output->name,
               type_text(verifier->arena, value), type_text(verifier->arena, target));
    if (verifier->updated[output->target])
        broken(verifier, "update \"%s\" is not the first of its weight", output->name);
    verifier->updated[output->target] = true;
}

static void verify_output(Verifier *verifier, const Output *output) {
    if (!output->name) broken(verifier, "an output has no name");
    else if (output->value >= verifier->graph->nodes.count)
        broken(verifier, "output \"%s\" has no value", output->name);
    else if (output->kind == OUTPUT_update) verify_update(verifier, output);
}

const char *graph_verify(Arena *arena, const Graph *graph) {
    Verifier verifier = {arena, graph, arena_new_array(arena, bool, graph->nodes.count + 1), NULL};
    for (NodeId id = 0; id < graph->nodes.count && !verifier.broken; id++)
        verify_node(&verifier, id);
    vector_each(Output, output, graph->outputs) verify_output(&verifier, output);
    return verifier.broken;
}
