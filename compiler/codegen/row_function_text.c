/* Row function text: a function of templates/row.h on each row. */
#include "compiler/codegen/writer.h"

KernelOperands write_row_function_kernel(Text *text, const FunctionPlan *plan, int kernel,
                                         const char *name) {
    Writer writer = new_writer(text->arena, plan, kernel, name);
    NodeId id = writer.kernel->nodes[0];
    const Node *node = node_of(&writer, id);
    NodeId from = strip_reshapes(writer.graph, node->inputs[0]);
    const char *a = pointer_to(&writer, from, false), *y = pointer_to(&writer, id, true);
    write_head(&writer, text);
    text_format(text,
                "    for (int64_t r = first; r < last; r++)\n"
                "        flow_%s_%s(%s + r * %s, %s + r * %s, %s);\n}\n\n",
                op_info[node->op].name, element_info[node_of(&writer, from)->type.element].name, a,
                writer.columns, y, writer.columns, writer.columns);
    return writer.operands;
}
