/* Wide rows text: rows that lie side by side wherever the kernel reads them, as those of a line do
 * in a part of an image, are one long row. Threads share the short ones, so that a share may begin
 * and end inside a long one: `begin` to `end` - 1 are its columns. What repeats along a long row,
 * as a number for each colour does, is written out once for all of them, in buffers `nN`. */
#include "compiler/codegen/kernel_text.h"

#include <string.h>

enum {
    SHORT_MOST = 128,    /* columns: loops over more are long enough */
    COLUMNS_LEAST = 16,  /* of a long row, or it fills no vector */
    COLUMNS_MOST = 4096, /* the same: buffers of more would not stay near */
    FILLED_LEAST = 8,    /* rows for which a buffer is filled */
};

/* The rest of a column, if that is the index, as C; or NULL. */
static const char *rest_of_column(const Writer *writer, const char *index) {
    vector_each(Variable, variable, writer->variables)
        if (variable->node == NODE_NONE && !strcmp(variable->name, index))
            return strncmp(variable->index, "c % ", 4) != 0 ? NULL : variable->index;
    return NULL;
}

static const char *known_fill(const Writer *writer, NodeId id) {
    vector_each(Fill, fill, writer->fills)
        if (fill->node == id) return fill->name;
    return NULL;
}

/* What fills the buffer is no line of the loop, and has names of its own. */
static const char *fill_lines(Writer *writer, NodeId id, const char *rest, const char *name) {
    const Text lines = writer->lines[LEVEL_column];
    const int scope = writer->scopes[LEVEL_column];
    Text *filling = &writer->lines[LEVEL_column];
    *filling = text_new(writer->arena);
    writer->scopes[LEVEL_column] = -1 - (int)writer->fills.count;
    const Index index = define_index(writer, LEVEL_column, rest);
    const char *value = value_of(writer, id, index);
    text_format(filling, "%s[c] = %s;\n", name, value);
    const char *written = text_string(filling);
    *filling = lines;
    writer->scopes[LEVEL_column] = scope;
    return written;
}

const char *repeated_value(Writer *writer, NodeId id, Index index) {
    const bool fills = writer->scopes[LEVEL_column] < 0;
    const char *rest = writer->wide && !fills ? rest_of_column(writer, index.text) : NULL;
    if (!rest) return NULL;
    id = strip_reshapes(writer->graph, id);
    const char *name = known_fill(writer, id);
    if (!name) {
        name = arena_format(writer->arena, "n%d", (int)writer->fills.count);
        const Fill fill = {.node = id,
                           .name = name,
                           .line = fill_lines(writer, id, rest, name),
                           .type = element_info[node_of(writer, id)->type.element].computed,
                           .repeats = true};
        vector_push(writer->arena, &writer->fills, fill);
    }
    return arena_format(writer->arena, "%s[c]", name);
}

/* Does the range's loop read elements side by side, without a test? The rest of a column is in
 * buffers already. */
static bool has_plain_columns(const Writer *writer) {
    Text lines = text_new(writer->arena);
    text_add(&lines, text_string(&writer->lines[LEVEL_column]));
    text_add(&lines, text_string(&writer->stores));
    const char *used = without_unused(writer->arena, text_string(&lines));
    vector_each(Variable, variable, writer->variables)
        if (variable->node == NODE_NONE && variable->level == LEVEL_column &&
            strpbrk(variable->index, "*/%<>?") && line_has_name(used, variable->name))
            return false;
    return true;
}

/* A loop over columns `first` to `end` - 1, both as C; the lines stay the writer's. */
static void write_loop(const Writer *writer, const char *first, const char *end, Text *text) {
    text_format(text,
                "            FLOW_INDEPENDENT\n"
                "            for (int64_t c = %s; c < %s; c++) {\n"
                "                const int64_t j = c - begin, i = r * %s + c;\n"
                "                (void)j, (void)i;\n",
                first, end, writer->columns);
    add_lines(text, text_string(&writer->lines[LEVEL_column]), 4);
    add_lines(text, text_string(&writer->stores), 4);
    text_add(text, "            }\n");
}

/* The range from writer->range_first on: where the share has all columns, and where it has some. */
static void write_range(Writer *writer, bool is_last, Text *whole, Text *part) {
    const long long first = (long long)writer->range_first, end = (long long)writer->range_end;
    write_loop(writer, arena_format(writer->arena, "%lld", first),
               arena_format(writer->arena, "%lld", end), whole);
    write_loop(writer,
               first ? arena_format(writer->arena, "flow_larger(begin, %lld)", first) : "begin",
               is_last ? "end" : arena_format(writer->arena, "flow_smaller(end, %lld)", end), part);
    writer->lines[LEVEL_column] = text_new(writer->arena);
    writer->stores = text_new(writer->arena);
}

