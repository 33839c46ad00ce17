/* GPU tile: as large as the results are, which saves loads; but as small as it takes to give each
 * multiprocessor a tile, or, of those that groups of warps multiply, every other one. */
#include "compiler/codegen/gpu_tile.h"

#include "compiler/passes/operand.h"
#include "runtime/device/launch_limits.h"

#include <math.h>

enum {
    MOST = 128, /* rows or columns of a tile: 8 x 8 sums are a thread's */
    MOST_WIDE = 64,
    LEAST = 32,
    LEAST_TENSOR_ROWS = 64, /* four warps of 16 */
    VECTOR_SIZE = 16,       /* bytes */
};

int gpu_tiles_enough = 128;

static int side_of(int64_t size, int least, int most) {
    int side = least;
    while (side < most && side < size) side *= 2;
    return side;
}

static double tiles_of(const Loops *loops, const GpuTile *tile) {
    int64_t rows = dim_bound(loops->rows), columns = dim_bound(loops->columns);
    return (double)tile->parts * (double)dim_bound(loops->outer) *
           (double)((rows - 1) / tile->rows + 1) * (double)((columns - 1) / tile->columns + 1);
}

/* Two groups of four warps have 64 rows each. */
static int group_columns(const GpuTile *tile) {
    bool fits = tile->rows >= 64 && tile->columns >= 64;
    int columns = tile->rows * tile->columns / 128;
    return fits && columns >= 64 ? columns : 0;
}

/* Are they the smallest ones that groups of warps multiply? These do so much more at once that half
 * as many tiles do. */
static bool is_least_of_groups(const GpuTile *tile) {
    return is_half(tile->stored) && tile->a.vector > 1 && tile->b.vector > 1 &&
           group_columns(tile) == 64;
}

static void choose_sides(const Loops *loops, int size, GpuTile *tile) {
    int least = tile->tensor ? LEAST_TENSOR_ROWS : LEAST, most = size > 4 ? MOST_WIDE : MOST;
    tile->rows = side_of(dim_bound(loops->rows), least, most);
    tile->columns = side_of(dim_bound(loops->columns), LEAST, most);
    while (tiles_of(loops, tile) < gpu_tiles_enough &&
           (tile->rows > least || tile->columns > LEAST)) {
        if (is_least_of_groups(tile) && tiles_of(loops, tile) * 2 >= gpu_tiles_enough) return;
        if (tile->rows > least && (tile->rows >= tile->columns || tile->columns == LEAST))
            tile->rows /= 2;
        else tile->columns /= 2;
    }
}

static bool is_multiple(Dim dim, int64_t of) {
    int64_t value;
    return dim_is_constant(dim, &value) && value % of == 0;
}

static bool ends_in_steps_of_one(const Digits *digits) {
    int64_t stride;
    return digits->count && dim_is_constant(digits->items[digits->count - 1].stride, &stride) &&
           stride == 1;
}

/* Do all places lie at multiples, but for what the last digit adds, if it is along? */
static bool lies_at_multiples(const Digits *digits, int64_t of, bool along) {
    int last = digits->count - along;
    for (int i = 0; i < last; i++)
        if (!is_multiple(digits->items[i].stride, of)) return false;
    return !along || is_multiple(digits->items[last].size, of);
}

static GpuSide side(const ContractionOperand *operand, const Digits *lines, const Digits *depths,
                    bool by_depth, int vector) {
    bool along_depth = ends_in_steps_of_one(depths), along_lines = ends_in_steps_of_one(lines);
    if (along_depth != along_lines) by_depth = along_depth;
    bool fits = (along_depth || along_lines) && is_multiple(operand->start, vector) &&
                lies_at_multiples(&operand->outer, vector, false) &&
                lies_at_multiples(lines, vector, !by_depth) &&
                lies_at_multiples(depths, vector, by_depth);
    return (GpuSide){.by_depth = by_depth, .vector = fits ? vector : 1};
}

int gpu_vector(const Writer *writer, const ContractionOperand *operand, const Digits *lines,
               const Digits *depths) {
    if (writer->plan->function->of_record) return 1; /* records lie one after the other */
    const int size = (int)element_info[node_of(writer, operand->node)->type.element].size;
    const GpuSide found = side(operand, lines, depths, true, VECTOR_SIZE / size);
    return found.by_depth ? found.vector : 1;
}

/* The largest place that a loop's index adds. */
static double reach(const Digits *digits) {
    double sum = 0;
    for (int i = 0; i < digits->count; i++)
        sum += fabs((double)dim_bound(digits->items[i].size) *
                    (double)dim_bound(digits->items[i].stride));
    return sum;
}

static bool is_small(const ContractionOperand *operand) {
    return (double)dim_bound(operand->start) + reach(&operand->outer) + reach(&operand->first) +
               reach(&operand->second) <
           INT32_MAX;
}

/* Of so many elements, some bytes apart from each other; what is not a step of one, or of none for
 * several slices of the same, lies at multiples of 16 bytes. */
static bool is_axis(const Digit *digit, bool repeats) {
    int64_t stride;
    return dim_is_constant(digit->stride, &stride) && stride >= !repeats &&
           dim_bound(digit->size) < INT32_MAX;
}

