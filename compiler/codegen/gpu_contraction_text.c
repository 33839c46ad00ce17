/* GPU contraction text: a matrix product in tiles of cuda_matmul.h, with what is fused behind it
 * done on each sum before it is stored, row by row of the tile. */
#include "compiler/codegen/gpu_text.h"
#include "compiler/codegen/gpu_tile.h"

static void write_sums(Writer *writer, Text *text, const char *sum) {
    text_add(text, "    for (int piece = 0; piece < TILE_ROWS / PIECE_ROWS; piece++) {\n"
                   "#include \"cuda_sums.h\"\n");
    text_format(
        text,
        "    for (int n = (int)FLOW_THREAD; n < PIECE_ROWS * TILE_COLUMNS; n += %d) {\n"
        "        const int64_t row = first_row + piece * PIECE_ROWS + n / TILE_COLUMNS;\n"
        "        const int64_t c = first_column + n %% TILE_COLUMNS;\n"
        "        if (row >= ROWS || c >= COLUMNS) continue;\n"
        "        const int64_t r = slice * (ROWS) + row, i = r * %s + c;\n"
        "        const %s sum = FLOW_GET((const %s *)tiles, n / TILE_COLUMNS * SUMS_PITCH + "
        "n %% TILE_COLUMNS);\n"
        "        (void)i;\n",
        GPU_THREADS, writer->columns, sum, sum);
    move_lines(writer, &writer->lines[LEVEL_row], text, 2);
    move_lines(writer, &writer->lines[LEVEL_column], text, 2);
    move_lines(writer, &writer->stores, text, 2);
    text_add(text, "    }\n    }\n#include \"cuda_forget.h\"\n");
}

const char *gpu_contraction_form(const Writer *writer) {
    const GpuTile tile = gpu_tile(writer);
    return arena_format(writer->arena, "%s, a block for each tile of %d x %d",
                        tile.tensor ? "cuda_mma.h" : "cuda_fma.h", tile.rows, tile.columns);
}

const char *write_gpu_contraction(Writer *writer, Text *text) {
    const Loops *loops = writer->loops;
    const GpuTile tile = gpu_tile(writer);
    const char *sum =
        element_info[node_of(writer, writer->kernel->nodes[0])->type.element].computed;
    store_values(writer, INDEX_full);
    const char *left = contraction_address(writer, 0), *right = contraction_address(writer, 1);
    write_gpu_head(writer, text);
    text_format(text, "#define KERNEL %s\n#define ELEMENT %s\n", writer->name, sum);
    write_contraction_parameters(writer, text);
    write_gpu_tile(&tile, text);
    text_format(text,
                "    const STORED *a = (const STORED *)(%s), *b = (const STORED *)(%s);\n"
                "#include \"cuda_matmul.h\"\n",
                left, right);
    write_sums(writer, text, sum);
    write_gpu_tail(writer, text);
    return arena_format(writer->arena, "(%s) * (%s) * (%s)",
                        dim_expression(writer->arena, loops->outer),
                        gpu_blocks(writer, dim_expression(writer->arena, loops->rows), tile.rows),
                        gpu_blocks(writer, writer->columns, tile.columns));
}
