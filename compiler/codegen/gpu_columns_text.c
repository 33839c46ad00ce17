/* GPU columns text: reductions over an axis that others follow. A block has 32 results that lie
 * side by side, or eight where there would be few blocks: memory hands out no fewer at once. The
 * threads of a result go down the rows in turn, each a part of them, and the first puts the parts
 * together. */
#include "compiler/codegen/gpu_text.h"

enum { FEW = 8, ENOUGH = 512 /* blocks, a few for each multiprocessor */ };

/* Results of a block. */
static int side_by_side(const Writer *writer) {
    const Loops *loops = writer->loops;
    const double results = (double)dim_bound(loops->outer) * (double)dim_bound(loops->columns);
    return results < (double)ENOUGH * GPU_WARP ? FEW : GPU_WARP;
}

/* Threads of a result. */
static int parts_of(const Writer *writer) {
    return GPU_THREADS / side_by_side(writer);
}

const char *gpu_columns_form(const Writer *writer) {
    return arena_format(writer->arena, "a block for %d columns, in %d parts each",
                        side_by_side(writer), parts_of(writer));
}

typedef void EachReduction(Writer *writer, Text *text, NodeId id);

static void each_reduction(Writer *writer, Text *text, EachReduction *each) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_reduction(writer, writer->kernel->nodes[at]))
            each(writer, text, writer->kernel->nodes[at]);
}

static void share(Writer *writer, Text *text, NodeId id) {
    share_gpu_result(writer, text, id, GPU_THREADS);
}

static void declare(Writer *writer, Text *text, NodeId id) {
    declare_gpu_result(writer, text, 1, id);
}

static void add_element(Writer *writer, Text *text, NodeId id) {
    (void)text;
    add_gpu_element(writer, id, "d");
}

static void put(Writer *writer, Text *text, NodeId id) {
    put_gpu_result(writer, text, 1, id, "FLOW_THREAD");
}

static void add_part(Writer *writer, Text *text, NodeId id) {
    add_gpu_result(writer, text, 2, id,
                   arena_format(writer->arena, "p * %d + lane", side_by_side(writer)));
}

static void write_parts(Writer *writer, Text *body) {
    const char *depth = dim_expression(writer->arena, writer->loops->depth);
    each_reduction(writer, body, add_element);
    each_reduction(writer, body, declare);
    text_format(
        body,
        "    FLOW_UNROLL_EIGHT for (int64_t d = part; d < (is_result ? %s : 0); d += %d) {\n"
        "        const int64_t r = o / %s * %s + d, c = o %% %s, i = r * %s + c;\n"
        "        (void)i;\n",
        depth, parts_of(writer), writer->columns, depth, writer->columns, writer->columns);
    move_lines(writer, &writer->lines[LEVEL_row], body, 2);
    move_lines(writer, &writer->lines[LEVEL_column], body, 2);
    move_lines(writer, &writer->stores, body, 2);
    text_add(body, "    }\n");
}

static void put_together(Writer *writer, Text *body) {
    each_reduction(writer, body, put);
    text_add(body, "    FLOW_SYNC();\n    if (part || !is_result) return;\n");
    text_format(body, "    for (int64_t p = 1; p < %d; p++) {\n", parts_of(writer));
    each_reduction(writer, body, add_part);
    text_add(body, "    }\n");
}

const char *write_gpu_columns(Writer *writer, Text *text) {
    Dim outputs = dim_multiply(writer->table, writer->loops->outer, writer->loops->columns);
    const char *count = dim_expression(writer->arena, outputs);
    write_parts(writer, &writer->body);
    put_together(writer, &writer->body);
    next_scope(writer, LEVEL_row);
    store_values(writer, INDEX_output);
    move_lines(writer, &writer->lines[LEVEL_row], &writer->body, 1);
    move_lines(writer, &writer->lines[LEVEL_column], &writer->body, 1);
    move_lines(writer, &writer->stores, &writer->body, 1);
    write_gpu_head(writer, text);
    each_reduction(writer, text, share);
    const int side = side_by_side(writer);
    text_format(text,
                "    const int64_t lane = FLOW_THREAD %% %d, part = FLOW_THREAD / %d;\n"
                "    const int64_t o = FLOW_BLOCK * %d + lane;\n"
                "    const bool is_result = o < %s;\n",
                side, side, side, count);
    text_add(text, text_string(&writer->body));
    write_gpu_tail(writer, text);
    return gpu_blocks(writer, count, side);
}