/* False: they are no good, and not all written. */
static bool write_ranges(Writer *writer) {
    Text whole = text_new(writer->arena), part = text_new(writer->arena);
    for (size_t i = 0; i < writer->ranges.count; i++) {
        writer->range_end = writer->ranges.items[i];
        next_scope(writer, LEVEL_column);
        store_values(writer, INDEX_full);
        if (!has_plain_columns(writer)) return false;
        write_range(writer, i + 1 == writer->ranges.count, &whole, &part);
        writer->range_first = writer->range_end;
    }
    text_format(&writer->body,
                "        if (end - begin == %s) {\n%s        } else {\n%s        }\n",
                writer->columns, text_string(&whole), text_string(&part));
    return writer->refused && !writer->kept.count;
}

static Writer wide_writer(const Writer *flat, const Loops *loops) {
    Writer writer = new_writer(flat->arena, flat->plan, flat->number);
    writer.wide = writer.turns = true;
    writer.loops = loops;
    writer.columns = dim_expression(writer.arena, loops->columns);
    return writer;
}

/* Rows as long as the type's axes from `axis` on. False: that is no good. */
static bool try_axis(const Writer *flat, const Type *type, int axis, Writer *writer) {
    Loops *loops = arena_new_item(flat->arena, Loops);
    int64_t columns;
    *loops = flat->kernel->loops;
    loops->rows = type_count(flat->table, type, 0, axis);
    loops->columns = type_count(flat->table, type, axis, type->rank);
    if (dim_is_one(type->dims[axis]) || !dim_is_constant(loops->columns, &columns) ||
        columns < COLUMNS_LEAST || columns > COLUMNS_MOST ||
        loops->columns == flat->kernel->loops.columns)
        return false;
    Writer scratch = wide_writer(flat, loops);
    store_values(&scratch, INDEX_full);
    *writer = wide_writer(flat, loops);
    take_cuts(writer, &scratch);
    if (!writer->ranges.count) vector_push(writer->arena, &writer->ranges, columns);
    return write_ranges(writer) && (!writer->fills.count || dim_bound(loops->rows) >= FILLED_LEAST);
}

bool make_wide_rows(const Writer *flat, Writer *writer) {
    const Type *type = &node_of(flat, flat->kernel->nodes[0])->type;
    int64_t columns;
    if (!dim_is_constant(flat->kernel->loops.columns, &columns) || columns > SHORT_MOST)
        return false;
    for (int axis = 1; axis < type->rank - 1; axis++)
        if (try_axis(flat, type, axis, writer)) return true;
    return false;
}

static void fill_buffers(const Writer *writer, Text *text) {
    vector_each(Fill, fill, writer->fills) {
        text_format(text,
                    "    _Alignas(64) %s %s[%s];\n"
                    "    for (int64_t c = 0; c < %s; c++) {\n",
                    fill->type, fill->name, writer->columns, writer->columns);
        add_lines(text, fill->line, 2);
        text_add(text, "    }\n");
    }
}

void write_wide_rows(Writer *writer, Text *text) {
    int64_t columns, few;
    const bool known = dim_is_constant(writer->loops->columns, &columns) &&
                       dim_is_constant(writer->kernel->loops.columns, &few);
    const long long together = known ? (long long)(columns / few) : 1;
    write_head(writer, text);
    text_format(text,
                "    const int64_t first_row = first / %lld, last_row = (last + %lld) / %lld;\n",
                together, together - 1, together);
    fill_buffers(writer, text);
    declare_turned(writer, text);
    text_format(text,
                "    for (int64_t r = first_row; r < last_row; r++) {\n"
                "        const int64_t begin = flow_larger(first - r * %lld, 0) * %lld;\n"
                "        const int64_t end = flow_smaller(last - r * %lld, %lld) * %lld;\n",
                together, (long long)few, together, together, (long long)few);
    move_lines(writer, &writer->lines[LEVEL_row], text, 2);
    declare_streamed(writer, text, writer->columns);
    text_add(text, text_string(&writer->body));
    write_streamed(writer, text, arena_format(writer->arena, "r * %s + begin", writer->columns),
                   "(end - begin)");
    text_add(text, "    }\n");
    write_tail(writer, text);
}
