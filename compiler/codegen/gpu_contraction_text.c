/* GPU contraction text: a matrix product in tiles of cuda_matmul.h, with what is fused behind it
 * done on each sum before it is stored, row by row of the tile. */
#include "compiler/codegen/gpu_text.h"
#include "compiler/codegen/gpu_tile.h"

/* Sums of a tile whose operands a thread loads at once; blocks that share a multiprocessor's
 * registers have few to spare. */
static int sums_ahead(const Writer *writer) {
    return writer->ring.abreast > 1 ? gpu_ahead(writer, 8, 16) : gpu_ahead(writer, 16, 48);
}

/* Where element u lies in the tile. Most often a thread has one column of it; where tiles end as
 * the results do, nothing lies outside. */
static const char sum_place[] =
    "            const int n = first + u * %d + (int)FLOW_THREAD;\n"
    "            const int down = %d %% TILE_COLUMNS ? n / TILE_COLUMNS\n"
    "                                                 : (int)FLOW_THREAD / TILE_COLUMNS +\n"
    "                                                       (first / %d + u) * (%d / "
    "TILE_COLUMNS);\n"
    "            const int across = %d %% TILE_COLUMNS ? n %% TILE_COLUMNS : (int)FLOW_THREAD %% "
    "TILE_COLUMNS;\n"
    "            const int64_t row = first_row + piece * PIECE_ROWS + down;\n"
    "            const int64_t c = first_column + across;\n"
    "            const int64_t r = slice * (ROWS) + row, i = r * %s + c;\n"
    "            (void)i;\n"
    "            if (PIECE_ROWS * TILE_COLUMNS %% (%d * AHEAD) && n >= PIECE_ROWS * TILE_COLUMNS) "
    "continue;\n"
    "            if (((ROWS) %% TILE_ROWS || (COLUMNS) %% TILE_COLUMNS) && (row >= ROWS || c >= "
    "COLUMNS)) continue;\n";

void write_gpu_sums(Writer *writer, Text *text, const char *sum) {
    const int count = sums_ahead(writer), all = GPU_THREADS;
    const char *head =
        arena_format(writer->arena, sum_place, all, all, all, all, all, writer->columns, all);
    const char *own = arena_format(
        writer->arena,
        "            const %s sum = FLOW_GET((const %s *)tiles, down * SUMS_PITCH + across);\n",
        sum, sum);
    text_format(text,
                "    enum { AHEAD = PIECE_ROWS * TILE_COLUMNS < %d ? PIECE_ROWS * TILE_COLUMNS / "
                "%d : %d };\n"
                "    for (int piece = 0; piece < TILE_ROWS / PIECE_ROWS; piece++) {\n"
                "#include \"cuda_sums.h\"\n"
                "    for (int first = 0; first < PIECE_ROWS * TILE_COLUMNS; first += %d * AHEAD) "
                "{\n",
                count * all, all, count, all);
    write_gpu_ahead(writer, text, 2, head, own, count, NULL);
    text_add(text, "    }\n    }\n#include \"cuda_forget.h\"\n");
}

/* columns: of a tile. */
static const char *tile_blocks(Writer *writer, int columns) {
    const Loops *loops = writer->loops;
    const GpuTile tile = gpu_tile(writer);
    return arena_format(writer->arena, "%d * (%s) * (%s) * (%s)", tile.parts,
                        dim_expression(writer->arena, loops->outer),
                        gpu_blocks(writer, dim_expression(writer->arena, loops->rows), tile.rows),
                        gpu_blocks(writer, writer->columns, columns));
}

/* Sums of a tile are added up, and the writer's lines take them. */
static void write_tile_loops(Writer *writer, Text *text, const char *sum) {
    const GpuTile tile = gpu_tile(writer);
    const char *left = contraction_address(writer, 0), *right = contraction_address(writer, 1);
    text_format(text, "#define KERNEL %s\n#define ELEMENT %s\n", MARK_KERNEL, sum);
    write_contraction_parameters(writer, text);
    write_gpu_tile(&tile, text);
    if (tile.ring) write_gpu_ring(writer, text, &tile, tile_blocks(writer, tile.ring_columns));
    text_format(text,
                "#if !IN_RING\n"
                "    const STORED *a = (const STORED *)(%s), *b = (const STORED *)(%s);\n"
                "#endif\n"
                "#include \"cuda_matmul.h\"\n",
                left, right);
    write_gpu_sums(writer, text, sum);
}

