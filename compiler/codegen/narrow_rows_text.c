/* Narrow rows text: rows that would not fill a vector, of elements that are computed each by
 * itself. FLOW_NARROW of them, a group, become one long loop; what such a loop does not find at its
 * own element, because a row or a column of it is meant or it lies elsewhere, is copied into
 * buffers `nN` first, row by row. Where that is worth it each row is a vector instead
 * (narrow_vectors_text.c). */
#include "compiler/codegen/writer.h"

enum {
    MOST_COLUMNS = 15,
    LEAST_ROWS = 8, /* fewer are no long loop */
};

static bool has_narrow_rows(const Writer *writer) {
    int64_t columns;
    return dim_is_constant(writer->loops->columns, &columns) && columns > 1 &&
           columns <= MOST_COLUMNS && dim_bound(writer->loops->rows) >= LEAST_ROWS &&
           !writer->kernel->by_columns && !streams(writer);
}

/* Does the expression name what differs from row to row? */
static bool is_of_row(const Writer *writer, const char *expression) {
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_row && line_has_name(expression, variable->name)) return true;
    return line_has_name(expression, "r");
}

/* Is it the column, or its rest? */
static bool is_column(const Writer *writer, Index index) {
    return index.kind == INDEX_column || rest_of_column(writer, index.text);
}

/* Is it the same for all columns of a row? */
static bool is_of_all_columns(const Writer *writer, const char *expression) {
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_column && line_has_name(expression, variable->name))
            return false;
    return !line_has_name(expression, "c") && !line_has_name(expression, "i");
}

static const char *buffer_name(const Writer *writer) {
    return arena_format(writer->arena, "n%d", (int)writer->fills.count);
}

/* The element that the long loop reads. */
static const char *add_buffer(Writer *writer, Fill buffer) {
    vector_push(writer->arena, &writer->fills, buffer);
    return arena_format(writer->arena, "%s[j]", buffer.name);
}

/* A copy of a row, of which gcc makes a few moves, as its size is a number. */
static const char *copy_text(const Writer *writer, const char *name, const char *from) {
    return arena_format(writer->arena, "__builtin_memcpy(%s + m * %s, %s, %s * sizeof *%s);\n",
                        name, writer->columns, from, writer->columns, name);
}

const char *narrow_copy(Writer *writer, const char *type, const char *row) {
    const char *name = buffer_name(writer);
    return add_buffer(writer, (Fill){.name = name, .line = row, .type = type, .whole = true});
}

const char *narrow_value(Writer *writer, NodeId id, Index index, const char *expression) {
    const char *name = buffer_name(writer);
    Fill fill = {.name = name,
                 .line = arena_format(writer->arena, "%s[m * %s + c] = %s;\n", name,
                                      writer->columns, expression),
                 .type = element_info[node_of(writer, id)->type.element].computed,
                 .of_row = is_of_all_columns(writer, expression) ? expression : NULL,
                 .repeats = is_column(writer, index) && !is_of_row(writer, expression)};
    return add_buffer(writer, fill);
}

bool in_fills(const Writer *writer, const char *name) {
    vector_each(Fill, fill, writer->fills)
        if (line_has_name(fill->line, name)) return true;
    return false;
}

/* Is the variable one of the loop that fills the buffers, or of a row? */
static bool is_of_fills(const Variable *variable) {
    return variable->level == LEVEL_row ||
           (variable->level == LEVEL_column && variable->node == NODE_NONE);
}

/* Does each of both loops speak of its own variables alone? */
static bool is_separate(const Writer *writer) {
    const Text *values = &writer->lines[LEVEL_column], *stores = &writer->stores;
    if (has_name(values, "r") || has_name(values, "c") || has_name(stores, "r") ||
        has_name(stores, "c"))
        return false;
    vector_each(Variable, variable, writer->variables) {
        if (variable->level == LEVEL_call) continue;
        bool of_fills = is_of_fills(variable);
        if (of_fills && (has_name(values, variable->name) || has_name(stores, variable->name)))
            return false;
        if (!of_fills && (in_fills(writer, variable->name) ||
                          has_name(&writer->lines[LEVEL_row], variable->name)))
            return false;
    }
    return true;
}

bool make_narrow_rows(Writer *writer) {
    if (!has_narrow_rows(writer)) return false;
    writer->narrow = true;
    store_values(writer, INDEX_full);
    return !writer->kept.count && is_separate(writer);
}

static void declare_buffer(const Writer *writer, const Fill *fill, int depth, Text *text) {
    text_format(text, "%*s_Alignas(64) %s %s[FLOW_NARROW * %s];\n", 4 * depth, "", fill->type,
                fill->name, writer->columns);
}

