/* Places text: where what rows read lies, found for several rows before any is worked on. */
#include "compiler/codegen/writer.h"

#include <string.h>

/* Does it tell where something lies? */
static bool is_place(const Variable *variable) {
    return !variable->type || strchr(variable->type, '*');
}

bool has_places(const Writer *writer) {
    bool any = false;
    vector_each(Variable, variable, writer->variables) {
        if (variable->level != LEVEL_row) continue;
        if (!is_place(variable)) return false;
        any = true;
    }
    return any;
}

void place_rows(Writer *writer, const Text *users, const char *head, const char *index,
                const char *size, int depth, Text *text) {
    Text loop = text_new(writer->arena), *row = &writer->lines[LEVEL_row];
    const int step = 4 * depth;
    text_format(&loop, "%*sFLOW_INDEPENDENT\n%s", step, "", head);
    move_lines(writer, row, &loop, depth + 1);
    vector_each(Variable, place, writer->variables) {
        const char *name = place->name, *type = place->type ? place->type : "int64_t";
        if (place->level != LEVEL_row || !has_name(users, name)) continue;
        text_format(text, "%*s%s%s %s_of[%s];\n", step, "", place->type ? "const " : "", type, name,
                    size);
        text_format(&loop, "%*s%s_of[%s] = %s;\n", step + 4, "", name, index, name);
        text_format(row, "const %s %s = %s_of[%s];\n", type, name, name, index);
    }
    text_format(text, "%s%*s}\n", text_string(&loop), step, "");
}