static const char *results_of(const Writer *writer) {
    return arena_format(writer->arena, "(%s) * (%s) * %s",
                        dim_expression(writer->arena, writer->loops->outer),
                        dim_expression(writer->arena, writer->loops->rows), writer->columns);
}

/* The kernel that leaves the sums of parts at `place`; the writer's lines are the next one's. */
static void write_parts(Writer *writer, Text *text, const char *sum, const char *place) {
    const Text row = writer->lines[LEVEL_row], column = writer->lines[LEVEL_column];
    const Text stores = writer->stores;
    writer->lines[LEVEL_row] = writer->lines[LEVEL_column] = text_new(writer->arena);
    writer->stores = text_new(writer->arena);
    text_format(&writer->stores, "FLOW_STORE((%s *)(%s), part * (%s) + i, sum);\n", sum, place,
                results_of(writer));
    write_gpu_start(writer, text, "_parts");
    write_tile_loops(writer, text, sum);
    text_add(text, "}\n\n");
    writer->lines[LEVEL_row] = row, writer->lines[LEVEL_column] = column;
    writer->stores = stores;
}

/* The one that goes on from there, an element a thread. */
static const char *write_joined(Writer *writer, Text *text, const char *sum, const char *place) {
    const char *count = results_of(writer);
    write_gpu_head(writer, text);
    text_format(
        text,
        "    const int64_t i = FLOW_BLOCK * %d + FLOW_THREAD;\n"
        "    if (i >= %s) return;\n"
        "    const int64_t r = i / %s, c = i - r * %s;\n"
        "    const %s *parts = (const %s *)(%s);\n"
        "    %s sum = 0;\n"
        "    (void)r, (void)c;\n"
        "    for (int part = 0; part < %d; part++) sum += FLOW_LOAD(parts, part * (%s) + i);\n",
        GPU_THREADS, count, writer->columns, writer->columns, sum, sum, place, sum,
        writer->kernel->parts, count);
    move_lines(writer, &writer->lines[LEVEL_row], text, 1);
    move_lines(writer, &writer->lines[LEVEL_column], text, 1);
    move_lines(writer, &writer->stores, text, 1);
    write_gpu_tail(writer, text);
    return gpu_blocks(writer, count, GPU_THREADS);
}

static const char *ring_form(const Writer *writer, const GpuTile *tile) {
    return arena_format(writer->arena,
                        "cuda_ring.h on sm_90 (wgmma of %d x %d, TMA, ring of %d), cuda_mma.h from "
                        "sm_80 on",
                        tile->rows, tile->ring_columns, tile->ring);
}

const char *gpu_contraction_form(const Writer *writer) {
    if (writer->kernel->attention) return gpu_attention_form(writer);
    const GpuTile tile = gpu_tile(writer);
    const char *parts =
        tile.parts > 1 ? arena_format(writer->arena, ", of %d parts of the depth", tile.parts) : "";
    const char *file = tile.group_columns ? "cuda_wgmma.h on sm_90, cuda_mma.h from sm_80 on"
                       : tile.tensor && tile.stored == TYPE_f32
                           ? "cuda_mma.h in tf32 from sm_80 on, else cuda_fma.h in f32"
                       : tile.tensor ? "cuda_mma.h from sm_80 on"
                                     : "cuda_fma.h";
    if (tile.ring) file = ring_form(writer, &tile);
    return arena_format(writer->arena, "%s, a block for each tile of %d x %d%s", file, tile.rows,
                        tile.columns, parts);
}

const char *write_gpu_contraction(Writer *writer, Text *text) {
    const KernelPlan *kernel = writer->kernel;
    if (kernel->attention) return write_gpu_attention(writer, text);
    const char *sum = element_info[node_of(writer, kernel->nodes[0])->type.element].computed;
    const GpuTile tile = gpu_tile(writer);
    if (tile.ring)
        writer->ring = (GpuRing){.kernel = kernel->parts > 1 ? "_parts" : "",
                                 .abreast = gpu_ring_abreast(&tile)};
    store_values(writer, INDEX_full);
    if (kernel->parts > 1) {
        const char *place = address_of_place(writer, (Place){PLACE_memory, kernel->parts_sums, -1});
        write_parts(writer, text, sum, place);
        writer->parts_blocks = tile_blocks(writer, tile.columns);
        return write_joined(writer, text, sum, place);
    }
    write_gpu_head(writer, text);
    write_tile_loops(writer, text, sum);
    write_gpu_tail(writer, text);
    return tile_blocks(writer, tile.columns);
}
