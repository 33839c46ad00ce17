/* Which products leave out zeros of their first operand (templates/matmul_zeros.h), and which
 * updates are none where the sums are zero. */
#include "compiler/codegen/writer.h"

#include <string.h>

enum {
    COLUMNS = 64, /* at least: fewer don't pay for looking */
    DEEPEST = 8,  /* of the operations between a product and what is stored */
};

bool holds_zeros(const FunctionPlan *plan, const Node *node) {
    vector_each(Input, input, plan->function->inputs)
        if (node->op == OP_input && !strcmp(input->name, node->name)) return input->zeros;
    return false;
}

bool leaves_zeros(const Writer *writer, const ContractionOperand *a) {
    const Node *given = node_of(writer, a->node);
    return given->type.element == TYPE_f32 && holds_zeros(writer->plan, given) &&
           !writer->graph->wishes.exact && !has_triangle(writer->kernel) &&
           dim_bound(writer->loops->columns) >= COLUMNS && a->first.count <= 1 &&
           a->second.count <= 1 && (is_run(&a->first) || is_run(&a->second));
}

/* Is the value zero where the product is, and all else is finite? */
static bool is_zero(const Writer *writer, NodeId id, NodeId product, int depth) {
    id = strip_reshapes(writer->graph, id);
    if (id == product || !depth) return id == product;
    const Node *node = node_of(writer, id);
    switch (node->op) {
    case OP_multiply:
        return is_zero(writer, node->inputs[0], product, depth - 1) ||
               is_zero(writer, node->inputs[1], product, depth - 1);
    case OP_divide:
    case OP_negate: return is_zero(writer, node->inputs[0], product, depth - 1);
    default: return false;
    }
}

/* Of an update: is the new value the old one then? */
static bool is_old(const Writer *writer, const Node *keep, NodeId product) {
    const NodeId old = strip_reshapes(writer->graph, keep->inputs[2]);
    const Node *new = node_of(writer, strip_reshapes(writer->graph, keep->inputs[1]));
    const int places = new->op == OP_add ? 2 : new->op == OP_subtract;
    for (int i = 0; i < places; i++)
        if (strip_reshapes(writer->graph, new->inputs[i]) == old)
            return is_zero(writer, new->inputs[1 - i], product, DEEPEST);
    return false;
}

bool zeros_change_nothing(const Writer *writer) {
    const KernelPlan *kernel = writer->kernel;
    const NodeId product = kernel->nodes[0];
    bool stores = false;
    for (size_t at = 0; at < kernel->node_count; at++) {
        if (!is_stored(writer, kernel->nodes[at])) continue;
        const Node *node = node_of(writer, kernel->nodes[at]);
        if (node->op != OP_keep || !is_old(writer, node, product)) return false;
        stores = true;
    }
    return stores;
}
