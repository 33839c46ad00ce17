/* GPU ring text: both operands of a product as tensors, whose boxes the GPU brings by itself
 * (templates/cuda_ring.h): for its kernel where a tile lies in them, for the host what they are.
 * Their dimensions: what lies element by element, then what goes across that and those of slices
 * that are not the same for all, by their strides, as CUDA's driver API has them. */
#include "compiler/codegen/gpu_text.h"
#include "compiler/codegen/gpu_tile.h"
#include "runtime/device/launch_limits.h"

typedef struct Axis {
    Dim size;
    int64_t stride;
    const char *index; /* where a box begins */
    int box;
} Axis;

typedef struct Side {
    ContractionOperand operand;
    int count;
    Axis axes[FLOW_TENSOR_RANK];
} Side;

/* The first one stays the first. */
static void add_axis(Side *side, const Digit *digit, const char *index, int box) {
    Axis axis = {.size = digit->size, .index = index, .box = box};
    int at = side->count++;
    dim_is_constant(digit->stride, &axis.stride);
    for (; at > 1 && side->axes[at - 1].stride > axis.stride; at--)
        side->axes[at] = side->axes[at - 1];
    side->axes[at] = axis;
}

static void add_slices(Writer *writer, Side *side) {
    const Digits *outer = &side->operand.outer;
    Arena *arena = writer->arena;
    Dim below = dim_constant(writer->table, 1); /* slices that go by before its index changes */
    int64_t stride;
    for (int i = outer->count - 1; i >= 0; i--) {
        const Digit *digit = &outer->items[i];
        const char *index =
            arena_format(arena, "(int32_t)(slice / (%s) %% (%s))", dim_expression(arena, below),
                         dim_expression(arena, digit->size));
        if (dim_is_constant(digit->stride, &stride) && stride) add_axis(side, digit, index, 1);
        below = dim_multiply(writer->table, below, digit->size);
    }
}

static Side side_of(Writer *writer, const GpuTile *tile, int which) {
    enum { WIDE = 64 /* halves that a swizzle takes */ };
    const Node *matmul = node_of(writer, writer->kernel->nodes[0]);
    const bool by_depth = which ? tile->b.by_depth : tile->a.by_depth;
    Side side = {.operand = contraction_operand(writer->graph, matmul, which)};
    const ContractionOperand *operand = &side.operand;
    const bool first = which ? by_depth : !by_depth;
    const int lines = which ? tile->ring_columns : tile->rows;
    add_axis(&side, first ? operand->first.items : operand->second.items, "x", WIDE);
    add_axis(&side, first ? operand->second.items : operand->first.items, "y",
             by_depth ? lines : WIDE);
    add_slices(writer, &side);
    return side;
}

static void write_box(Text *text, const Side *side, int which) {
    text_format(text, "#define %c_BOX(to, gates, i, x, y) FLOW_BRING_%d(to, gates, i, %d",
                which ? 'B' : 'A', side->count, which);
    for (int i = 0; i < side->count; i++) text_format(text, ", %s", side->axes[i].index);
    text_add(text, ")\n");
}

static void write_tensor(Writer *writer, Text *text, const Side *side) {
    Arena *arena = writer->arena;
    Text sizes = text_new(arena), strides = text_new(arena), box = text_new(arena);
    for (int i = 0; i < side->count; i++) {
        const Axis *axis = &side->axes[i];
        const char *comma = i ? ", " : "";
        text_format(&sizes, "%s%s", comma, dim_expression(arena, axis->size));
        text_format(&strides, "%s%lld", comma, (long long)axis->stride);
        text_format(&box, "%s%d", comma, axis->box);
    }
    text_format(text, "{%s, 2 * (%s), %d, {%s}, {%s}, {%s}}",
                operand_of_place(writer, writer->plan->places[side->operand.node]),
                dim_expression(arena, side->operand.start), side->count, text_string(&sizes),
                text_string(&strides), text_string(&box));
}

void write_gpu_ring(Writer *writer, Text *text, const GpuTile *tile, const char *blocks) {
    Text ring = text_new(writer->arena);
    text_format(&ring, "{%s, FLOW_RING_THREADS, %d, {", blocks, gpu_ring_size(tile));
    for (int which = 0; which < 2; which++) {
        const Side side = side_of(writer, tile, which);
        write_box(text, &side, which);
        text_add(&ring, which ? ", " : "");
        write_tensor(writer, &ring, &side);
    }
    text_add(&ring, "}}");
    writer->ring.text = text_string(&ring);
}
