/* GPU rows text: elementwise work, an element or a few a thread; and rows, a warp each, or a block
 * each where they are long. A row takes a loop for each stage (stages.c). */
#include "compiler/codegen/gpu_text.h"

enum {
    WARP_COLUMNS = 1024, /* at most; longer rows are a block's */
    LINES_MOST = 640,    /* that are written out */
};

typedef struct Rows {
    Writer *writer;
    bool by_block;
    int lanes;         /* of a row */
    Definitions *kept; /* loads that a lane has in registers, from one stage to the next */
} Rows;

static bool is_elementwise(const Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (is_reduction(writer, id) || own_index(writer, id) != INDEX_full) return false;
    }
    return true;
}

int gpu_threads_enough = 1 << 18;

/* A thread of a large kernel has several, so that what is the same for all of them, powers of a
 * step's number say, is found less often. */
static int elements_of_thread(const Writer *writer) {
    enum { MOST = 4, REGISTERS = 48 };
    const double elements =
        (double)dim_bound(writer->loops->rows) * (double)dim_bound(writer->loops->columns);
    int most = MOST;
    while (most > 1 && elements < (double)most * gpu_threads_enough) most /= 2;
    return gpu_ahead(writer, most, REGISTERS);
}

/* Where the row and the column are, which nobody may want to know. */
static const char *element_place(const Writer *writer) {
    const bool small =
        (double)dim_bound(writer->loops->rows) * (double)dim_bound(writer->loops->columns) <
        INT32_MAX;
    const char *type = small ? "uint32_t" : "int64_t";
    return arena_format(writer->arena,
                        "        const int64_t r = (%s)i / (%s)(%s), c = i - r * %s;\n"
                        "        (void)r, (void)c;\n",
                        type, type, writer->columns, writer->columns);
}

static const char *write_elements(Writer *writer, Text *text) {
    const char *count =
        arena_format(writer->arena, "%s * %s", dim_expression(writer->arena, writer->loops->rows),
                     writer->columns);
    store_values(writer, INDEX_full);
    const int each = elements_of_thread(writer);
    const char *head =
        arena_format(writer->arena,
                     "        const int64_t i = FLOW_BLOCK * %d + u * %d + FLOW_THREAD;\n"
                     "        if (i >= %s) continue;\n"
                     "%s",
                     each * GPU_THREADS, GPU_THREADS, count, element_place(writer));
    write_gpu_head(writer, text);
    text_format(text, "    enum { AHEAD = %d };\n", each);
    write_gpu_ahead(writer, text, 1, head, "", each, NULL);
    write_gpu_tail(writer, text);
    return gpu_blocks(writer, count, each * GPU_THREADS);
}

/* What the loop of this stage stores and adds up. */
static void write_values(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (is_fed(writer, at)) add_gpu_element(writer, id, "c");
        else if (!is_reduction(writer, id) && writer->depths[at] == writer->stage &&
                 own_index(writer, id) == INDEX_full && is_stored(writer, id))
            store_value(writer, id, plain_index(writer, INDEX_full));
    }
}

static void join_block(Writer *writer, Text *text, NodeId id) {
    text_add(text, "    if (lane % 32 == 0) {\n");
    put_gpu_result(writer, text, 2, id, "lane / 32");
    text_add(text, "    }\n");
    text_add(text, "    FLOW_SYNC();\n");
    get_gpu_result(writer, text, 1, id, "0");
    for (int warp = 1; warp < GPU_THREADS / GPU_WARP; warp++)
        add_gpu_result(writer, text, 1, id, arena_format(writer->arena, "%d", warp));
    text_add(text, "    FLOW_SYNC();\n");
}

/* Columns of a row that each lane has; 0: too many for them to stay in registers. */
static int columns_of_lane(const Rows *rows) {
    enum { MOST = 32 };
    int64_t columns;
    if (!dim_is_constant(rows->writer->loops->columns, &columns)) return 0;
    const int64_t each = (columns - 1) / rows->lanes + 1;
    return each <= MOST ? (int)each : 0;
}

/* Is the loop of this stage written out, so that all its loads are on their way at once, and what
 * the next one wants of them stays in registers? */
static bool is_written_out(const Rows *rows, int each) {
    enum { REGISTERS = 64 };
    const GpuLines lines = gpu_lines(rows->writer, rows->kept);
    return each && lines.loads >= 0 && lines.loads * each <= REGISTERS &&
           lines.count * each <= LINES_MOST;
}

/* Columns whose loads are on their way at once, where a loop is not written out. */
static int columns_ahead(const Rows *rows) {
    enum { MOST = 8, REGISTERS = 32 };
    const Writer *writer = rows->writer;
    int most = MOST;
    while (most > 1 && (int64_t)rows->lanes * most > dim_bound(writer->loops->columns)) most /= 2;
    const int count = gpu_ahead(writer, most, REGISTERS);
    return count * gpu_lines(writer, NULL).count <= LINES_MOST ? count : 1;
}

