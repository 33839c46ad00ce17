/* Across text: rows that a kernel reads from what lies in memory as columns, as of a transposed
 * matrix. Several at a time are put in order in a buffer `qN`, whenever the loop over rows comes to
 * one that is not there: whole ones, also a long one (wide_rows_text.c) that the share has in part.
 */
#include "compiler/codegen/writer.h"

#include <string.h>

enum {
    LEAST_COLUMNS = 8,
    MOST_COLUMNS = 4096,
    FEW_COLUMNS = 1024, /* of which more rows fit the second cache */
    MOST_BUFFERS = 2,
    LEAST_RUN = 8, /* rows, of long ones: where fewer lie side by side, short ones are as good */
    APART = 16 /* elements more than a row between two, so that not all fall on the same lines */
};

static bool can_turn(const Node *operand) {
    const ElementInfo *element = &element_info[operand->type.element];
    const bool known = element->size == 1 || element->size == 4 || element->size == 8;
    return known && !strcmp(element->c, element->computed);
}

static int64_t rows_at_a_time(int64_t columns) {
    return columns <= FEW_COLUMNS ? 16 : 8;
}

/* Adds a buffer, and to the lines of a row what fills it. */
static const char *add_buffer(Writer *writer, const Node *operand, const char *from,
                              const Across *across, int64_t columns) {
    const char *name = arena_format(writer->arena, "q%zu", writer->turned.count);
    const ElementInfo *element = &element_info[operand->type.element];
    const long long most = (long long)rows_at_a_time(columns), apart = (long long)columns + APART;
    Turned turned = {.name = name,
                     .declaration = arena_format(writer->arena, "_Alignas(64) %s %s[%lld]",
                                                 element->c, name, most * apart)};
    vector_push(writer->arena, &writer->turned, turned);
    text_format(&writer->lines[LEVEL_row],
                "if (r == %s_end) {\n"
                "    %s_end = r + flow_smaller(flow_smaller(%s - r, %lld - r %% %lld), %lld);\n"
                "    flow_across_%d(%s, %lld, %s, %lld, %lld, %s_end - r);\n"
                "    %s_first = r;\n"
                "}\n",
                name, name, writer->wide ? "last_row" : "last", (long long)across->run,
                (long long)across->run, most, element->size, name, apart, from,
                (long long)across->stride, (long long)columns, name, name);
    return arena_format(writer->arena, "%s + (r - %s_first) * %lld", name, name, apart);
}

const char *element_across(Writer *writer, const Node *view, Index index) {
    int64_t columns;
    Across across;
    const NodeId id = strip_reshapes(writer->graph, view->inputs[0]);
    const Node *operand = node_of(writer, id);
    if (!writer->turns || (writer->wide && writer->kernel->in_band) ||
        !dim_is_constant(writer->loops->columns, &columns) || columns < LEAST_COLUMNS ||
        columns > MOST_COLUMNS || !can_turn(operand) ||
        writer->plan->places[id].kind == PLACE_none || !view_across(writer, view, index, &across) ||
        (writer->wide && across.run < LEAST_RUN))
        return NULL;
    const char *at =
        arena_format(writer->arena, "across at %s, %lld", across.base, (long long)across.stride);
    const Index known = {.kind = INDEX_other, .level = LEVEL_row, .text = at};
    const char *row = find_variable(writer, id, LEVEL_row, known.text);
    if (!row && writer->turned.count == MOST_BUFFERS) return NULL;
    if (!row) {
        const char *from =
            arena_format(writer->arena, "%s + %s", pointer_to(writer, id, false), across.base);
        const char *type =
            arena_format(writer->arena, "%s *const", element_info[operand->type.element].c);
        row = define_variable(writer, id, known, type,
                              add_buffer(writer, operand, from, &across, columns));
    }
    return arena_format(writer->arena, "%s[c]", row);
}

void declare_turned(const Writer *writer, Text *text) {
    const char *first = writer->wide ? "first_row" : "first";
    vector_each(Turned, turned, writer->turned)
        text_format(text, "    %s;\n    int64_t %s_first = %s, %s_end = %s;\n", turned->declaration,
                    turned->name, first, turned->name, first);
}