static void declare_buffers(const Writer *writer, Text *text) {
    vector_each(Fill, fill, writer->fills)
        if (fill->type && !fill->repeats) declare_buffer(writer, fill, 2, text);
}

/* What fills a row of one buffer: a copy, or a loop over its elements, after the indices that it
 * speaks of. */
static void write_fill(Writer *writer, const Fill *fill, int depth, Text *text) {
    const char *lines = fill->line;
    if (fill->whole) {
        add_lines(text, copy_text(writer, fill->name, lines), depth);
        return;
    }
    for (const Fill *index = fill; index-- > writer->fills.items;)
        if (!index->type && line_has_name(lines, index->name))
            lines = arena_format(writer->arena, "%s%s", index->line, lines);
    if (line_has_name(lines, "i"))
        lines = arena_format(writer->arena, "const int64_t i = r * %s + c;\n%s", writer->columns,
                             lines);
    text_format(text, "%*sfor (int64_t c = 0; c < %s; c++) {\n", 4 * depth, "", writer->columns);
    add_lines(text, lines, depth + 1);
    text_format(text, "%*s}\n", 4 * depth, "");
}

/* What all rows have alike, for all groups: the first row is filled, others are copies, so many as
 * a group has at most. A vector wants its first element in the lanes past it. */
static void write_repeated(Writer *writer, const Fill *fill, const char *first, const char *last,
                           bool by_vectors, Text *text) {
    declare_buffer(writer, fill, 1, text);
    text_add(text, "    {\n        const int64_t m = 0;\n");
    write_fill(writer, fill, 2, text);
    text_add(text, "    }\n");
    if (by_vectors)
        text_format(text,
                    "#if FLOW_NARROW_LANES >= %d\n"
                    "    for (int j = %s; j < %d; j++) %s[j] = %s[0];\n"
                    "#else\n",
                    narrow_lanes(writer), writer->columns, narrow_lanes(writer), fill->name,
                    fill->name);
    text_format(text, "    for (int64_t m = 1; m < flow_smaller(%s - %s, FLOW_NARROW); m++)\n",
                last, first);
    add_lines(text, copy_text(writer, fill->name, fill->name), 2);
    if (by_vectors) text_add(text, "#endif\n");
}

static const char of_rows[] = "        for (int64_t m = 0; m < count; m++) {\n"
                              "            const int64_t r = group + m;\n"
                              "            (void)r;\n";

static void write_by_vectors(Writer *writer, Text *text) {
    text_format(text, "#if FLOW_NARROW_LANES >= %d\n%s", narrow_lanes(writer), of_rows);
    add_lines(text, text_string(&writer->lines[LEVEL_row]), 3);
    write_narrow_vectors(writer, text);
    text_add(text, "        }\n#else\n");
}

static void write_by_groups(Writer *writer, const Text *fills, Text *text) {
    declare_buffers(writer, text);
    if (fills->size) {
        text_add(text, of_rows);
        move_lines(writer, &writer->lines[LEVEL_row], text, 3);
        text_format(text, "%s        }\n", text_string(fills));
    }
    text_format(text,
                "        FLOW_INDEPENDENT\n"
                "        for (int64_t j = 0; j < count * %s; j++) {\n"
                "            const int64_t i = group * %s + j;\n",
                writer->columns, writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], text, 3);
    move_lines(writer, &writer->stores, text, 3);
    text_add(text, "        }\n");
}

void write_narrow_rows(Writer *writer, Text *text, const char *first, const char *last) {
    const bool by_vectors = has_narrow_vectors(writer);
    Text fills = text_new(writer->arena);
    vector_each(Fill, fill, writer->fills)
        if (fill->type && !fill->repeats) write_fill(writer, fill, 3, &fills);
    vector_each(Fill, fill, writer->fills)
        if (fill->type && fill->repeats)
            write_repeated(writer, fill, first, last, by_vectors, text);
    text_format(text,
                "    for (int64_t group = %s; group < %s; group += FLOW_NARROW) {\n"
                "        const int64_t count = flow_smaller(%s - group, FLOW_NARROW);\n",
                first, last, last);
    if (has_places(writer)) place_rows(writer, &fills, of_rows, "m", "FLOW_NARROW", 2, text);
    if (by_vectors) write_by_vectors(writer, text);
    write_by_groups(writer, &fills, text);
    text_format(text, "%s    }\n", by_vectors ? "#endif\n" : "");
}
