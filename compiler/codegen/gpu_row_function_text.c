/* GPU row function text: a function of templates/row.h, on each row by one thread. */
#include "compiler/codegen/gpu_text.h"

const char *write_gpu_row_function(Writer *writer, Text *text) {
    NodeId id = writer->kernel->nodes[0];
    const Node *node = node_of(writer, id);
    NodeId from = strip_reshapes(writer->graph, node->inputs[0]);
    const char *a = pointer_to(writer, from, false), *y = pointer_to(writer, id, true);
    const char *rows = dim_expression(writer->arena, writer->loops->rows);
    write_gpu_head(writer, text);
    text_format(text,
                "    const int64_t r = FLOW_BLOCK * %d + FLOW_THREAD;\n"
                "    if (r >= %s) return;\n"
                "    flow_%s_%s(%s + r * %s, %s + r * %s, %s%s);\n",
                GPU_THREADS, rows, op_info[node->op].name,
                element_info[node_of(writer, from)->type.element].name, a, writer->columns, y,
                writer->columns, writer->columns, places_argument(writer, id));
    write_gpu_tail(writer, text);
    return gpu_blocks(writer, rows, GPU_THREADS);
}
