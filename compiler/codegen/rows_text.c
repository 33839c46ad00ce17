/* Rows text: a kernel that computes each row by itself.
 *
 * A row takes a loop for each stage. What a later stage wants again stays in a buffer `tN`.
 * Reductions get their operand in such a buffer too, unless it lies in memory: of the whole row
 * when it is short, or else part by part. Where elements are all there is, rows are one loop
 * (narrow_rows_text.c: many rows too short for vectors). */
#include "compiler/codegen/writer.h"

enum {
    ROW_PART = 1024,   /* columns */
    STREAM_PART = 256, /* elements: so few that memory reads for the next while it writes these */
};

/* Where the operand of a reduction lies anyhow, as C, from its column `first` on: in the buffer of
 * a whole row, or in memory as it is computed, and nobody writes there. NULL: it needs a buffer. */
static const char *row_of_operand(Writer *writer, NodeId reduction, const char *first) {
    const NodeId id = strip_reshapes(writer->graph, node_of(writer, reduction)->inputs[0]);
    const Node *node = node_of(writer, id);
    const Place place = writer->plan->places[id];
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (writer->kernel->nodes[at] == id)
            return writer->buffered[at] ? arena_format(writer->arena, "t%u", number_of(writer, id))
                                        : NULL;
    const ElementInfo *element = &element_info[node->type.element];
    if (node->kernel == NO_KERNEL || strcmp(element->c, element->computed)) return NULL;
    if (place.kind != PLACE_memory && place.kind != PLACE_band) return NULL;
    return arena_format(writer->arena, "%s + r * %s%s", pointer_to(writer, id, false),
                        writer->columns, first);
}

/* What the loop of this stage leaves behind for others. */
static void write_row_values(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        bool reduction = is_reduction(writer, id);
        if (writer->depths[at] - reduction != writer->stage) continue;
        Index full = plain_index(writer, INDEX_full);
        if (reduction && row_of_operand(writer, id, "")) continue;
        if (reduction) {
            const char *value = value_of(writer, node_of(writer, id)->inputs[0], full);
            text_format(&writer->stores, "t%u[j] = %s;\n", number_of(writer, id), value);
        } else if (own_index(writer, id) == INDEX_full) {
            if (is_stored(writer, id)) store_value(writer, id, full);
            if (writer->buffered[at])
                text_format(&writer->stores, "t%u[j] = %s;\n", number_of(writer, id),
                            value_of(writer, id, full));
        }
    }
}

static bool stage_reduces(const Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++)
        if (is_fed(writer, at)) return true;
    return false;
}

/* The type in the names of a reduction's functions: flow_row_sum_add_f32. */
static const char *reduced_type(const Writer *writer, const Node *reduction) {
    Element element = node_of(writer, reduction->inputs[0])->type.element;
    if (is_half(element)) return "f32";
    return element == TYPE_bool ? "u8" : element_info[element].name;
}

static void start_reductions(Writer *writer, Text *text) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        if (!is_fed(writer, at)) continue;
        NodeId id = writer->kernel->nodes[at];
        const char *op = op_info[node_of(writer, id)->op].name;
        const char *type = reduced_type(writer, node_of(writer, id));
        text_format(text, "        flow_row_%s_%s s%u = flow_row_%s_start_%s();\n", op, type,
                    number_of(writer, id), op, type);
    }
}

/* part: of a long row, "" or " + " and its first column. */
static void add_to_reductions(Writer *writer, Text *text, int depth, const char *part,
                              const char *count) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        if (!is_fed(writer, at)) continue;
        NodeId id = writer->kernel->nodes[at];
        const Node *node = node_of(writer, id);
        unsigned number = number_of(writer, id);
        const char *row = row_of_operand(writer, id, part);
        if (!row) row = arena_format(writer->arena, "t%u", number);
        text_format(text, "%*sflow_row_%s_add_%s(&s%u, %s, %s);\n", 4 * depth, "",
                    op_info[node->op].name, reduced_type(writer, node), number, row, count);
    }
}

static void end_reductions(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        if (!is_fed(writer, at)) continue;
        NodeId id = writer->kernel->nodes[at];
        const Node *node = node_of(writer, id);
        define_value(writer, id, plain_index(writer, INDEX_row),
                     arena_format(writer->arena, "flow_row_%s_end_%s(&s%u)", op_info[node->op].name,
                                  reduced_type(writer, node), number_of(writer, id)));
    }
}

/* Behind the last column that a row goes over, as C. */
static const char *row_end(const Writer *writer) {
    return writer->kernel->triangle.columns ? "seen" : writer->columns;
}

/* The head of a loop over all columns of a row, or of a part of it, which are whole turns. */
static void begin_strided_loop(Writer *writer, int depth, const char *end) {
    const char *part = depth == 3 ? "part + " : "";
    const long long stride = (long long)writer->stride;
    text_format(&writer->body,
                "%*sfor (int64_t q = (%s0) / %lld; q < (%s%s) / %lld; q++)\n"
                "%*sFLOW_UNROLLED for (int64_t s = 0; s < %lld; s++) {\n",
                4 * depth, "", part, stride, part, end, stride, 4 * depth + 4, "", stride);
    text_format(&writer->body, "%*sconst int64_t j = q * %lld + s%s;\n", 4 * depth + 4, "", stride,
                depth == 3 ? " - part" : "");
}

