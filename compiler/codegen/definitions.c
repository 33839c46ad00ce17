#include "compiler/codegen/definitions.h"

#include <ctype.h>
#include <string.h>

static bool read_line(Arena *arena, const char *line, size_t size, Definition *definition) {
    static const char start[] = "const ";
    const char *text = arena_copy(arena, line, size), *equal = strstr(text, " = ");
    if (strncmp(text, start, strlen(start)) || !equal || text[size - 1] != ';') return false;
    const char *name = equal;
    while (name[-1] != ' ' && name[-1] != '*') name--;
    text += strlen(start);
    *definition = (Definition){
        .type = arena_copy(arena, text, (size_t)(name - text)),
        .name = arena_copy(arena, name, (size_t)(equal - name)),
        .value = arena_copy(arena, equal + 3, strlen(equal + 3) - 1),
        .loads = strstr(equal, "FLOW_LOAD(") != NULL,
        .is_place = name[0] == 'p' && isdigit((unsigned char)name[1]),
    };
    return true;
}

bool read_definitions(Arena *arena, const Text *lines, Definitions *all) {
    for (const char *line = text_string(lines); *line;) {
        const size_t size = strcspn(line, "\n");
        Definition definition;
        if (!read_line(arena, line, size, &definition)) return false;
        vector_push(arena, all, definition);
        line += size + (line[size] == '\n');
    }
    return true;
}

/* What a line speaks of was defined before it. */
bool *find_wanted(Arena *arena, const Definitions *all, const char *users, EndsThere *ends) {
    Text text = text_new(arena);
    bool *wanted = arena_new_array(arena, bool, all->count + 1);
    text_add(&text, users);
    for (size_t i = all->count; i-- > 0;) {
        const Definition *line = &all->items[i];
        wanted[i] = has_name(&text, line->name);
        if (wanted[i] && !(ends && ends(line))) text_format(&text, "%s\n", line->value);
    }
    return wanted;
}

void write_definition(Text *text, int depth, const Definition *definition, const char *value) {
    text_format(text, "%*sconst %s%s = %s;\n", 4 * depth, "", definition->type, definition->name,
                value);
}
