/* Wide rows text: rows that lie side by side wherever the kernel reads them, as those of a line do
 * in a part of an image, or that lie across there (across_text.c), are one long row. Threads share
 * the short ones, so that a share may begin and end inside a long one: `begin` to `end` - 1 are its
 * columns, and a loop over all of them stands by itself, as its length is a number. What repeats
 * along a long row, as a number for each colour does, is written out once for all of them, in
 * buffers `nN`.
 *
 * Where short rows are whole vectors, it stays in registers instead: the loop over the places of a
 * line, q, is inside the one over the vectors of a place, as for the weights of a convolution of
 * each channel by itself. */
#include "compiler/codegen/kernel_text.h"

#include <string.h>

enum {
    SHORT_MOST = 128,    /* columns: loops over more are long enough */
    COLUMNS_LEAST = 16,  /* of a long row, or it fills no vector */
    COLUMNS_MOST = 4096, /* the same: buffers of more would not stay near */
    FILLED_LEAST = 8,    /* rows for which a buffer is filled, */
    FILLED_MOST = 8192,  /* and elements of all buffers */
    APART_MOST = 512,    /* columns of a place: those of more lie on too few sets of a cache, */
    PLACES = 8,          /* and so do places, which are taken so many at a time */
};

/* What an index that repeats along a long row is, as C; NULL: it is none. */
static const char *repeated_index(const Writer *writer, const char *index) {
    if (!writer->apart) return rest_of_column(writer, index);
    return strcmp(index, "s") != 0 ? NULL : "run + lane";
}

/* Where a value is in its buffer. */
static const char *place_in_fill(const Writer *writer) {
    return writer->apart ? "lane" : "c";
}

static const char *known_fill(const Writer *writer, NodeId id) {
    vector_each(Fill, fill, writer->fills)
        if (fill->node == id) return fill->name;
    return NULL;
}

/* What fills the buffer is no line of the loop, and has names of its own. */
static const char *fill_lines(Writer *writer, NodeId id, const char *at, const char *name) {
    const Text lines = writer->lines[LEVEL_column];
    const int scope = writer->scopes[LEVEL_column];
    Text *filling = &writer->lines[LEVEL_column];
    *filling = text_new(writer->arena);
    writer->scopes[LEVEL_column] = -1 - (int)writer->fills.count;
    const Index index = define_index(writer, LEVEL_column, at);
    const char *value = value_of(writer, id, index);
    text_format(filling, "%s[%s] = %s;\n", name, place_in_fill(writer), value);
    const char *written = text_string(filling);
    *filling = lines;
    writer->scopes[LEVEL_column] = scope;
    return written;
}

const char *repeated_value(Writer *writer, NodeId id, Index index) {
    const bool fills = writer->scopes[LEVEL_column] < 0;
    const char *at = writer->wide && !fills ? repeated_index(writer, index.text) : NULL;
    if (!at) return NULL;
    id = strip_reshapes(writer->graph, id);
    const char *name = known_fill(writer, id);
    if (!name) {
        name = arena_format(writer->arena, "n%d", (int)writer->fills.count);
        const Fill fill = {.node = id,
                           .name = name,
                           .line = fill_lines(writer, id, at, name),
                           .type = element_info[node_of(writer, id)->type.element].computed,
                           .repeats = true};
        vector_push(writer->arena, &writer->fills, fill);
    }
    return arena_format(writer->arena, "%s[%s]", name, place_in_fill(writer));
}

static bool speaks_of_any(const Writer *writer, const char *lines, Level level, const char *signs) {
    vector_each(Variable, variable, writer->variables)
        if (variable->node == NODE_NONE && variable->level == level &&
            strpbrk(variable->index, signs) && line_has_name(lines, variable->name))
            return true;
    return false;
}

/* Does the range's loop read elements side by side, without a test? The rest of a column is in
 * buffers already. */
static bool has_plain_columns(const Writer *writer) {
    Text lines = text_new(writer->arena);
    text_add(&lines, text_string(&writer->lines[LEVEL_run]));
    text_add(&lines, text_string(&writer->lines[LEVEL_column]));
    text_add(&lines, text_string(&writer->stores));
    const char *used = without_unused(writer->arena, text_string(&lines));
    return !speaks_of_any(writer, used, LEVEL_column, "*/%<>?") &&
           !speaks_of_any(writer, used, LEVEL_run, "/%<>?");
}

