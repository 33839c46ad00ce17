/* Zeros: images are black at their sides, and of truths, as of a one-hot vector, most are false.
 * Which fields of batches are made of bytes or truths, and may be zero in many places, is noted for
 * the functions that read them: their products may leave zeros out (matmul_zeros.h). */
#include "compiler/passes/passes.h"

#include "compiler/passes/loops.h"
#include "compiler/passes/readers.h"

static bool is_number(const Graph *graph, NodeId id) {
    return graph_node(graph, id)->op == OP_constant;
}

/* A cast of bytes or truths, which a number may multiply. */
static bool has_zeros(const Graph *graph, NodeId id) {
    const Node *node = graph_node(graph, strip_reshapes(graph, id));
    if (node->op == OP_multiply && is_number(graph, node->inputs[0]))
        return has_zeros(graph, node->inputs[1]);
    if (node->op == OP_multiply && is_number(graph, node->inputs[1]))
        return has_zeros(graph, node->inputs[0]);
    if (node->op != OP_cast) return false;
    const Element from = graph_node(graph, node->inputs[0])->type.element;
    return from == TYPE_u8 || from == TYPE_i8 || from == TYPE_bool;
}

void note_zeros(Program *program) {
    vector_each(Pipeline *, pipeline, program->pipelines) {
        const Section *section = (*pipeline)->section;
        if (!section || section->plain || !section->record.graph) continue;
        const FunctionList readers = find_readers(program->arena, program, *pipeline);
        for (int field = 0; field < (int)section->outputs.count; field++) {
            const Output *result = record_result(section->record.graph, field);
            const bool zeros = result && has_zeros(section->record.graph, result->value);
            vector_each(Function *, reader, readers) {
                Input *input = input_of_field(*reader, field);
                if (input) input->zeros = zeros;
            }
        }
    }
}
