/* Home. */
#define _GNU_SOURCE
#include "compiler/driver/home.h"

#include "compiler/driver/files.h"
#include "lang/base/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_flow_file(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot && !strcmp(dot, ".flow");
}

/* In the order of names, so that every run is the same. */
void home_each_file(Arena *arena, const Home *home, VisitFile *visit, void *context) {
    struct dirent **entries;
    const char *folder = arena_format(arena, "%s/lang/std", home->share);
    int count = scandir(folder, &entries, is_flow_file, alphasort);
    for (int i = 0; i < count; i++) {
        visit(context, arena_format(arena, "%s/%s", folder, entries[i]->d_name));
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

typedef struct Reading {
    Arena *arena;
    Home *home;
} Reading;

static void read_file(void *context, const char *path) {
    const Reading *reading = context;
    const char *why;
    Source *source = source_read(reading->arena, path, &why);
    if (!source) return;
    source->path = arena_format(reading->arena, "std/%s", path_name(path));
    vector_push(reading->arena, &reading->home->library, source);
}

static bool try_root(Arena *arena, Home *home, const char *root) {
    home->share = arena_format(arena, "%s/share/flowc", root);
    home->runtime = arena_format(arena, "%s/lib/flowc/libflowrt.a", root);
    return file_exists(home->runtime) &&
           file_exists(arena_format(arena, "%s/lang/std", home->share));
}

bool home_place(Arena *arena, Home *home) {
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    *home = (Home){0};
    if (size <= 0) return false;
    path[size] = 0;
    const char *folder = path_folder(arena, path);
    return try_root(arena, home, folder) || try_root(arena, home, path_folder(arena, folder));
}

const Home *home_find(Arena *arena) {
    Home *home = arena_new_item(arena, Home);
    Reading reading = {arena, home};
    if (home_place(arena, home)) home_each_file(arena, home, read_file, &reading);
    if (home->library.count) return home;
    fprintf(stderr, "flowc: its own files (share/flowc, lib/flowc) are not beside it; "
                    "install it whole with `make install`\n");
    return NULL;
}
