/* Narrow rows text: rows that would not fill a vector, of elements that are computed each by
 * itself. FLOW_NARROW of them, a group, become one long loop; what such a loop does not find at its
 * own element, because a row or a column of it is meant or it lies elsewhere, is copied into
 * buffers `nN` first, row by row. */
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

const char *narrow_value(Writer *writer, NodeId id, const char *expression) {
    Element element = node_of(writer, id)->type.element;
    const char *name = arena_format(writer->arena, "n%d", ++writer->narrow_count);
    text_format(&writer->buffers, "_Alignas(64) %s %s[FLOW_NARROW * %s];\n",
                element_info[element].computed, name, writer->columns);
    text_format(&writer->fills, "%s[m * %s + c] = %s;\n", name, writer->columns, expression);
    return arena_format(writer->arena, "%s[j]", name);
}

/* Is the variable one of the loop that fills the buffers, or of a row? */
static bool is_of_fills(const Variable *variable) {
    return variable->level == LEVEL_row ||
           (variable->level == LEVEL_column && variable->node == NODE_NONE);
}

/* Does each of both loops speak of its own variables alone? */
static bool is_separate(const Writer *writer) {
    const Text *values = &writer->lines[LEVEL_column], *stores = &writer->stores;
    if (has_name(values, "r") || has_name(values, "c") || has_name(stores, "r")) return false;
    vector_each(Variable, variable, writer->variables) {
        if (variable->level == LEVEL_call) continue;
        bool of_fills = is_of_fills(variable);
        if (of_fills && (has_name(values, variable->name) || has_name(stores, variable->name)))
            return false;
        if (!of_fills && (has_name(&writer->fills, variable->name) ||
                          has_name(&writer->lines[LEVEL_row], variable->name)))
            return false;
    }
    return true;
}

bool find_narrow_rows(Writer *writer) {
    if (!has_narrow_rows(writer)) return false;
    writer->narrow = true;
    writer->fills = text_new(writer->arena);
    writer->buffers = text_new(writer->arena);
    store_values(writer, INDEX_full);
    return !writer->kept.count && is_separate(writer);
}

void write_narrow_rows(Writer *writer, Text *text, const char *first, const char *last) {
    text_format(text,
                "    for (int64_t group = %s; group < %s; group += FLOW_NARROW) {\n"
                "        const int64_t count = flow_smaller(%s - group, FLOW_NARROW);\n",
                first, last, last);
    move_lines(writer, &writer->buffers, text, 2);
    text_add(text, "        for (int64_t m = 0; m < count; m++) {\n"
                   "            const int64_t r = group + m;\n"
                   "            (void)r;\n");
    move_lines(writer, &writer->lines[LEVEL_row], text, 3);
    text_format(text, "            for (int64_t c = 0; c < %s; c++) {\n", writer->columns);
    move_lines(writer, &writer->fills, text, 4);
    text_format(text,
                "            }\n"
                "        }\n"
                "        FLOW_INDEPENDENT\n"
                "        for (int64_t j = 0; j < count * %s; j++) {\n"
                "            const int64_t i = group * %s + j;\n",
                writer->columns, writer->columns);
    move_lines(writer, &writer->lines[LEVEL_column], text, 3);
    move_lines(writer, &writer->stores, text, 3);
    text_add(text, "        }\n    }\n");
}
