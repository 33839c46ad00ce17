/* Narrow vectors text: a narrow row of floats as one vector, where the processor can read and write
 * its first lanes alone (templates/narrow.h): nothing is copied to buffers. What the loop over
 * elements finds at its own element becomes an array of lanes, which the row is read into and
 * written from; those past the row do once more what the first one does, and are not kept. */
#include "compiler/codegen/writer.h"

#include <string.h>

enum { FEWEST = 5 /* columns: fewer leave most of a vector empty */ };

static int64_t constant_columns(const Writer *writer) {
    int64_t columns;
    return dim_is_constant(writer->loops->columns, &columns) ? columns : 0;
}

int narrow_lanes(const Writer *writer) {
    return constant_columns(writer) <= 8 ? 8 : 16;
}

static const char *array_name(const Writer *writer, const char *pointer) {
    return arena_format(writer->arena, "%s_row", pointer);
}

/* The lines with "pointer[i]" as an element of its array. */
static const char *of_array(const Writer *writer, const char *lines, const char *pointer) {
    Text text = text_new(writer->arena);
    const char *own = arena_format(writer->arena, "%s[i]", pointer), *next;
    for (; (next = strstr(lines, own)); lines = next + strlen(own))
        text_format(&text, "%.*s%s[j]", (int)(next - lines), lines, array_name(writer, pointer));
    text_add(&text, lines);
    return text_string(&text);
}

static const char *of_arrays(const Writer *writer, const Text *lines) {
    const char *changed = text_string(lines);
    vector_each(Pointer, pointer, writer->pointers)
        changed = of_array(writer, changed, pointer->name);
    return changed;
}

/* Do the lines speak of elements of their own alone, and these of floats? */
static bool is_by_lane(const Writer *writer, const Text *lines) {
    const char *changed = of_arrays(writer, lines);
    if (line_has_name(changed, "i")) return false;
    vector_each(Pointer, pointer, writer->pointers) {
        if (line_has_name(changed, pointer->name)) return false;
        if (has_name(lines, pointer->name) && pointer->element != TYPE_f32) return false;
    }
    return true;
}

/* Of numbers of other sizes there is no vector of as many lanes. */
static bool is_of_floats(const Writer *writer) {
    vector_each(Variable, variable, writer->variables)
        if (variable->level == LEVEL_column && variable->node != NODE_NONE && variable->type &&
            strcmp(variable->type, "float") != 0 && strcmp(variable->type, "uint8_t") != 0)
            return false;
    return true;
}

/* Are rows copied, or what all columns of a row have, and nothing else filled? A vector would wait
 * for elements by themselves. */
static bool copies_rows(const Writer *writer) {
    bool copies = false;
    vector_each(Fill, fill, writer->fills) {
        if (!fill->type) continue;
        const bool copy = fill->whole || fill->of_row;
        if (strcmp(fill->type, "float") != 0 || !(copy || fill->repeats)) return false;
        copies |= copy;
    }
    return copies;
}

bool has_narrow_vectors(const Writer *writer) {
    return constant_columns(writer) >= FEWEST && copies_rows(writer) && is_of_floats(writer) &&
           is_by_lane(writer, &writer->lines[LEVEL_column]) && is_by_lane(writer, &writer->stores);
}

static void declare_array(const Writer *writer, const char *name, Text *text) {
    text_format(text, "            _Alignas(64) float %s[%d];\n", name, narrow_lanes(writer));
}

static void write_get(const Writer *writer, const char *array, const char *row, Text *text) {
    declare_array(writer, array, text);
    text_format(text, "            flow_get_narrow_%d(%s, %s, %s);\n", narrow_lanes(writer), array,
                row, writer->columns);
}

static void write_row_value(const Writer *writer, const Fill *fill, Text *text) {
    declare_array(writer, fill->name, text);
    text_format(text,
                "            FLOW_INDEPENDENT FLOW_VECTORS\n"
                "            for (int64_t j = 0; j < %d; j++) %s[j] = %s;\n",
                narrow_lanes(writer), fill->name, fill->of_row);
}

static const char *row_of(const Writer *writer, const char *pointer) {
    return arena_format(writer->arena, "%s + r * %s", pointer, writer->columns);
}

static void write_gets(const Writer *writer, Text *text) {
    vector_each(Fill, fill, writer->fills)
        if (fill->whole) write_get(writer, fill->name, fill->line, text);
        else if (fill->of_row && !fill->repeats) write_row_value(writer, fill, text);
    vector_each(Pointer, pointer, writer->pointers) {
        const char *array = array_name(writer, pointer->name), *name = pointer->name;
        if (has_name(&writer->lines[LEVEL_column], name))
            write_get(writer, array, row_of(writer, name), text);
        else if (has_name(&writer->stores, name)) declare_array(writer, array, text);
    }
}

static void write_puts(const Writer *writer, Text *text) {
    vector_each(Pointer, pointer, writer->pointers)
        if (has_name(&writer->stores, pointer->name))
            text_format(text, "            flow_put_narrow_%d(%s, %s, %s);\n", narrow_lanes(writer),
                        row_of(writer, pointer->name), array_name(writer, pointer->name),
                        writer->columns);
}

void write_narrow_vectors(const Writer *writer, Text *text) {
    write_gets(writer, text);
    text_format(text,
                "            FLOW_INDEPENDENT FLOW_VECTORS\n"
                "            for (int64_t j = 0; j < %d; j++) {\n",
                narrow_lanes(writer));
    add_lines(text, of_arrays(writer, &writer->lines[LEVEL_column]), 4);
    add_lines(text, of_arrays(writer, &writer->stores), 4);
    text_add(text, "            }\n");
    write_puts(writer, text);
}
