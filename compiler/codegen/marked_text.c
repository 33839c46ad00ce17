/* Marked text: see marked_text.h. */
#include "compiler/codegen/marked_text.h"

#include "lang/base/text.h"

#include <stdbool.h>
#include <string.h>

static const char *without_marks(Arena *arena, const char *marked, bool hints, const char *kernel) {
    Text text = text_new(arena);
    for (size_t size; *marked; marked += size) {
        size = strcspn(marked, MARK_HINT MARK_END MARK_KERNEL);
        text_add_bytes(&text, marked, size);
        if (marked[size] == *MARK_KERNEL) text_add(&text, kernel);
        if (marked[size] == *MARK_HINT && !hints) size += strcspn(marked + size, MARK_END);
        size += marked[size] != '\0';
    }
    return text_string(&text);
}

const char *without_hints(Arena *arena, const char *marked) {
    return without_marks(arena, marked, false, "kernel");
}

const char *with_hints(Arena *arena, const char *marked, const char *kernel) {
    return without_marks(arena, marked, true, kernel);
}
