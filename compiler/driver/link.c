/* Link: the files of C functions that a program calls by `extern fn`. Whether they have what is
 * called is asked of `nm`, before the linker could only complain about a symbol. */
#include "compiler/driver/files.h"
#include "compiler/driver/toolchain.h"
#include "compiler/passes/passes.h"
#include "lang/base/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_in(const char *path, const char *ending) {
    size_t size = strlen(path), length = strlen(ending);
    return size > length && !strcmp(path + size - length, ending);
}

bool is_source(const char *path) {
    return ends_in(path, ".c");
}

bool is_shared(const char *path) {
    return ends_in(path, ".so");
}

static int refuse(const char *path, const char *why, int status) {
    fprintf(stderr, "flowc: --link=%s: %s\n", path, why);
    return status;
}

static int add_file(Toolchain *toolchain, const char *path) {
    if (!is_source(path) && !is_shared(path) && !ends_in(path, ".o") && !ends_in(path, ".a"))
        return refuse(path, "what is linked ends in .c, .o, .a or .so", EXIT_usage);
    char *full = realpath(path, NULL);
    if (!full) return refuse(path, strerror(errno), EXIT_resource);
    vector_push(toolchain->arena, &toolchain->linked,
                arena_copy(toolchain->arena, full, strlen(full)));
    free(full);
    return EXIT_ok;
}

int toolchain_link(Toolchain *toolchain, const Compilation *compilation, Program *program) {
    toolchain->diagnostics = compilation->diagnostics;
    FunctionList functions = program_functions(toolchain->arena, program);
    vector_each(Function *, function, functions)
        external_collect(toolchain->arena, (*function)->graph, &toolchain->externals);
    vector_each(const char *, path, compilation->arguments->link) {
        int status = add_file(toolchain, *path);
        if (status != EXIT_ok) return status;
    }
    return EXIT_ok;
}

int toolchain_for_trainer(Toolchain *toolchain, const Compilation *compilation,
                          const char *otherwise) {
    *toolchain = (Toolchain){.arena = compilation->arena, .home = compilation->home};
    int status = toolchain_find(toolchain, compilation->arguments, otherwise);
    if (status != EXIT_ok) return status;
    toolchain_use(toolchain, compilation->program);
    return toolchain_link(toolchain, compilation, compilation->program);
}

const char *linked_content(const Toolchain *toolchain, const char *path, size_t *size) {
    Strings words = {0};
    if (!is_source(path)) {
        const char *bytes = file_read(toolchain->arena, path, size);
        if (!bytes) refuse(path, strerror(errno), EXIT_resource);
        return bytes;
    }
    vector_push(toolchain->arena, &words, toolchain->compiler);
    vector_push(toolchain->arena, &words, "-E");
    vector_push(toolchain->arena, &words, path);
    return process_output(toolchain->arena, &words, size);
}

/* Symbols. */

/* Adds the functions of an `nm -P` listing, whose lines are "name T value size". */
static void add_functions(Arena *arena, const char *listing, Map *functions) {
    while (*listing) {
        size_t length = strcspn(listing, " \n"), line = strcspn(listing, "\n");
        bool function = length + 1 < line && strchr("TWi", listing[length + 1]);
        if (function) map_put(functions, arena_copy(arena, listing, length), functions);
        listing += line + (listing[line] == '\n');
    }
}

static bool read_functions(const Toolchain *toolchain, const char *path, Map *functions) {
    Arena *arena = toolchain->arena;
    Strings words = {0};
    size_t size;
    vector_push(arena, &words, "nm");
    vector_push(arena, &words, is_shared(path) ? "-DgP" : "-gP");
    vector_push(arena, &words, "--defined-only");
    vector_push(arena, &words, path);
    const char *listing = process_output(arena, &words, &size);
    if (listing) add_functions(arena, listing, functions);
    return listing;
}

static void report_missing(const Toolchain *toolchain, const External *external) {
    Diagnostic *d =
        diagnostic_add(toolchain->diagnostics, E0307, external->declared,
                       toolchain->linked.count ? "no linked file has a function `%s`"
                                               : "no file with a function `%s` is linked",
                       external->name);
    diagnostic_help(d, "`--link=FILE`: its .c, .o, .a or .so; it may not be static");
}

/* What the runtime has would be called in place of the program's own function. */
static bool report_taken(const Toolchain *toolchain, const Map *runtime, const External *external) {
    if (!map_get(runtime, external->name)) return false;
    Diagnostic *d =
        diagnostic_add(toolchain->diagnostics, E0214, external->declared,
                       "flowc's runtime has a function `%s` of its own", external->name);
    diagnostic_help(d, "give the C function another name");
    return true;
}

bool externals_defined(const Toolchain *toolchain, const Strings *objects) {
    bool all = true;
    Map functions = map_new(toolchain->arena), runtime = map_new(toolchain->arena);
    if (!toolchain->externals.count) return true;
    if (!read_functions(toolchain, toolchain->home->runtime, &runtime)) return false;
    for (size_t i = 0; i < objects->count; i++)
        if (!read_functions(toolchain, objects->items[i], &functions)) return false;
    vector_each(const char *, path, toolchain->linked)
        if (is_shared(*path) && !read_functions(toolchain, *path, &functions)) return false;
    vector_each(const External *, external, toolchain->externals) {
        bool taken = report_taken(toolchain, &runtime, *external);
        bool found = map_get(&functions, (*external)->name);
        if (!taken && !found) report_missing(toolchain, *external);
        all &= found && !taken;
    }
    return all;
}
