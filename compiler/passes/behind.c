/* Behind: what bytes are multiplied with goes behind the products that read them:
 *
 *     (c x) w = c (x w)
 *
 * Batches of images then hold whole numbers, which matrix tiles multiply in half the time
 * (runtime/product/thirds.h), and fewer values are multiplied. The function of a record leaves the
 * factor out, and all that take its batches multiply behind their products, which have to be all
 * that reads the field. What is smaller and added to a product goes in front of the factor:
 *
 *     c (x w) + b = c (x w + b / c)
 *
 * so that what flows back to x w is what flows back to b / c, too, and is stored once. */
#include "compiler/passes/passes.h"

#include "compiler/passes/loops.h"
#include "compiler/passes/readers.h"

#include <string.h>

/* Record function. */

static bool is_of_bytes(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, strip_reshapes(graph, id));
    if (node->op != OP_cast || node->type.element != TYPE_f32) return false;
    const Element from = graph_node(graph, node->inputs[0])->type.element;
    return from == TYPE_u8 || from == TYPE_i8;
}

/* Which operand of a product of bytes and a number is that; -1: it is none. */
static int factor_of(const Graph *graph, const Node *node) {
    for (int i = 0; node->op == OP_multiply && i < 2; i++)
        if (graph_node(graph, node->inputs[i])->op == OP_constant &&
            is_of_bytes(graph, node->inputs[1 - i]))
            return i;
    return -1;
}

static NodeId without_factor(Graph *to, const Graph *from, NodeId id, const NodeId *map) {
    const Node *node = graph_node(from, id);
    if (node->op == OP_multiply) return map[node->inputs[1 - factor_of(from, node)]];
    NodeId operand = without_factor(to, from, node->inputs[0], map);
    return graph_declared(to, OP_reshape, operand, node->type, node->range);
}

/* The result with that number. */
static Graph *result_without(Arena *arena, const Graph *graph, int index) {
    Graph *to = graph_like(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    const Output *changed = record_result(graph, index);
    for (NodeId id = 0; id < graph->nodes.count; id++)
        map[id] = graph_copy_node(to, graph, id, map);
    vector_each(Output, output, graph->outputs) {
        const NodeId value =
            output == changed ? without_factor(to, graph, output->value, map) : map[output->value];
        graph_output(to, output->kind, output->name, value, NODE_NONE);
    }
    return to;
}

/* Functions of batches. */

static NodeId input_of(const Function *function, int index) {
    const Input *input = input_of_field(function, index);
    for (NodeId id = 0; input && id < function->graph->nodes.count; id++) {
        const Node *node = graph_node(function->graph, id);
        if (node->op == OP_input && !strcmp(node->name, input->name)) return id;
    }
    return NODE_NONE;
}

static int64_t most_elements(const Graph *graph, NodeId id) {
    return dim_bound(type_elements(graph->dimensions, &graph_node(graph, id)->type));
}

/* Is the node a product of the input, but for its shape, with something else, and not larger? */
static bool multiplies(const Graph *graph, NodeId id, NodeId input) {
    const Node *node = graph_node(graph, id);
    return node->op == OP_matmul && strip_reshapes(graph, node->inputs[0]) == input &&
           strip_reshapes(graph, node->inputs[1]) != input &&
           most_elements(graph, id) <= most_elements(graph, input);
}

static bool only_products_read(Arena *arena, const Graph *graph, NodeId input) {
    const bool *needed = graph_needed(arena, graph);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        if (!needed[id] || node->op == OP_reshape || multiplies(graph, id, input)) continue;
        for (int i = 0; i < node->input_count; i++)
            if (strip_reshapes(graph, node->inputs[i]) == input) return false;
    }
    vector_each(Output, output, graph->outputs)
        if (strip_reshapes(graph, output->value) == input) return false;
    return true;
}

static NodeId times(Graph *to, NodeId value, double factor, const Node *node) {
    const NodeId number = graph_constant(to, node->type.element, factor, node->range);
    return graph_make(to, OP_multiply, value, number, NODE_NONE, node->range);
}

/* Is b / c a number, if b is? */
static bool may_divide(double factor) {
    return (factor > 1e-6 && factor < 1e6) || (factor > -1e6 && factor < -1e-6);
}

/* Which operand of a sum is a product, and larger than the other one, which may be divided; -1:
 * none is. */
static int product_in_sum(const Graph *graph, const Node *node, NodeId input, double factor) {
    for (int i = 0; node->op == OP_add && may_divide(factor) && i < 2; i++)
        if (multiplies(graph, node->inputs[i], input) &&
            most_elements(graph, node->inputs[1 - i]) < most_elements(graph, node->inputs[i]))
            return i;
    return -1;
}

static Graph *products_with(Arena *arena, const Graph *graph, NodeId input, double factor) {
    Graph *to = graph_like(arena, graph);
    NodeId *map = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    NodeId *products = arena_new_array(arena, NodeId, graph->nodes.count + 1);
    for (NodeId id = 0; id < graph->nodes.count; id++) {
        const Node *node = graph_node(graph, id);
        const int product = product_in_sum(graph, node, input, factor);
        to->placement = node->placement;
        if (product < 0) products[id] = graph_copy_node(to, graph, id, map);
        else {
            Node sum = *node;
            sum.inputs[product] = products[node->inputs[product]];
            sum.inputs[1 - product] = times(to, map[node->inputs[1 - product]], 1 / factor, node);
            products[id] = graph_must_add(to, sum);
        }
        map[id] = products[id];
        if (product >= 0 || multiplies(graph, id, input))
            map[id] = times(to, products[id], factor, node);
        to->placement = (Placement){0};
    }
    graph_copy_outputs(to, graph, map);
    return to;
}

/* Pipelines. */

static bool may_go_behind(Arena *arena, const FunctionList *readers, int field) {
    vector_each(Function *, reader, *readers) {
        const Graph *graph = (*reader)->graph;
        const NodeId input = input_of(*reader, field);
        if (input == NODE_NONE) continue;
        if (is_half(graph->wishes.product) || !only_products_read(arena, graph, input))
            return false;
    }
    return true;
}

static void put_behind(Arena *arena, Function *record, const FunctionList *readers, int field) {
    const Graph *graph = record->graph;
    const Output *result = record_result(graph, field);
    if (!result) return;
    const Node *node = graph_node(graph, strip_reshapes(graph, result->value));
    const int factor = factor_of(graph, node);
    if (factor < 0 || !may_go_behind(arena, readers, field)) return;
    const double number = graph_node(graph, node->inputs[factor])->number;
    vector_each(Function *, reader, *readers) {
        const NodeId input = input_of(*reader, field);
        if (input != NODE_NONE)
            (*reader)->graph = products_with(arena, (*reader)->graph, input, number);
    }
    record->graph = result_without(arena, graph, field);
}

void put_factors_behind(Program *program) {
    vector_each(Pipeline *, pipeline, program->pipelines) {
        Section *section = (*pipeline)->section;
        if (program->exact || !section || section->plain || !section->record.graph) continue;
        const FunctionList readers = find_readers(program->arena, program, *pipeline);
        if (!readers.count || is_read_otherwise(program, *pipeline)) continue;
        for (int field = 0; field < (int)section->outputs.count; field++)
            put_behind(program->arena, &section->record, &readers, field);
    }
}
