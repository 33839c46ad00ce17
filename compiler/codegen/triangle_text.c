/* Triangle text: how many columns or depths a row sees (plan/triangle.c), and zeros behind them. */
#include "compiler/codegen/writer.h"

static const char *seen_text(Writer *writer, bool seen, const char *row, const char *all) {
    const Triangle *triangle = &writer->kernel->triangle;
    if (!seen) return arena_format(writer->arena, "(%s)", all);
    return arena_format(writer->arena, "flow_seen(%s, %lld, %lld, %s)", row,
                        (long long)triangle->queries, (long long)triangle->seen, all);
}

const char *seen_columns(Writer *writer, const char *row, const char *all) {
    return seen_text(writer, writer->kernel->triangle.columns, row, all);
}

static const char *first_text(Writer *writer) {
    const Triangle *triangle = &writer->kernel->triangle;
    if (!triangle->turned) return "0";
    return arena_format(writer->arena, "flow_unseen(row, %lld, all)", (long long)triangle->seen);
}

void write_triangle(Writer *writer, Text *text) {
    const Triangle *triangle = &writer->kernel->triangle;
    const Macro macros[] = {
        {"SEES_COLUMNS", triangle->columns ? "1" : "0"},
        {"SEES_DEPTH", triangle->depth || triangle->turned ? "1" : "0"},
        {"SEEN_COLUMNS(row, all)", seen_text(writer, triangle->columns, "row", "all")},
        {"SEEN_DEPTH(row, all)", seen_text(writer, triangle->depth, "row", "all")},
        {"UNSEEN_DEPTH(row, all)", first_text(writer)},
    };
    write_macros(text, macros, sizeof macros / sizeof *macros);
}

void write_unseen(Writer *writer, Text *text, const char *row, const char *seen) {
    for (size_t at = 0; at < writer->kernel->node_count; at++) {
        const NodeId id = writer->kernel->nodes[at];
        if (!is_stored(writer, id) || own_index(writer, id) != INDEX_full ||
            writer->plan->partial[id])
            continue;
        const char *pointer = pointer_to(writer, id, true);
        text_format(text,
                    "        __builtin_memset(%s + %s + %s, 0, (size_t)(%s - %s) * sizeof *%s);\n",
                    pointer, row, seen, writer->columns, seen, pointer);
    }
}
