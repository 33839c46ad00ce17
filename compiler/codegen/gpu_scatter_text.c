/* GPU scatter text: sums at places that are data. A thread has a column of the result: it makes it
 * 0 and adds the updates in their order, so that the same bits come out each time. */
#include "compiler/codegen/gpu_text.h"

const char *write_gpu_scatter(Writer *writer, Text *text) {
    NodeId id = writer->kernel->nodes[0];
    const Node *node = node_of(writer, id);
    const char *place = value_of(writer, node->inputs[0], plain_index(writer, INDEX_row));
    const char *update = value_of(writer, node->inputs[1], plain_index(writer, INDEX_full));
    const char *sum = arena_format(text->arena, "%s + %s", load_text(writer, id, "o"), update);
    text_add(&writer->stores, store_text(writer, id, "o", sum));
    const char *zero =
        store_text(writer, id, arena_format(text->arena, "d * %s + c", writer->columns), "0");
    const char *depth = dim_expression(writer->arena, writer->loops->depth);
    write_gpu_head(writer, text);
    text_format(text,
                "    const int64_t c = FLOW_BLOCK * %d + FLOW_THREAD;\n"
                "    if (c >= %s) return;\n"
                "    for (int64_t d = 0; d < %s; d++) %s"
                "    for (int64_t r = 0; r < %s; r++) {\n",
                GPU_THREADS, writer->columns, depth, zero,
                dim_expression(writer->arena, writer->loops->rows));
    move_lines(writer, &writer->lines[LEVEL_row], text, 2);
    text_format(text,
                "        if ((int64_t)%s < 0 || %s >= %s) continue;\n"
                "        const int64_t i = r * %s + c, o = (int64_t)%s * %s + c;\n"
                "        (void)i;\n",
                place, place, depth, writer->columns, place, writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], text, 2);
    move_lines(writer, &writer->stores, text, 2);
    text_add(text, "    }\n");
    write_gpu_tail(writer, text);
    return gpu_blocks(writer, writer->columns, GPU_THREADS);
}
