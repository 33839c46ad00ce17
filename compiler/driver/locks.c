/* Locks. */
#include "compiler/driver/locks.h"

#include "compiler/balance/decide.h"
#include "compiler/balance/lock.h"
#include "compiler/driver/files.h"

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
                "`--device=cpu` or `--soft-placement` runs them on the CPU.\n",
                path, gpu);
    return EXIT_program;
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
    if (why || !compilation->arguments->soft_placement)
        return refuse_lock(compilation, path, why, gpu);
    fprintf(stderr, "flowc: the CPU runs what %s places on gpu(%d)\n", path, gpu);
    return EXIT_ok;
}

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
