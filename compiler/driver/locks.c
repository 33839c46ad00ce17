/* Locks. */
#include "compiler/driver/locks.h"

#include "compiler/balance/decide.h"
#include "compiler/balance/lock.h"
#include "compiler/driver/files.h"
#include "lang/base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
                "`--device=cpu` or `--soft-placement` runs them on the CPU; without the file "
                "nothing is locked.\n",
                path, gpu);
    return EXIT_program;
}

/* Their GPUs need not be here. */
static bool is_built_for_others(const Compilation *compilation) {
    return compilation->arguments->capabilities.count;
}

int apply_lock(Compilation *compilation) {
    size_t size;
    const char *path = lock_place(compilation);
    const char *why, *text = file_read(compilation->arena, path, &size);
    int gpu;
    if (!text) {
        fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
        return EXIT_program;
    }
    if (lock_apply(compilation->arena, compilation->program, text, path, &why, &gpu))
        return EXIT_ok;
    if (!why && is_built_for_others(compilation)) {
        compilation->program->gpus = gpu + 1;
        return EXIT_ok;
    }
    if (why || !compilation->arguments->soft_placement)
        return refuse_lock(compilation, path, why, gpu);
    fprintf(stderr, "flowc: the CPU runs what %s places on gpu(%d)\n", path, gpu);
    return EXIT_ok;
}

bool lock_is_alone(Compilation *compilation) {
    const Arguments *arguments = compilation->arguments;
    const char *other = arguments->device ? "--device" : arguments->machine ? "--machine" : NULL;
    if (!arguments->lock || arguments->predicts) return true;
    if (other) fprintf(stderr, "flowc: --lock and %s both say what runs where: take one\n", other);
    else compilation->program->usual = (Placement){0};
    return !other;
}

bool is_locked(const Compilation *compilation) {
    return compilation->arguments->lock || file_exists(lock_place(compilation));
}

static int write_lock(const char *path, const Text *text) {
    if (file_write(path, text_string(text), text->size)) return EXIT_ok;
    fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
    return EXIT_resource;
}

/* Comments may differ, and blank lines. */
static const char *next_line(const char *text) {
    while (*text == '#' || *text == '\n') {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

/* Of the first line that is another. */
static const char *first_difference(Arena *arena, const char *a, const char *b) {
    for (;;) {
        a = next_line(a), b = next_line(b);
        size_t size = strcspn(a, "\n"), other = strcspn(b, "\n");
        if (size != other || memcmp(a, b, size))
            return arena_copy(arena, *a ? a : b, *a ? size : other);
        if (!*a) return NULL;
        a += size, b += other;
    }
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

/* Why nothing was decided. */
static const char *undecided(const Compilation *compilation) {
    if (is_placed(&compilation->program->usual))
        return "--device, or FLOWC_DEVICE, says where everything runs";
    if (compilation->arguments->simulate && !compilation->arguments->machine)
        return "simulated GPUs have no speed to go by; --machine=FILE says one";
    return compilation->arguments->machine ? "the machine of --machine has no GPU"
                                           : "no GPU here, and no --machine with one";
}

int keep_decisions(const Compilation *compilation) {
    const Arguments *arguments = compilation->arguments;
    const char *path = lock_place(compilation);
    Text text = text_new(compilation->arena);
    if (!compilation->decisions) {
        fprintf(stderr, "flowc: there is nothing to lock: %s\n", undecided(compilation));
        return EXIT_program;
    }
    const Profile *profile = compilation->decisions->profile;
    const char *machine = arena_format(compilation->arena, "%s and %s, as of %s", profile->cpu.name,
                                       profile->gpus.items[0].name, profile->date);
    lock_print(compilation->decisions->cpu, machine, &text);
    return arguments->check ? compare_lock(compilation->arena, path, &text)
                            : write_lock(path, &text);
}
