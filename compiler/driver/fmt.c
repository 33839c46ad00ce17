/* flowc fmt. */
#define _GNU_SOURCE
#include "compiler/driver/commands.h"
#include "compiler/driver/files.h"
#include "compiler/driver/report.h"
#include "lang/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Source *read_input(Arena *arena, const char **why) {
    Text text = text_new(arena);
    char bytes[1 << 16];
    for (size_t size; (size = fread(bytes, 1, sizeof bytes, stdin)) > 0;) {
        text_add_bytes(&text, bytes, size);
        if (text.size > SOURCE_SIZE_LIMIT) break;
    }
    if (ferror(stdin)) *why = strerror(errno);
    else if (text.size > SOURCE_SIZE_LIMIT) *why = "it is larger than 16 MiB";
    else return source_from_text(arena, "standard input", text_string(&text), text.size);
    return NULL;
}

static int write_output(const Arguments *arguments, Arena *arena, const char *path,
                        const Text *text) {
    bool written =
        !strcmp(path, "-")
            ? fwrite(text_string(text), 1, text->size, stdout) == text->size && !fflush(stdout)
            : file_rewrite(arena, path, text_string(text), text->size);
    if (!written) report_file(arguments, path, strerror(errno));
    return written ? EXIT_ok : EXIT_resource;
}

static bool is_same(const Source *source, const Text *text) {
    return source->size == text->size && !memcmp(source->text, text_string(text), text->size);
}

static int finish_file(const Arguments *arguments, Arena *arena, const char *path,
                       const Source *source, const Text *text) {
    bool same = is_same(source, text);
    if (arguments->check && !same) printf("%s\n", source->path);
    if (arguments->check) return same ? EXIT_ok : EXIT_program;
    return same && strcmp(path, "-") ? EXIT_ok : write_output(arguments, arena, path, text);
}

static int format_file(const Arguments *arguments, Arena *arena, const char *path) {
    const char *why = NULL;
    const Source *source =
        strcmp(path, "-") ? source_read(arena, path, &why) : read_input(arena, &why);
    if (!source) {
        report_file(arguments, path, why);
        return EXIT_program;
    }
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Text *text = format(arena, source, diagnostics);
    if (text) return finish_file(arguments, arena, path, source, text);
    if (report_diagnostics(arguments, diagnostics)) return EXIT_program;
    fprintf(stderr, "flowc: internal error in formatting %s; please report it with the file\n",
            path);
    return EXIT_internal;
}

/* A file of no use does not keep the others from being formatted. */
static int format_in_own_arena(const Arguments *arguments, const char *path) {
    Arena *arena = arena_new();
    int status = format_file(arguments, arena, path);
    arena_free(arena);
    return status;
}

int command_fmt(Arguments *arguments) {
    vector_each(const char *, path, arguments->program) {
        if ((*path)[0] != '-' || !(*path)[1]) continue;
        fprintf(stderr, "flowc fmt: there is no flag `%s`\n", *path);
        return EXIT_usage;
    }
    int worst = format_in_own_arena(arguments, arguments->file);
    vector_each(const char *, path, arguments->program) {
        int status = format_in_own_arena(arguments, *path);
        if (status > worst) worst = status;
    }
    return worst;
}
