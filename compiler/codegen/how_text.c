/* How text: it asks those who write the kernel. */
#include "compiler/codegen/how.h"

#include "compiler/codegen/gpu_text.h"

#include "compiler/codegen/names.h"
#include "compiler/codegen/templates/loops.h"
#include "compiler/codegen/writer.h"
#include "compiler/passes/operand.h"

typedef struct Vectors {
    const char *name;
    int bytes, registers;
} Vectors;

enum { KINDS = 4 };

/* As FLOW_OF_VECTORS takes them. */
static const Vectors kinds[KINDS] = {
    {"AVX-512", 64, 32}, {"AVX", 32, 16}, {"SSE", 16, 16}, {"NEON", 16, 32}};

static const char *tile_text(Arena *arena, const Contraction *contraction, const Vectors *vectors) {
    Tile tile = contraction_tile(contraction, vectors->bytes, vectors->registers);
    return arena_format(arena, "%d x %d", tile.rows, tile.columns);
}

static void print_zeros(const Contraction *contraction, Text *text) {
    text_add(text, "; of a with many zeros, by tiles of ");
    for (int i = 0; i < KINDS; i++) {
        const Tile tile = zeros_tile(contraction, kinds[i].bytes, kinds[i].registers);
        text_format(text, "%s%d x %d (%s)", i ? ", " : "", tile.rows, tile.columns, kinds[i].name);
    }
    text_add(text, ", without depths at which their rows are zero");
    if (contraction->thirds) text_add(text, ", but not where there is AMX");
}

static const char *unseen_text(const Contraction *contraction) {
    if (!contraction->triangle) return "";
    return contraction->halves ? ", on AVX-512 without what no row sees"
                               : ", without what no row sees";
}

static bool is_product(const FunctionPlan *plan, int kernel) {
    return plan->kernels[kernel].loops.kind == KERNEL_contraction;
}

/* What a product's operands are of. */
static Element multiplied(const FunctionPlan *plan, int kernel) {
    const Node *node = graph_node(plan->graph, plan->kernels[kernel].nodes[0]);
    NodeId a = contraction_operand(plan->graph, node, 0).node;
    return graph_node(plan->graph, a)->type.element;
}

static void print_product(const FunctionPlan *plan, int kernel, Text *text) {
    Contraction contraction = contraction_of(text->arena, plan, kernel);
    text_format(text, "%s, tiles of ", contraction.template);
    if (contraction.thirds)
        text_format(text, "%d x %d by thirds (AMX), ", FLOW_THIRDS_SIDE, FLOW_THIRDS_SIDE);
    for (int i = 0; i < KINDS; i++)
        text_format(text, "%s%s (%s%s)", i ? ", " : "",
                    tile_text(text->arena, &contraction, &kinds[i]), kinds[i].name,
                    i || !contraction.halves ? "" : ": matrix tiles, pairs or vectors");
    if (contraction.padded) text_add(text, ", without lines of padding");
    if (contraction.winograd && contraction.winograd->pads) text_add(text, ", pads on the way");
    text_add(text, unseen_text(&contraction));
    if (contraction.leaves_zeros) print_zeros(&contraction, text);
    const int parts = plan->kernels[kernel].parts;
    if (parts > 1) text_format(text, ", of %d parts of the depth", parts);
    if (plan->graph->wishes.tf32 && multiplied(plan, kernel) == TYPE_f32)
        text_add(text, ", in f32: only GPUs have tf32");
}

void how_print(const FunctionPlan *plan, int kernel, Text *text) {
    if (runs_on_gpu(&plan->kernels[kernel])) {
        text_add(text, gpu_form(text->arena, plan, kernel));
        return;
    }
    switch (plan->kernels[kernel].loops.kind) {
    case KERNEL_rows: text_add(text, rows_form(text->arena, plan, kernel)); break;
    case KERNEL_columns: text_add(text, columns_form(text->arena, plan, kernel)); break;
    case KERNEL_row_function: text_add(text, "row by row, a function of row.h"); break;
    case KERNEL_contraction: print_product(plan, kernel, text); break;
    case KERNEL_scatter: text_add(text, "each thread looks at all places for its own"); break;
    case KERNEL_scan: text_add(text, "the kernels of its body, turn after turn"); break;
    case KERNEL_external: text_add(text, "one thread calls it"); break;
    }
}

/* As flow_share and flow_share_columns divide it: the rows of all parts, where there are some, or
 * their features. */
void share_print(const FunctionPlan *plan, int number, Text *text) {
    const KernelPlan *kernel = &plan->kernels[number];
    if (!kernel->share || runs_on_gpu(kernel)) return;
    if (kernel->records) return; /* plan/print.c says so */
    const bool features = kernel->winograd && kernel->winograd->weights;
    const bool columns = kernel->by_columns || kernel->loops.kind == KERNEL_columns;
    const int64_t size = kernel->by_columns ? FLOW_COLUMN_BLOCK
                         : features         ? FLOW_LANES
                                            : FLOW_SHARE_BLOCK;
    const int64_t share = features ? kernel->winograd->features : dim_bound(kernel->share);
    const int64_t count = (share * kernel->parts + size - 1) / size;
    const int64_t unit = kernel->loops.kind == KERNEL_columns ? columns_unit(&kernel->loops) : 1;
    if (count == 1) text_add(text, "; one block: one thread has all");
    else
        text_format(text, "; %lld blocks of %lld %s for the threads", (long long)count,
                    (long long)(size * unit),
                    columns    ? "columns"
                    : features ? "features"
                               : "rows");
}

Arithmetic arithmetic_of(const FunctionPlan *plan, int kernel) {
    const Node *node = graph_node(plan->graph, plan->kernels[kernel].nodes[0]);
    if (node->type.element == TYPE_f64) return ARITHMETIC_double;
    if (node->op != OP_matmul) return ARITHMETIC_single;
    const Element element = multiplied(plan, kernel);
    const bool on_gpu = runs_on_gpu(&plan->kernels[kernel]);
    const bool halves = on_gpu ? is_half(element) : element == TYPE_bf16;
    const bool tf32 = plan->graph->wishes.tf32 && !plan->kernels[kernel].attention;
    if (on_gpu && element == TYPE_f32 && tf32) return ARITHMETIC_tf32;
    if (!on_gpu && takes_thirds(plan, kernel)) return ARITHMETIC_thirds;
    return halves ? ARITHMETIC_halves : ARITHMETIC_single;
}

const char *how_literal(Arena *arena, const FunctionPlan *plan, int kernel) {
    if (runs_on_gpu(&plan->kernels[kernel]))
        return string_literal(arena, gpu_form(arena, plan, kernel));
    if (!is_product(plan, kernel)) return "\"\"";
    Contraction contraction = contraction_of(arena, plan, kernel);
    const char *head = arena_format(arena, "%s, tiles of ", contraction.template), *tiles[KINDS];
    for (int i = 0; i < KINDS; i++)
        tiles[i] = string_literal(arena, tile_text(arena, &contraction, &kinds[i]));
    if (contraction.thirds)
        tiles[0] = string_literal(arena, arena_format(arena, "%d x %d by thirds, or %s",
                                                      FLOW_THIRDS_SIDE, FLOW_THIRDS_SIDE,
                                                      tile_text(arena, &contraction, &kinds[0])));
    return arena_format(arena, "%s FLOW_OF_VECTORS(%s, %s, %s, %s)", string_literal(arena, head),
                        tiles[0], tiles[1], tiles[2], tiles[3]);
}