/* Column c of element u of a lane, of those from `first` on, if the row has it. A loop has so many
 * elements of a lane in each turn. */
static const char *column_head(const Rows *rows, const char *first, int turns) {
    const char *columns = rows->writer->columns;
    return arena_format(rows->writer->arena,
                        "        const int64_t c = %s + u * %d, i = r * %s + c;\n"
                        "        (void)i;\n"
                        "        if (%s %% %d && c >= %s) continue;\n",
                        first, rows->lanes, columns, columns, rows->lanes * turns, columns);
}

static void write_column_loop(const Rows *rows, Text *body, int ahead) {
    Writer *writer = rows->writer;
    text_format(body,
                "    for (int64_t first = lane; first < %s; first += %d) {\n"
                "        enum { AHEAD = %d };\n",
                writer->columns, rows->lanes * ahead, ahead);
    write_gpu_ahead(writer, body, 2, column_head(rows, "first", ahead), "", ahead, NULL);
    text_add(body, "    }\n");
}

static void write_columns(const Rows *rows, Text *body) {
    Writer *writer = rows->writer;
    const int each = columns_of_lane(rows), ahead = columns_ahead(rows);
    const char *columns = writer->columns;
    if (is_written_out(rows, each)) {
        write_gpu_ahead(writer, body, 1, column_head(rows, "lane", 1), "", each, rows->kept);
        return;
    }
    if (ahead > 1) {
        write_column_loop(rows, body, ahead);
        return;
    }
    text_format(body,
                "    for (int64_t c = lane; c < %s; c += %d) {\n"
                "        const int64_t i = r * %s + c;\n"
                "        (void)i;\n",
                columns, rows->lanes, columns);
    move_lines(writer, &writer->lines[LEVEL_column], body, 2);
    move_lines(writer, &writer->stores, body, 2);
    text_add(body, "    }\n");
}

static void write_stage(const Rows *rows, Text *body) {
    Writer *writer = rows->writer;
    next_scope(writer, LEVEL_column);
    write_values(writer);
    if (!writer->stores.size) return;
    move_lines(writer, &writer->lines[LEVEL_row], body, 1);
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_fed(writer, at)) declare_gpu_result(writer, body, 1, writer->kernel->nodes[at]);
    write_columns(rows, body);
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (!is_fed(writer, at)) continue;
        join_gpu_lanes(writer, body, 1, id);
        if (rows->by_block) join_block(writer, body, id);
        result_value(writer, id, plain_index(writer, INDEX_row), NULL);
    }
}

static void store_rows(const Rows *rows, Text *body) {
    Writer *writer = rows->writer;
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (own_index(writer, id) == INDEX_row && is_stored(writer, id))
            store_value(writer, id, plain_index(writer, INDEX_row));
    }
    move_lines(writer, &writer->lines[LEVEL_row], body, 1);
    if (!writer->stores.size) return;
    text_add(body, "    if (lane == 0) {\n");
    move_lines(writer, &writer->stores, body, 2);
    text_add(body, "    }\n");
}

static const char *write_row_loops(const Rows *rows, Text *text) {
    Writer *writer = rows->writer;
    const char *count = dim_expression(writer->arena, writer->loops->rows);
    int last = find_stages(writer), warps = GPU_THREADS / GPU_WARP;
    for (writer->stage = 0; writer->stage <= last; writer->stage++)
        write_stage(rows, &writer->body);
    store_rows(rows, &writer->body);
    write_gpu_head(writer, text);
    if (columns_of_lane(rows))
        text_format(text, "    enum { AHEAD = %d };\n", columns_of_lane(rows));
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (rows->by_block && is_reduction(writer, writer->kernel->nodes[at]))
            share_gpu_result(writer, text, writer->kernel->nodes[at], warps);
    if (rows->by_block) text_add(text, "    const int64_t r = FLOW_BLOCK, lane = FLOW_THREAD;\n");
    else
        text_format(text,
                    "    const int64_t r = FLOW_BLOCK * %d + FLOW_THREAD / 32, "
                    "lane = FLOW_THREAD %% 32;\n"
                    "    if (r >= %s) return;\n",
                    warps, count);
    text_add(text, text_string(&writer->body));
    write_gpu_tail(writer, text);
    return rows->by_block ? count : gpu_blocks(writer, count, warps);
}

static bool has_long_rows(const Writer *writer) {
    return dim_bound(writer->loops->columns) > WARP_COLUMNS;
}

const char *gpu_rows_form(const Writer *writer) {
    if (is_elementwise(writer)) return "a thread for each element, or for a few";
    return has_long_rows(writer) ? "a block for each row" : "a warp for each row";
}

const char *write_gpu_rows(Writer *writer, Text *text) {
    if (is_elementwise(writer)) return write_elements(writer, text);
    bool by_block = has_long_rows(writer);
    Definitions kept = {0};
    Rows rows = {writer, by_block, by_block ? GPU_THREADS : GPU_WARP, &kept};
    return write_row_loops(&rows, text);
}