/* Over columns `first` up to `end`, as C: of the row, or at depth 3 of a part of it. */
static void write_column_loop(Writer *writer, int depth, const char *first, const char *end) {
    Text *body = &writer->body;
    text_format(body, "%*sFLOW_INDEPENDENT\n", 4 * depth, "");
    if (writer->stride) begin_strided_loop(writer, depth, end);
    else text_format(body, "%*sfor (int64_t j = %s; j < %s; j++) {\n", 4 * depth, "", first, end);
    text_format(body, "%*sconst int64_t c = %sj, i = r * %s + c;\n%*s(void)c, (void)i;\n",
                4 * depth + 4, "", depth == 3 ? "part + " : "", writer->columns, 4 * depth + 4, "");
    move_lines(writer, &writer->lines[LEVEL_column], body, depth + 1);
    move_lines(writer, &writer->stores, body, depth + 1);
    text_format(body, "%*s}\n", 4 * depth, "");
}

/* The loops over a whole row, one for each range of columns. */
static void write_ranges(Writer *writer) {
    const char *first = "0";
    vector_each(int64_t, end, writer->ranges) {
        writer->range_end = *end;
        next_scope(writer, LEVEL_column);
        write_row_values(writer);
        move_lines(writer, &writer->lines[LEVEL_row], &writer->body, 2);
        const char *text = arena_format(writer->arena, "%lld", (long long)*end);
        if (writer->stores.size) write_column_loop(writer, 2, first, text);
        writer->range_first = *end;
        first = text;
    }
    writer->range_first = writer->range_end = 0;
}

/* whole: rows are short enough to be kept; else reductions are fed part by part. ranges: each makes
 * its own lines. */
static void write_row_loop(Writer *writer, bool whole, bool ranges) {
    Text *body = &writer->body;
    start_reductions(writer, body);
    int depth = 2;
    const char *all = row_end(writer), *count = all;
    if (!whole && stage_reduces(writer)) {
        text_format(body,
                    "        for (int64_t part = 0; part < %s; part += %d) {\n"
                    "            const int64_t count = flow_smaller(%s - part, %d);\n",
                    all, ROW_PART, all, ROW_PART);
        count = "count";
        depth = 3;
    }
    if (ranges) write_ranges(writer);
    else if (writer->stores.size) write_column_loop(writer, depth, "0", count);
    add_to_reductions(writer, body, depth, depth == 3 ? " + part" : "", count);
    if (depth == 3) text_add(body, "        }\n");
    end_reductions(writer);
}

static void write_stage(Writer *writer, bool whole) {
    const bool ranges = writer->ranges.count && (whole || !stage_reduces(writer));
    next_scope(writer, LEVEL_column);
    if (!ranges) {
        write_row_values(writer);
        if (!writer->stores.size && !stage_reduces(writer)) return;
        move_lines(writer, &writer->lines[LEVEL_row], &writer->body, 2);
    }
    write_row_loop(writer, whole, ranges);
}

/* Takes the columns at which tests change as ends of ranges, or the stride at which they repeat. */
static void find_cuts(Writer *writer, Writer *scratch) {
    if (writer->kernel->triangle.columns) return;
    const int last = find_stages(scratch);
    for (scratch->stage = 0; scratch->stage <= last; scratch->stage++) {
        next_scope(scratch, LEVEL_column);
        write_row_values(scratch);
        end_reductions(scratch);
    }
    take_cuts(writer, scratch);
    take_stride(writer, scratch, keeps_rows(writer->loops) ? 0 : ROW_PART);
}

/* Buffers for one row, or for a part of one. */
static void declare_buffers(Writer *writer, Text *text, bool whole) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (!writer->buffered[at] && !is_reduction(writer, id)) continue;
        if (is_known(writer, id)) continue;
        const Node *node = node_of(writer, id);
        if (is_reduction(writer, id) && row_of_operand(writer, id, "")) continue;
        if (is_reduction(writer, id)) node = node_of(writer, node->inputs[0]);
        const char *columns = whole ? writer->columns : arena_format(writer->arena, "%d", ROW_PART);
        text_format(text, "        _Alignas(64) %s t%u[%s];\n",
                    element_info[node->type.element].computed, number_of(writer, id), columns);
    }
}

static void store_rows(Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (own_index(writer, id) == INDEX_row && is_stored(writer, id) && !is_known(writer, id))
            store_value(writer, id, plain_index(writer, INDEX_row));
    }
    move_lines(writer, &writer->lines[LEVEL_row], &writer->body, 2);
    move_lines(writer, &writer->stores, &writer->body, 2);
}

static void write_flat_loop(Writer *writer, Text *text) {
    text_add(text, "    FLOW_INDEPENDENT\n");
    text_format(text, "    for (int64_t i = first * %s; i < last * %s; i++) {\n", writer->columns,
                writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], text, 2);
    move_lines(writer, &writer->stores, text, 2);
    text_add(text, "    }\n");
}

