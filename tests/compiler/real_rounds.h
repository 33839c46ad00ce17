/* Real rounds: what is decided about in the examples, for several machines. */
#ifndef TESTS_COMPILER_REAL_ROUNDS_H
#define TESTS_COMPILER_REAL_ROUNDS_H

#include "compiler/balance/decide.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const real_programs[] = {"digits", "titanic", "housing",    "sine",
                                            "photos", "score",   "autoencoder"};
enum { REAL_PROGRAMS = sizeof real_programs / sizeof *real_programs };

/* Of the profile that examples/machines has: the CPU and the link so many times as fast. */
typedef struct RealMachine {
    double cpu, link;
} RealMachine;
static const RealMachine real_machines[] = {{1, 1}, {0.02, 1}, {0.02, 30}, {0.1, 0.05}};
enum { REAL_MACHINES = sizeof real_machines / sizeof *real_machines };

typedef Vector(Source *) Sources;

static int is_flow(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot && !strcmp(dot, ".flow");
}

static Sources read_library(Arena *arena) {
    Sources library = {0};
    struct dirent **entries;
    int count = scandir("lang/std", &entries, is_flow, alphasort);
    for (int i = 0; i < count; i++) {
        const char *why, *path = arena_format(arena, "lang/std/%s", entries[i]->d_name);
        vector_push(arena, &library, source_read(arena, path, &why));
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return library;
}

static const Profile *read_machine(Arena *arena, const RealMachine *machine) {
    const char *why, *path = "examples/machines/h200.profile";
    const Source *file = source_read(arena, path, &why);
    Profile *profile = file ? (Profile *)profile_parse(arena, file->text, path, &why) : NULL;
    if (!profile) return printf("%s\n", why), NULL;
    static const FigureName rates[] = {FIGURE_f32, FIGURE_f64, FIGURE_bf16, FIGURE_cache,
                                       FIGURE_memory};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        profile->cpu.figures[rates[i]].value *= machine->cpu;
    profile->gpus.items[0].figures[FIGURE_link].value *= machine->link;
    return profile;
}

static Program *compile_example(Arena *arena, const Sources *library, const char *name) {
    Diagnostics *diagnostics = diagnostics_new(arena);
    const char *why, *broken = NULL;
    const Source *source = source_read(arena, arena_format(arena, "examples/%s.flow", name), &why);
    if (!source) return printf("%s: %s\n", name, why), NULL;
    const Module *module =
        module_load(arena, source, library->items, library->count, NULL, diagnostics);
    Program *program = lower_program(arena, module, name, NULL, 0, diagnostics);
    for (int i = 0; i < pass_count && !diagnostics->list.count; i++)
        pass_run(&passes[i], program, diagnostics, &broken);
    diagnostics_print(diagnostics, stdout, false);
    program->gpus = 1;
    return diagnostics->list.count ? NULL : program;
}

#endif
