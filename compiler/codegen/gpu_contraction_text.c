/* GPU contraction text: a matrix product in tiles of cuda_matmul.h, with what is fused behind it
 * done on each sum before it is stored. */
#include "compiler/codegen/gpu_text.h"

const char *write_gpu_contraction(Writer *writer, Text *text) {
    const Loops *loops = writer->loops;
    const char *sum =
        element_info[node_of(writer, writer->kernel->nodes[0])->type.element].computed;
    store_values(writer, INDEX_full);
    const char *left = contraction_address(writer, 0), *right = contraction_address(writer, 1);
    write_gpu_head(writer, text);
    text_format(text, "#define KERNEL %s\n#define ELEMENT %s\n", writer->name, sum);
    write_contraction_parameters(writer, text);
    text_format(text,
                "    const STORED *a = (const STORED *)(%s), *b = (const STORED *)(%s);\n"
                "#include \"cuda_matmul.h\"\n"
                "    FLOW_UNROLL for (int n = 0; n < 16; n++) {\n"
                "        const int64_t row = first_row + down + n / 4 * 16;\n"
                "        const int64_t c = first_column + across + n %% 4 * 16;\n"
                "        if (row >= slice_rows || c >= slice_columns) continue;\n"
                "        const int64_t r = slice * slice_rows + row, i = r * %s + c;\n"
                "        const %s sum = sums[n / 4][n %% 4];\n"
                "        (void)i;\n",
                left, right, writer->columns, sum);
    move_lines(writer, &writer->lines[LEVEL_row], text, 2);
    move_lines(writer, &writer->lines[LEVEL_column], text, 2);
    move_lines(writer, &writer->stores, text, 2);
    text_add(text, "    }\n");
    write_gpu_tail(writer, text);
    return arena_format(writer->arena, "(%s) * (%s) * (%s)",
                        dim_expression(writer->arena, loops->outer),
                        gpu_blocks(writer, dim_expression(writer->arena, loops->rows), 64),
                        gpu_blocks(writer, writer->columns, 64));
}
