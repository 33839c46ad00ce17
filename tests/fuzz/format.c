/* Fuzz: any bytes that parse can be formatted, and what comes out is its own form. Diagnostics as
 * JSON hold no bytes that are no UTF-8. */
#include "lang/format.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void check_json(const Diagnostics *diagnostics) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file) abort();
    diagnostics_print_json(diagnostics, file);
    fclose(file);
    for (size_t at = 0, length; at < size; at += length) {
        length = code_point_length(text + at, (uint32_t)(size - at));
        if (!length || ((unsigned char)text[at] < ' ' && text[at] != '\n')) abort();
    }
    free(text);
}

static void check_again(Arena *arena, const Text *once) {
    const Source *source = source_from_text(arena, "again", text_string(once), once->size);
    const Text *twice = format(arena, source, diagnostics_new(arena));
    if (!twice || twice->size != once->size) abort();
    if (memcmp(text_string(twice), text_string(once), once->size)) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    Arena *arena = arena_new();
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Source *source = source_from_text(arena, "fuzz", size ? (const char *)bytes : "", size);
    const Text *text = format(arena, source, diagnostics);
    if (text) check_again(arena, text);
    check_json(diagnostics);
    arena_free(arena);
    return 0;
}