static bool is_tensor(const ContractionOperand *operand) {
    bool fits = operand->first.count == 1 && operand->second.count == 1 &&
                operand->outer.count + 2 <= FLOW_TENSOR_RANK &&
                is_axis(&operand->first.items[0], false) &&
                is_axis(&operand->second.items[0], false);
    for (int i = 0; i < operand->outer.count; i++) fits &= is_axis(&operand->outer.items[i], true);
    return fits;
}

/* Records lie one after the other, and so do the slices of turns. */
static bool is_aligned(const Writer *writer, NodeId id) {
    const Function *function = writer->plan->function;
    const Type *type = &node_of(writer, id)->type;
    int64_t columns;
    if (makes_records(function)) return false;
    if (!function->of_turn || writer->plan->places[id].kind == PLACE_memory) return true;
    return type->rank && dim_is_constant(type->dims[type->rank - 1], &columns) &&
           columns * element_info[type->element].size % VECTOR_SIZE == 0;
}

/* Two blocks of a multiprocessor share 227 KiB, but for the largest tiles. */
static void choose_ring(const Writer *writer, const Loops *loops, GpuTile *tile) {
    if (!tile->group_columns || writer->plan->function->of_turn || tile->a.vector == 1 ||
        tile->b.vector == 1 || !tile->a.is_tensor || !tile->b.is_tensor)
        return;
    GpuTile wide = *tile;
    wide.columns *= 2;
    tile->ring_columns = tile->columns;
    if (tile->rows == MOST && tile->columns == MOST && dim_bound(loops->columns) > MOST &&
        tiles_of(loops, &wide) >= gpu_tiles_enough)
        tile->ring_columns = wide.columns;
    tile->ring = tile->rows + tile->ring_columns == 2 * MOST ? 3 : 4;
}

int gpu_ring_abreast(const GpuTile *tile) {
    return tile->ring_columns > MOST ? 1 : 2;
}

int gpu_ring_size(const GpuTile *tile) {
    enum { DEEP = 64, GATE = 8 };
    return tile->ring * ((tile->rows + tile->ring_columns) * DEEP * 2 + 2 * GATE);
}

GpuTile gpu_tile(const Writer *writer) {
    const Loops *loops = writer->loops;
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    ContractionOperand a = contraction_operand(writer->graph, matmul, 0);
    ContractionOperand b = contraction_operand(writer->graph, matmul, 1);
    Element stored = node_of(writer, a.node)->type.element;
    int size = (int)element_info[stored].size;
    const bool tf32 = stored == TYPE_f32 && writer->graph->wishes.tf32;
    GpuTile tile = {
        .tensor = is_half(stored) || tf32,
        .product = tf32 ? "tf32" : element_info[stored].name,
        .parts = writer->kernel->parts,
        .small = is_small(&a) && is_small(&b) && dim_bound(loops->depth) < INT32_MAX / 2 &&
                 dim_bound(loops->rows) < INT32_MAX / 2 &&
                 dim_bound(loops->columns) < INT32_MAX / 2,
        .stored = stored,
        .a = side(&a, &a.first, &a.second, true,
                  is_aligned(writer, a.node) ? VECTOR_SIZE / size : 1),
        .b = side(&b, &b.second, &b.first, false,
                  is_aligned(writer, b.node) ? VECTOR_SIZE / size : 1),
    };
    tile.a.is_tensor = is_tensor(&a);
    tile.b.is_tensor = is_tensor(&b);
    choose_sides(loops, size, &tile);
    tile.group_columns = is_half(stored) ? group_columns(&tile) : 0;
    choose_ring(writer, loops, &tile);
    return tile;
}

static void write_ring(const GpuTile *tile, Text *text) {
    const char *element = element_info[tile->stored].name;
    const int columns = tile->ring_columns / (tile->rows > 64 ? 1 : 2);
    text_format(text, "#define TENSOR_RING %d\n#define IN_RING (TENSOR_RING && FLOW_WARPGROUPS)\n",
                tile->ring);
    if (!tile->ring) {
        text_format(text, "#define TILE_COLUMNS %d\n", tile->columns);
        return;
    }
    text_format(text,
                "#define TILE_COLUMNS (FLOW_WARPGROUPS ? %d : %d)\n"
                "#define MULTIPLY_RING FLOW_GROUP_%s_%d\n#define RING_BYTES %d\n",
                tile->ring_columns, tile->columns, element, columns, gpu_ring_size(tile));
}

void write_gpu_tile(const GpuTile *tile, Text *text) {
    text_format(text,
                "#define TENSOR %d\n#define TENSOR_GROUP %d\n"
                "#define TILE_ROWS %d\n"
                "#define INDEX %s\n#define MULTIPLY FLOW_MULTIPLY_%s\n"
                "#define MULTIPLY_GROUP FLOW_GROUP_%s_%d\n"
                "#define A_BY_DEPTH %d\n#define A_VECTOR %d\n"
                "#define B_BY_DEPTH %d\n#define B_VECTOR %d\n",
                tile->tensor, tile->group_columns > 0, tile->rows,
                tile->small ? "int32_t" : "int64_t", tile->product, element_info[tile->stored].name,
                tile->group_columns, tile->a.by_depth, tile->a.vector, tile->b.by_depth,
                tile->b.vector);
    write_ring(tile, text);
}
