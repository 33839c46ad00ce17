/* GPU ahead text: a thread's elements, a few of them in each turn. What all of them load is asked
 * for before the first one is stored: a load takes hundreds of cycles, in which a thread that waits
 * for it does nothing. */
#include "compiler/codegen/definitions.h"
#include "compiler/codegen/gpu_text.h"

int gpu_ahead(const Writer *writer, int most, int registers) {
    Definitions all = {0};
    int loads = 0, count = most;
    if (!read_definitions(writer->arena, &writer->lines[LEVEL_row], &all) ||
        !read_definitions(writer->arena, &writer->lines[LEVEL_column], &all))
        return 1;
    vector_each(Definition, line, all) loads += line->loads;
    while (count > 1 && count * loads > registers) count /= 2;
    return loads ? count : 1;
}

static void begin_loop(Text *text, int depth, const char *head) {
    text_format(text, "%*sFLOW_UNROLL for (int u = 0; u < AHEAD; u++) {\n%s", 4 * depth, "", head);
}

static bool goes_on(const Definition *line) {
    (void)line;
    return false;
}

static bool is_loaded(const Definition *line) {
    return line->loads;
}

static void write_loads(Arena *arena, const Definitions *all, Text *text, int depth,
                        const char *head) {
    const int step = 4 * depth;
    Text loaded = text_new(arena);
    vector_each(Definition, line, *all) {
        if (!line->loads) continue;
        text_format(text, "%*s%sahead_%s[AHEAD];\n", step, "", line->type, line->name);
        text_format(&loaded, "%s\n", line->name);
    }
    const bool *wanted = find_wanted(arena, all, text_string(&loaded), goes_on);
    begin_loop(text, depth, head);
    for (size_t i = 0; i < all->count; i++) {
        const Definition *line = &all->items[i];
        if (!wanted[i]) continue;
        write_definition(text, depth + 1, line, line->value);
        if (line->loads)
            text_format(text, "%*sahead_%s[u] = %s;\n", step + 4, "", line->name, line->name);
    }
    text_format(text, "%*s}\n", step, "");
}

/* The lines without loads, but for those that nobody speaks of any more. */
static void write_rest(Writer *writer, const Definitions *all, Text *text, int depth) {
    const bool *wanted = find_wanted(writer->arena, all, text_string(&writer->stores), is_loaded);
    for (size_t i = 0; i < all->count; i++) {
        const Definition *line = &all->items[i];
        if (!wanted[i]) continue;
        write_definition(text, depth, line,
                         line->loads ? arena_format(writer->arena, "ahead_%s[u]", line->name)
                                     : line->value);
    }
}

void write_gpu_ahead(Writer *writer, Text *text, int depth, const char *head, const char *own,
                     int count) {
    Text lines = text_new(writer->arena);
    Definitions all = {0};
    move_lines(writer, &writer->lines[LEVEL_row], &lines, 0);
    move_lines(writer, &writer->lines[LEVEL_column], &lines, 0);
    if (count > 1) {
        read_definitions(writer->arena, &lines, &all);
        write_loads(writer->arena, &all, text, depth, head);
    }
    begin_loop(text, depth, head);
    text_add(text, own);
    if (count > 1) write_rest(writer, &all, text, depth + 1);
    else move_lines(writer, &lines, text, depth + 1);
    move_lines(writer, &writer->stores, text, depth + 1);
    text_format(text, "%*s}\n", 4 * depth, "");
}
