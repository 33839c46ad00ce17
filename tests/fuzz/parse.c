/* Fuzz: any bytes parse without a crash, and an expression that parses prints as itself. */
#include "lang/parse.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void print_diagnostics(const Diagnostics *diagnostics) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file) abort();
    diagnostics_print(diagnostics, file, size % 2);
    fclose(file);
    free(text);
}

static void parse_program(Arena *arena, const Source *source) {
    Diagnostics *diagnostics = diagnostics_new(arena);
    Text text = text_new(arena);
    tree_print(parse(arena, source, diagnostics), &text);
    print_diagnostics(diagnostics);
}

/* NULL when it does not parse. */
static const char *print_expression(Arena *arena, const Source *source) {
    Diagnostics *diagnostics = diagnostics_new(arena);
    Text text = text_new(arena);
    expression_print(parse_expression(arena, source, diagnostics), &text);
    print_diagnostics(diagnostics);
    return diagnostics->list.count ? NULL : text_string(&text);
}

static void print_twice(Arena *arena, const Source *source) {
    const char *once = print_expression(arena, source);
    if (!once) return;
    const char *twice =
        print_expression(arena, source_from_text(arena, "printed", once, strlen(once)));
    assert(twice && !strcmp(once, twice));
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    Arena *arena = arena_new();
    const Source *source = source_from_text(arena, "fuzz", size ? (const char *)bytes : "", size);
    parse_program(arena, source);
    print_twice(arena, source);
    arena_free(arena);
    return 0;
}
