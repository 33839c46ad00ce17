/* GPU ahead text: a thread's elements, a few of them in each turn. What all of them load is asked
 * for before the first one is stored: a load takes hundreds of cycles, in which a thread that waits
 * for it does nothing. */
#include "compiler/codegen/definitions.h"
#include "compiler/codegen/gpu_text.h"

#include <string.h>

static Text text_with(Arena *arena, const char *line) {
    Text text = text_new(arena);
    text_add(&text, line);
    return text;
}

/* What is loaded where the sum says, waits for the sum. */
static void find_late(Arena *arena, const Definitions *all) {
    Text late = text_with(arena, "sum\n");
    vector_each(Definition, line, *all) {
        const Text value = text_with(arena, line->value);
        bool waits = has_name(&value, "sum");
        vector_each(Definition, other, *all)
            waits |= has_name(&late, other->name) && has_name(&value, other->name);
        if (!waits) continue;
        line->loads = false;
        text_format(&late, "%s\n", line->name);
    }
}

/* The lines of rows and columns; false: not all are definitions. */
static bool read_all(const Writer *writer, Definitions *all) {
    const bool known = read_definitions(writer->arena, &writer->lines[LEVEL_row], all) &&
                       read_definitions(writer->arena, &writer->lines[LEVEL_column], all);
    find_late(writer->arena, all);
    return known;
}

static bool is_loaded(const Definition *line) {
    return line->loads;
}

static bool is_written(const Writer *writer, const char *value) {
    const Text text = text_with(writer->arena, value);
    vector_each(Pointer, pointer, writer->pointers)
        if (pointer->written && has_name(&text, pointer->name)) return true;
    return false;
}

/* Whose elements were loaded before, and lie as they did; or NULL. */
static const Definition *find_kept(const Writer *writer, const Definitions *kept,
                                   const Definition *line) {
    if (!kept || is_written(writer, line->value)) return NULL;
    vector_each(Definition, known, *kept)
        if (!strcmp(known->value, line->value)) return known;
    return NULL;
}

GpuLines gpu_lines(const Writer *writer, const Definitions *kept) {
    Definitions all = {0};
    GpuLines lines = {.loads = kept ? (int)kept->count : 0};
    if (!read_all(writer, &all)) return (GpuLines){.loads = -1};
    lines.count = (int)all.count;
    vector_each(Definition, line, all) lines.loads += line->loads && !find_kept(writer, kept, line);
    return lines;
}

int gpu_ahead(const Writer *writer, int most, int registers) {
    const int loads = gpu_lines(writer, NULL).loads;
    int count = most;
    while (count > 1 && count * loads > registers) count /= 2;
    return loads > 0 ? count : 1;
}

/* Does another line say where it lies? */
static bool depends(Arena *arena, const Definitions *all, const Definition *line) {
    const Text value = text_with(arena, line->value);
    vector_each(Definition, other, *all)
        if (has_name(&value, other->name)) return true;
    return false;
}

/* The lines; of each, whether what is stored wants it; of those among them that load, the array. */
typedef struct Ahead {
    Definitions lines;
    const bool *wanted;
    const char **arrays;
    Text loaded; /* names of those that are not kept from before */
} Ahead;

static void find_arrays(Writer *writer, Ahead *ahead, Definitions *kept) {
    Arena *arena = writer->arena;
    ahead->arrays = arena_new_array(arena, const char *, ahead->lines.count + 1);
    ahead->loaded = text_new(arena);
    ahead->wanted = find_wanted(arena, &ahead->lines, text_string(&writer->stores), is_loaded);
    for (size_t i = 0; i < ahead->lines.count; i++) {
        const Definition *line = &ahead->lines.items[i];
        if (!line->loads || !ahead->wanted[i]) continue;
        const Definition *known = find_kept(writer, kept, line);
        ahead->arrays[i] = arena_format(arena, "ahead_%s", known ? known->name : line->name);
        if (known) continue;
        text_format(&ahead->loaded, "%s\n", line->name);
        if (kept && !depends(arena, &ahead->lines, line)) vector_push(arena, kept, *line);
    }
}

static void begin_loop(Text *text, int depth, const char *head) {
    text_format(text, "%*sFLOW_UNROLL for (int u = 0; u < AHEAD; u++) {\n%s", 4 * depth, "", head);
}

static void write_loads(Arena *arena, const Ahead *ahead, Text *text, int depth, const char *head) {
    const Definitions *all = &ahead->lines;
    const bool *wanted = find_wanted(arena, all, text_string(&ahead->loaded), NULL);
    if (!ahead->loaded.size) return;
    vector_each(Definition, line, *all)
        if (has_name(&ahead->loaded, line->name))
            text_format(text, "%*s%sahead_%s[AHEAD];\n", 4 * depth, "", line->type, line->name);
    begin_loop(text, depth, head);
    for (size_t i = 0; i < all->count; i++) {
        const Definition *line = &all->items[i];
        if (!wanted[i]) continue;
        write_definition(text, depth + 1, line, line->value);
        if (has_name(&ahead->loaded, line->name))
            text_format(text, "%*sahead_%s[u] = %s;\n", 4 * depth + 4, "", line->name, line->name);
    }
    text_format(text, "%*s}\n", 4 * depth, "");
}

/* The lines without loads, but for those that nobody speaks of any more. */
static void write_rest(Writer *writer, const Ahead *ahead, Text *text, int depth) {
    for (size_t i = 0; i < ahead->lines.count; i++) {
        const Definition *line = &ahead->lines.items[i];
        if (ahead->wanted[i])
            write_definition(text, depth, line,
                             line->loads ? arena_format(writer->arena, "%s[u]", ahead->arrays[i])
                                         : line->value);
    }
}

void write_gpu_ahead(Writer *writer, Text *text, int depth, const char *head, const char *own,
                     int count, Definitions *kept) {
    Ahead ahead = {0};
    if (count > 1) {
        read_all(writer, &ahead.lines); /* or there would be one element */
        find_arrays(writer, &ahead, kept);
        write_loads(writer->arena, &ahead, text, depth, head);
        writer->lines[LEVEL_row] = writer->lines[LEVEL_column] = text_new(writer->arena);
    }
    begin_loop(text, depth, head);
    text_add(text, own);
    write_rest(writer, &ahead, text, depth + 1);
    move_lines(writer, &writer->lines[LEVEL_row], text, depth + 1);
    move_lines(writer, &writer->lines[LEVEL_column], text, depth + 1);
    move_lines(writer, &writer->stores, text, depth + 1);
    text_format(text, "%*s}\n", 4 * depth, "");
}
