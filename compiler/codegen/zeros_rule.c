/* Which products leave out zeros of their first operand (templates/matmul_zeros.h), and which
 * updates are none where the sums are zero. */
#include "compiler/codegen/writer.h"

#include <string.h>

enum {
    COLUMNS_LEAST = 64, /* fewer don't pay for looking */
    STEPS_MOST = 8,     /* from what is stored to the product */
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
           dim_bound(writer->loops->columns) >= COLUMNS_LEAST && a->first.count <= 1 &&
           a->second.count <= 1 && (is_run(&a->first) || is_run(&a->second));
}

static bool is_one_number(const Writer *writer, NodeId id) {
    const Type *type = &node_of(writer, id)->type;
    return dim_is_one(type_elements(writer->table, type));
}

/* Is the value zero where the product is? Factors are numbers for all elements: one that is not
 * finite shows in those that are computed. */
static bool is_zero(const Writer *writer, NodeId id, NodeId product, int steps) {
    id = strip_reshapes(writer->graph, id);
    if (id == product || !steps) return id == product;
    const Node *node = node_of(writer, id);
    if (node->op == OP_negate) return is_zero(writer, node->inputs[0], product, steps - 1);
    for (int i = 0; node->op == OP_multiply && i < 2; i++)
        if (is_one_number(writer, node->inputs[i]))
            return is_zero(writer, node->inputs[1 - i], product, steps - 1);
    return false;
}

/* Of an update, which goes where the old value is: are they the same then? */
static bool is_old(const Writer *writer, const Node *keep, NodeId product) {
    const NodeId old = strip_reshapes(writer->graph, keep->inputs[2]);
    const Node *new = node_of(writer, strip_reshapes(writer->graph, keep->inputs[1]));
    const int places = new->op == OP_add ? 2 : new->op == OP_subtract;
    for (int i = 0; i < places; i++)
        if (strip_reshapes(writer->graph, new->inputs[i]) == old)
            return is_zero(writer, new->inputs[1 - i], product, STEPS_MOST);
    return false;
}

bool zeros_change_nothing(const Writer *writer) {
    const KernelPlan *kernel = writer->kernel;
    const NodeId product = kernel->nodes[0];
    bool stores = false;
    for (size_t at = 0; at < kernel->node_count; at++) {
        if (!is_stored(writer, kernel->nodes[at])) continue;
        const Node *node = node_of(writer, kernel->nodes[at]);
        if (node->op != OP_keep || !lies_on_old(writer, kernel->nodes[at])) return false;
        if (!is_old(writer, node, product)) return false;
        stores = true;
    }
    return stores;
}