static void write_flat_parts(Writer *writer, Text *text) {
    const char *size = writer->logs ? "FLOW_LOG" : arena_format(writer->arena, "%d", STREAM_PART);
    text_format(text,
                "    for (int64_t part = first * %s, count; part < last * %s; part += count) {\n"
                "        count = flow_smaller(last * %s - part, %s);\n",
                writer->columns, writer->columns, writer->columns, size);
    declare_streamed(writer, text, size);
    declare_logs(writer, text, 2);
    text_add(text, "        FLOW_INDEPENDENT\n"
                   "        for (int64_t j = 0; j < count; j++) {\n"
                   "            const int64_t i = part + j;\n");
    move_lines(writer, &writer->lines[LEVEL_column], text, 3);
    move_lines(writer, &writer->stores, text, 3);
    text_add(text, "        }\n");
    write_streamed(writer, text, "part", "count");
    use_logs(writer, text, 2, "part");
    text_add(text, "    }\n");
}

/* All rows as one loop; false, and nothing is written: a broadcast needs the row or the column. */
static bool write_flat(Writer *writer, Text *text) {
    find_stages(writer);
    writer->stage = 0;
    writer->flat = true;
    writer->logs = logs_kept(writer);
    writer->widens = !writer->logs && widens(writer);
    write_row_values(writer);
    if (writer->uses_rows) return false;
    pass_loops(writer);
    write_head(writer, text);
    if (streams(writer) || writer->logs) write_flat_parts(writer, text);
    else if (has_widened(writer)) write_widened_loop(writer, text);
    else write_flat_loop(writer, text);
    write_tail(writer, text);
    return true;
}

static void write_rows(Writer *writer, Text *text) {
    bool whole = keeps_rows(writer->loops);
    int last = find_stages(writer);
    writer->turns = !writer->kernel->triangle.columns;
    for (writer->stage = 0; writer->stage <= last; writer->stage++) write_stage(writer, whole);
    store_rows(writer);
    write_head(writer, text);
    declare_turned(writer, text);
    text_add(text, "    for (int64_t r = first; r < last; r++) {\n");
    const char *place = arena_format(writer->arena, "r * %s", writer->columns);
    const bool triangle = writer->kernel->triangle.columns;
    if (triangle)
        text_format(text, "        const int64_t seen = %s;\n",
                    seen_columns(writer, "r", writer->columns));
    write_asks(writer, text);
    declare_buffers(writer, text, whole);
    declare_streamed(writer, text, writer->columns);
    text_add(text, text_string(&writer->body));
    write_streamed(writer, text, place, row_end(writer));
    if (triangle) write_unseen(writer, text, place, "seen");
    text_add(text, "    }\n");
    write_tail(writer, text);
}

static bool is_one_loop(const Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (is_reduction(writer, id) || own_index(writer, id) != INDEX_full) return false;
    }
    return true;
}

/* Writes it; *form: in words. */
static KernelOperands write_form(Text *text, const FunctionPlan *plan, int kernel,
                                 const char **form) {
    Writer flat = new_writer(text->arena, plan, kernel);
    const bool one_loop = is_one_loop(&flat) && !flat.kernel->triangle.columns;
    if (one_loop && write_flat(&flat, text)) {
        *form = streams(&flat) ? "one loop, stored past the caches" : "one loop";
        return flat.operands;
    }
    Writer wide;
    if (one_loop && make_wide_rows(&flat, &wide)) {
        *form = wide.apart ? "places of a line, a vector of each at a time"
                           : "rows side by side as one";
        write_wide_rows(&wide, text);
        return wide.operands;
    }
    Writer narrow = new_writer(text->arena, plan, kernel);
    if (one_loop && make_narrow_rows(&narrow)) {
        *form = has_narrow_vectors(&narrow) ? "narrow rows, each a vector or 64 as one loop"
                                            : "narrow rows, 64 as one loop";
        write_head(&narrow, text);
        write_narrow_rows(&narrow, text, "first", "last");
        write_tail(&narrow, text);
        return narrow.operands;
    }
    if (has_short_rows(&flat) && !flat.kernel->again) {
        *form = "short rows, 16 at a time";
        return write_short_rows_kernel(text, plan, kernel);
    }
    Writer writer = new_writer(text->arena, plan, kernel);
    Writer scratch = new_writer(text->arena, plan, kernel);
    find_cuts(&writer, &scratch);
    write_rows(&writer, text);
    *form = writer.kernel->triangle.columns ? "row by row, what each sees"
            : keeps_rows(writer.loops)      ? "row by row"
                                            : "row by row, long ones in parts of 1024";
    return writer.operands;
}

KernelOperands write_rows_kernel(Text *text, const FunctionPlan *plan, int kernel) {
    const char *form;
    return write_form(text, plan, kernel, &form);
}

const char *rows_form(Arena *arena, const FunctionPlan *plan, int kernel) {
    const char *form;
    Text text = text_new(arena);
    write_form(&text, plan, kernel, &form);
    return form;
}
