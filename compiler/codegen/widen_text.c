/* Widen text: one loop over elements of four bytes that are computed from elements of one. A group
 * of these is widened first, so that the loop has one width of elements: of two, gcc lets the
 * narrow one fill its vectors, and takes them apart again. */
#include "compiler/codegen/writer.h"

#include "compiler/codegen/templates/loops.h"

#include <string.h>

static int size_of(const Writer *writer, NodeId id) {
    return element_info[node_of(writer, id)->type.element].size;
}

bool widens(const Writer *writer) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        NodeId id = writer->kernel->nodes[at];
        if (is_stored(writer, id) && size_of(writer, id) != 4) return false;
    }
    return !streams(writer);
}

bool is_widened(const Writer *writer, NodeId id, const char *index) {
    return writer->widens && size_of(writer, id) == 1 && !strcmp(index, "i");
}

const char *widened_load(Writer *writer, const char *pointer) {
    vector_each(Pointer, known, writer->pointers)
        if (!strcmp(known->name, pointer)) known->widened = true;
    return arena_format(writer->arena, "wide_%s[j]", pointer);
}

bool has_widened(const Writer *writer) {
    vector_each(Pointer, pointer, writer->pointers)
        if (pointer->widened) return true;
    return false;
}

/* count: elements; NULL: FLOW_LANES. */
static void write_group(Writer *writer, Text *text, const char *lines, const char *count) {
    vector_each(Pointer, pointer, writer->pointers) {
        const char *type = element_info[pointer->element].c, *name = pointer->name;
        if (pointer->widened && count)
            text_format(text, "        const %s *const wide_%s = %s + at;\n", type, name, name);
        else if (pointer->widened)
            text_format(text, "        FLOW_WIDE_%s(wide_%s, %s + at);\n",
                        pointer->element == TYPE_i8 ? "i8" : "u8", name, name);
    }
    text_format(text,
                "        FLOW_INDEPENDENT FLOW_VECTORS\n"
                "        for (int64_t j = 0; j < %s; j++) {\n"
                "            const int64_t i = at + j;\n"
                "            (void)i;\n%s        }\n",
                count ? count : "FLOW_LANES", lines);
}

/* Are the shares of all threads whole groups? They are whole blocks of rows, but for the last, or
 * whole records. */
static bool is_whole(const Writer *writer) {
    int64_t rows, columns;
    return dim_is_constant(writer->loops->columns, &columns) &&
           (columns % FLOW_LANES == 0 ||
            (!writer->kernel->records && dim_is_constant(writer->loops->rows, &rows) &&
             rows * columns % FLOW_LANES == 0 && FLOW_SHARE_BLOCK * columns % FLOW_LANES == 0));
}

void write_widened_loop(Writer *writer, Text *text) {
    Text lines = text_new(writer->arena);
    move_lines(writer, &writer->lines[LEVEL_column], &lines, 3);
    move_lines(writer, &writer->stores, &lines, 3);
    text_format(text,
                "    int64_t at = first * %s;\n"
                "    for (; at < last * %s - (FLOW_LANES - 1); at += FLOW_LANES) {\n",
                writer->columns, writer->columns);
    write_group(writer, text, text_string(&lines), NULL);
    text_add(text, "    }\n");
    if (is_whole(writer)) return;
    text_format(text,
                "    const int64_t rest = last * %s - at;\n"
                "    if (rest > 0) {\n",
                writer->columns);
    write_group(writer, text, text_string(&lines), "rest");
    text_add(text, "    }\n");
}
