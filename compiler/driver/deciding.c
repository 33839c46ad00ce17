/* Deciding. */
#include "compiler/driver/deciding.h"

#include "compiler/balance/decide.h"
#include "compiler/balance/lock.h"
#include "compiler/driver/files.h"
#include "compiler/driver/placement.h"
#include "compiler/driver/profiles.h"

#include <errno.h>

#include <stdio.h>
#include <string.h>

static bool is_fixed(const Compilation *compilation) {
    return is_placed(&compilation->program->usual);
}

static void decide_by(Compilation *compilation, const Profile *profile) {
    if (profile->gpus.count)
        compilation->decisions = decide(compilation->arena, compilation->program, profile);
}

int foretell_gpus(Compilation *compilation) {
    const Profile *profile = profile_read(compilation->arena, compilation->arguments->machine);
    if (!profile) return EXIT_program;
    compilation->program->gpus = (int)profile->gpus.count;
    if (!is_fixed(compilation)) decide_by(compilation, profile);
    return EXIT_ok;
}

/* Locks. */

const char *lock_place(const Compilation *compilation) {
    const char *file = compilation->arguments->file, *given = compilation->arguments->lock;
    if (given && *given) return given;
    return arena_format(compilation->arena, "%s/%s.lock", path_folder(compilation->arena, file),
                        path_stem(compilation->arena, file));
}

static int refuse_lock(const Compilation *compilation, const char *path, const char *why, int gpu) {
    if (why)
        fprintf(stderr,
                "flowc: %s\n  The lock no longer fits the program: `flowc explain --lock %s` "
                "decides anew; without the file nothing is locked.\n",
                why, compilation->arguments->file);
    else
        fprintf(stderr,
                "flowc: %s places kernels on gpu(%d), which is not on this machine\n  "
                "`--device=cpu` or `--soft-placement` runs them on the CPU.\n",
                path, gpu);
    return EXIT_program;
}

static int apply_lock(Compilation *compilation, const char *path) {
    size_t size;
    const char *why, *text = file_read(compilation->arena, path, &size);
    int gpu;
    if (!text) {
        fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
        return EXIT_program;
    }
    if (lock_apply(compilation->arena, compilation->program, text, path, &why, &gpu))
        return EXIT_ok;
    if (why || !compilation->arguments->soft_placement)
        return refuse_lock(compilation, path, why, gpu);
    fprintf(stderr, "flowc: the CPU runs what %s places on gpu(%d)\n", path, gpu);
    return EXIT_ok;
}

/* Given, or beside the program. */
bool is_locked(const Compilation *compilation) {
    return compilation->arguments->lock || file_exists(lock_place(compilation));
}

static int write_lock(const char *path, const Text *text) {
    if (file_write(path, text_string(text), text->size)) return EXIT_ok;
    fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
    return EXIT_resource;
}

/* Comments may differ. */
static const char *first_difference(Arena *arena, const char *a, const char *b) {
    while (*a) {
        size_t size = strcspn(a, "\n"), other = strcspn(b, "\n");
        bool same = size == other && !memcmp(a, b, size);
        if (!same && *a != '#') return arena_copy(arena, a, size);
        a += size + (a[size] == '\n');
        b += other + (b[other] == '\n');
    }
    return *b ? b : NULL;
}

static int compare_lock(Arena *arena, const char *path, const Text *text) {
    size_t size;
    const char *kept = file_read(arena, path, &size);
    if (!kept) {
        fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
        return EXIT_program;
    }
    const char *difference = first_difference(arena, text_string(text), kept);
    if (!difference) return EXIT_ok;
    fprintf(stderr, "flowc: %s: it would be decided otherwise now: `%s`\n", path, difference);
    return EXIT_program;
}

int keep_decisions(const Compilation *compilation) {
    const Arguments *arguments = compilation->arguments;
    const char *path = lock_place(compilation);
    Text text = text_new(compilation->arena);
    if (!compilation->decisions) {
        fprintf(stderr,
                "flowc: there is nothing to lock: no GPU here, and no --machine with one\n");
        return EXIT_program;
    }
    const Profile *profile = compilation->decisions->profile;
    const char *machine = arena_format(compilation->arena, "%s and %s, as of %s", profile->cpu.name,
                                       profile->gpus.items[0].name, profile->date);
    lock_print(compilation->decisions->cpu, machine, &text);
    return arguments->check ? compare_lock(compilation->arena, path, &text)
                            : write_lock(path, &text);
}

/* Of a stand-in nothing is known that would decide. */
static int decide_simulated(const Compilation *compilation) {
    if (!wanted_gpus(compilation))
        fprintf(stderr,
                "flowc: simulated GPUs have no speed to go by: what %s places nowhere runs on the "
                "CPU; --device=gpu or --machine=FILE says otherwise\n",
                compilation->arguments->file);
    return EXIT_ok;
}

int decide_devices(Compilation *compilation, const Processor *processor, const Gpus *gpus) {
    Arena *arena = compilation->arena;
    const Arguments *arguments = compilation->arguments;
    if (is_fixed(compilation)) return EXIT_ok;
    if (!arguments->predicts && is_locked(compilation))
        return apply_lock(compilation, lock_place(compilation));
    if (!compilation->program->gpus) return EXIT_ok;
    if (!arguments->machine && arguments->simulate) return decide_simulated(compilation);
    const Profile *profile = arguments->machine ? profile_read(arena, arguments->machine)
                                                : profile_of_machine(arena, processor, gpus);
    if (!profile) return EXIT_program;
    if (profile_is_simulated(profile) && !arguments->simulate) {
        fprintf(stderr, "flowc: %s is of simulated GPUs: it decides for them alone\n",
                arguments->machine);
        return EXIT_program;
    }
    decide_by(compilation, profile);
    return EXIT_ok;
}