/* A loop over columns `first` to `end` - 1, both as C; the lines stay the writer's. */
static void write_columns(const Writer *writer, const char *first, const char *end, Text *text) {
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

/* What the range's loop wants of a vector of places. */
static void fill_vectors(const Writer *writer, Text *text) {
    Text lines = text_new(writer->arena);
    vector_each(Fill, fill, writer->fills) {
        if (!has_name(&writer->lines[LEVEL_column], fill->name) &&
            !has_name(&writer->stores, fill->name))
            continue;
        text_format(text, "                    _Alignas(64) %s %s[FLOW_LANES];\n", fill->type,
                    fill->name);
        text_add(&lines, fill->line);
    }
    if (!lines.size) return;
    text_add(text, "                    FLOW_INDEPENDENT FLOW_VECTORS\n"
                   "                    for (int64_t lane = 0; lane < FLOW_LANES; lane++) {\n");
    add_lines(text, text_string(&lines), 6);
    text_add(text, "                    }\n");
}

/* Where the share begins in a range, or ends, in columns or in places. */
static const char *range_begin(const Writer *writer) {
    const long long each = writer->apart ? (long long)writer->apart : 1;
    const char *begin = writer->apart ? arena_format(writer->arena, "begin / %lld", each) : "begin";
    if (!writer->range_first) return begin;
    return arena_format(writer->arena, "flow_larger(%s, %lld)", begin,
                        (long long)writer->range_first / each);
}

static const char *range_end(const Writer *writer) {
    const long long each = writer->apart ? (long long)writer->apart : 1;
    const char *end = writer->apart ? arena_format(writer->arena, "end / %lld", each) : "end";
    if (writer->range_end == dim_bound(writer->loops->columns)) return end;
    return arena_format(writer->arena, "flow_smaller(%s, %lld)", end,
                        (long long)writer->range_end / each);
}

/* Loops over the places of the range that the share has; the lines stay the writer's. */
static void write_places(const Writer *writer, Text *text) {
    const long long each = (long long)writer->apart;
    text_format(text,
                "        {\n"
                "            const int64_t first_place = %s, end_place = %s;\n"
                "            for (int64_t block = first_place; block < end_place; block += %d)\n"
                "                for (int64_t run = 0; run < %lld; run += FLOW_LANES) {\n",
                range_begin(writer), range_end(writer), PLACES, each);
    fill_vectors(writer, text);
    text_format(text,
                "                    const int64_t behind = flow_smaller(block + %d, end_place);\n"
                "                    for (int64_t q = block; q < behind; q++) {\n",
                PLACES);
    add_lines(text, text_string(&writer->lines[LEVEL_run]), 6);
    text_format(text,
                "                        FLOW_INDEPENDENT FLOW_VECTORS\n"
                "                        for (int64_t lane = 0; lane < FLOW_LANES; lane++) {\n"
                "                            const int64_t s = run + lane, c = q * %lld + s;\n"
                "                            const int64_t j = c - begin, i = r * %s + c;\n"
                "                            (void)j, (void)i;\n",
                each, writer->columns);
    add_lines(text, text_string(&writer->lines[LEVEL_column]), 7);
    add_lines(text, text_string(&writer->stores), 7);
    text_add(text,
             "                        }\n                    }\n                }\n        }\n");
}

/* The range of columns: where the share has all of a row, and where it has some. */
static void write_range(const Writer *writer, Text *whole, Text *part) {
    write_columns(writer, arena_format(writer->arena, "%lld", (long long)writer->range_first),
                  arena_format(writer->arena, "%lld", (long long)writer->range_end), whole);
    write_columns(writer, range_begin(writer), range_end(writer), part);
}

/* Writes the loops over the ranges to the body. False: they are no good, and not all written. */
static bool write_all_ranges(Writer *writer) {
    Text whole = text_new(writer->arena), part = text_new(writer->arena), *body = &writer->body;
    vector_each(int64_t, end, writer->ranges) {
        if (writer->apart && *end % writer->apart) return false;
        writer->range_end = *end;
        next_scope(writer, LEVEL_run);
        store_values(writer, INDEX_full);
        if (!has_plain_columns(writer)) return false;
        if (writer->apart) write_places(writer, body);
        else write_range(writer, &whole, &part);
        writer->lines[LEVEL_run] = writer->lines[LEVEL_column] = text_new(writer->arena);
        writer->stores = text_new(writer->arena);
        writer->range_first = *end;
    }
    if (!writer->apart)
        text_format(body, "        if (end - begin == %s) {\n%s        } else {\n%s        }\n",
                    writer->columns, text_string(&whole), text_string(&part));
    return writer->refused && !writer->kept.count;
}

static Writer wide_writer(const Writer *flat, const Loops *loops, int64_t apart) {
    Writer writer = new_writer(flat->arena, flat->plan, flat->number);
    writer.wide = true;
    writer.turns = !apart;
    writer.apart = apart;
    writer.loops = loops;
    writer.columns = dim_expression(writer.arena, loops->columns);
    return writer;
}

/* Places are worth it for what stays in registers over them. Buffers of more columns would be as
 * much work to read as the short rows' own, and a band would fill them for a few rows each time. */
static bool has_good_fills(const Writer *writer) {
    const int64_t count = (int64_t)writer->fills.count;
    if (writer->apart) return count;
    if (!count) return true;
    return dim_bound(writer->kernel->loops.columns) < COLUMN_RUN && !writer->kernel->in_band &&
           dim_bound(writer->loops->rows) >= FILLED_LEAST &&
           count * dim_bound(writer->loops->columns) <= FILLED_MOST;
}

/* Rows as long as the type's axes from `axis` on, in places of so many columns where `apart` is not
 * 0. False: that is no good. */
static bool try_axis(const Writer *flat, int axis, int64_t apart, Writer *writer) {
    const Type *type = &node_of(flat, flat->kernel->nodes[0])->type;
    Loops *loops = arena_new_item(flat->arena, Loops);
    int64_t columns;
    *loops = flat->kernel->loops;
    loops->rows = type_count(flat->table, type, 0, axis);
    loops->columns = type_count(flat->table, type, axis, type->rank);
    if (dim_is_one(type->dims[axis]) || !dim_is_constant(loops->columns, &columns) ||
        columns < COLUMNS_LEAST || (!apart && columns > COLUMNS_MOST) ||
        loops->columns == flat->kernel->loops.columns)
        return false;
    Writer scratch = wide_writer(flat, loops, apart);
    store_values(&scratch, INDEX_full);
    *writer = wide_writer(flat, loops, apart);
    take_cuts(writer, &scratch);
    if (!writer->ranges.count) vector_push(writer->arena, &writer->ranges, columns);
    return write_all_ranges(writer) && has_good_fills(writer);
}

/* The axis before those of a short row; less than 0: there is none. */
static int axis_before(const Writer *flat) {
    const Type *type = &node_of(flat, flat->kernel->nodes[0])->type;
    int axis = type->rank - 1;
    while (axis >= 0 &&
           type_count(flat->table, type, axis, type->rank) != flat->kernel->loops.columns)
        axis--;
    while (axis > 0 && dim_is_one(type->dims[axis - 1])) axis--;
    return axis - 1;
}

bool make_wide_rows(const Writer *flat, Writer *writer) {
    const int last = axis_before(flat);
    int64_t columns;
    if (!dim_is_constant(flat->kernel->loops.columns, &columns)) return false;
    for (int axis = 1; axis <= last && columns <= SHORT_MOST; axis++)
        if (try_axis(flat, axis, 0, writer)) return true;
    return columns % COLUMN_RUN == 0 && columns <= APART_MOST && last > 0 &&
           try_axis(flat, last, columns, writer);
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
    const int64_t columns = dim_bound(writer->loops->columns); /* both are numbers */
    const long long few = (long long)dim_bound(writer->kernel->loops.columns);
    const long long together = (long long)columns / few;
    write_head(writer, text);
    text_format(text,
                "    const int64_t first_row = first / %lld;\n"
                "    const int64_t last_row = first < last ? (last - 1) / %lld + 1 : first_row;\n",
                together, together);
    if (!writer->apart) fill_buffers(writer, text);
    declare_turned(writer, text);
    text_format(text,
                "    for (int64_t r = first_row; r < last_row; r++) {\n"
                "        const int64_t begin = flow_larger(first - r * %lld, 0) * %lld;\n"
                "        const int64_t end = flow_smaller(last - r * %lld, %lld) * %lld;\n",
                together, few, together, together, few);
    if (!writer->apart) write_asks(writer, text); /* a line of places is too much at once */
    move_lines(writer, &writer->lines[LEVEL_row], text, 2);
    declare_streamed(writer, text, writer->columns);
    text_add(text, text_string(&writer->body));
    write_streamed(writer, text, arena_format(writer->arena, "r * %s + begin", writer->columns),
                   "(end - begin)");
    text_add(text, "    }\n");
    write_tail(writer, text);
}
