/* flowc run. */
#define _GNU_SOURCE
#include "compiler/codegen/names.h"
#include "compiler/driver/ahead.h"
#include "compiler/driver/cache.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/files.h"
#include "compiler/driver/kept_times.h"
#include "compiler/driver/placement.h"
#include "compiler/driver/recall.h"
#include "compiler/driver/select.h"
#include "lang/base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder of the .flow file as a C string literal, absolute. */
static const char *folder_literal(Arena *arena, const char *file) {
    return string_literal(arena, path_full(arena, path_folder(arena, file)));
}

static Strings words_of(const Compilation *compilation) {
    Strings words = {0};
    vector_push(compilation->arena, &words, compilation->program->name);
    vector_each(const char *, word, compilation->remaining)
        vector_push(compilation->arena, &words, *word);
    return words;
}

static int start(const Compilation *compilation, const CacheEntry *entry, const Strings *words) {
    const Arguments *arguments = compilation->arguments;
    if (arguments->visible_devices)
        setenv("FLOWC_VISIBLE_DEVICES", arguments->visible_devices, true);
    times_ask(compilation);
    fflush(stdout);
    const char *folder = entry->temporary && !arguments->keep ? entry->folder : NULL;
    process_become(compilation->arena, entry->program, words, folder);
    fprintf(stderr, "flowc: %s: %s\n", entry->program, strerror(errno));
    return EXIT_resource;
}

/* Selects what is run, and where. */
static int choose(Compilation *compilation) {
    if (!has_trainer(compilation, "run")) return EXIT_program;
    int status = select_trains(compilation);
    if (status == EXIT_ok && !has_one_train(compilation)) status = EXIT_usage;
    if (status == EXIT_ok && !is_asked_about(compilation)) status = settle_devices(compilation);
    return status;
}

/* Compiles, and starts what comes of it. note: where to keep that; or NULL. */
static int compile_and_start(Arguments *arguments, const char *folder, const char *note) {
    Compilation compilation;
    Toolchain toolchain;
    arguments->uses_gpus = true;
    int status = command_compile(&compilation, arguments, false, STOP_plan);
    if (status == EXIT_ok) status = choose(&compilation);
    if (status == EXIT_ok) status = toolchain_for_trainer(&toolchain, &compilation, "native");
    if (status != EXIT_ok) return status;
    double since = seconds();
    Generated generated = codegen_trainer(compilation.arena, compilation.plan);
    status = ahead_add(&compilation, &generated);
    if (status != EXIT_ok) return status;
    report_time(&compilation, "codegen", &since);
    CacheEntry entry;
    if (!cache_program(&toolchain, &generated, folder, arguments->no_cache, &entry))
        return compilation_failed(&compilation) ? EXIT_program : EXIT_resource;
    report_time(&compilation, "compile", &since);
    if (arguments->keep) fprintf(stderr, "flowc: the generated files are in %s\n", entry.folder);
    const Strings words = words_of(&compilation);
    recall_keep(&compilation, folder, note, &entry, &words);
    return start(&compilation, &entry, &words);
}

int command_run(Arguments *arguments) {
    Arena *arena = arena_new(); /* lives as long as the process */
    const char *folder = folder_literal(arena, arguments->file), *note = NULL;
    CacheEntry entry;
    Strings words = {0};
    Home home;
    double since = seconds();
    const Compilation line = {.arena = arena, .arguments = arguments, .home = &home};
    if (home_place(arena, &home)) note = recall_place(&line, folder);
    if (recall(arena, note, &entry, &words)) {
        report_time(&line, "recall", &since);
        process_become(arena, entry.program, &words, NULL); /* returns if it is gone by now */
    }
    return compile_and_start(arguments, folder, note);
}
