/* flowc run. */
#define _GNU_SOURCE
#include "compiler/codegen/names.h"
#include "compiler/driver/ahead.h"
#include "compiler/driver/cache.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/files.h"
#include "compiler/driver/kept_times.h"
#include "compiler/driver/placement.h"
#include "compiler/driver/select.h"
#include "lang/base/path.h"

#include <stdio.h>
#include <stdlib.h>

/* The folder of the .flow file as a C string literal, absolute. */
static const char *folder_literal(Arena *arena, const char *file) {
    const char *folder = path_folder(arena, file);
    char *full = realpath(folder, NULL);
    const char *literal = string_literal(arena, full ? full : folder);
    free(full);
    return literal;
}

static int start(const Compilation *compilation, const CacheEntry *entry) {
    Strings words = {0};
    vector_push(compilation->arena, &words, compilation->program->name);
    for (size_t i = 0; i < compilation->remaining.count; i++)
        vector_push(compilation->arena, &words, compilation->remaining.items[i]);
    if (compilation->arguments->visible_devices)
        setenv("FLOWC_VISIBLE_DEVICES", compilation->arguments->visible_devices, true);
    times_ask(compilation);
    fflush(stdout);
    const char *folder = entry->temporary && !compilation->arguments->keep ? entry->folder : NULL;
    process_become(compilation->arena, entry->program, &words, folder);
    return EXIT_resource;
}

int command_run(Arguments *arguments) {
    Compilation compilation;
    arguments->uses_gpus = true;
    int status = command_compile(&compilation, arguments, false, STOP_plan);
    if (status != EXIT_ok) return status;
    if (!has_trainer(&compilation, "run")) return EXIT_program;
    status = select_trains(&compilation);
    if (status == EXIT_ok && !has_one_train(&compilation)) status = EXIT_usage;
    if (status == EXIT_ok && !is_asked_about(&compilation)) status = settle_devices(&compilation);
    if (status != EXIT_ok) return status;
    Toolchain toolchain;
    status = toolchain_for_trainer(&toolchain, &compilation, "native");
    if (status != EXIT_ok) return status;
    double since = seconds();
    Generated generated = codegen_trainer(compilation.arena, compilation.plan);
    status = ahead_add(&compilation, &generated);
    if (status != EXIT_ok) return status;
    report_time(&compilation, "codegen", &since);
    CacheEntry entry;
    const char *folder = folder_literal(compilation.arena, arguments->file);
    if (!cache_program(&toolchain, &generated, folder, arguments->no_cache, &entry))
        return compilation_failed(&compilation) ? EXIT_program : EXIT_resource;
    report_time(&compilation, "compile", &since);
    if (arguments->keep) fprintf(stderr, "flowc: the generated files are in %s\n", entry.folder);
    return start(&compilation, &entry);
}
