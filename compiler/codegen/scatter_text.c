/* Scatter text: sums at places that are data. Each thread owns a run of the result's rows, makes it
 * 0, and goes over all indices in order; it adds what belongs to its rows. */
#include "compiler/codegen/writer.h"

static void write_body(Writer *writer, Text *text, const char *y, const char *place) {
    text_format(text,
                "    for (int64_t i = first * %s; i < last * %s; i++) %s[i] = 0;\n"
                "    for (int64_t r = 0; r < %s; r++) {\n",
                writer->columns, writer->columns, y,
                dim_expression(writer->arena, writer->loops->rows));
    move_lines(writer, &writer->lines[LEVEL_row], text, 2);
    text_format(text,
                "        if (%s < first || %s >= last) continue;\n"
                "        for (int64_t c = 0; c < %s; c++) {\n"
                "            const int64_t i = r * %s + c, o = (int64_t)%s * %s + c;\n"
                "            (void)i;\n",
                place, place, writer->columns, writer->columns, place, writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], text, 3);
    move_lines(writer, &writer->stores, text, 3);
    text_add(text, "        }\n    }\n}\n\n");
}

KernelOperands write_scatter_kernel(Text *text, const FunctionPlan *plan, int kernel) {
    Writer writer = new_writer(text->arena, plan, kernel);
    NodeId id = writer.kernel->nodes[0];
    const Node *node = node_of(&writer, id);
    const char *place = value_of(&writer, node->inputs[0], plain_index(&writer, INDEX_row));
    const char *update = value_of(&writer, node->inputs[1], plain_index(&writer, INDEX_full));
    const char *y = pointer_to(&writer, id, true);
    const char *sum = arena_format(text->arena, "%s + %s", load_text(&writer, id, "o"), update);
    text_add(&writer.stores, store_text(&writer, id, "o", sum));
    write_head(&writer, text);
    write_body(&writer, text, y, place);
    return writer.operands;
}
