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
static bool read_library(Arena *arena, Home *home) {
    struct dirent **entries;
    const char *folder = arena_format(arena, "%s/lang/std", home->share);
    int count = scandir(folder, &entries, is_flow_file, alphasort);
    for (int i = 0; i < count; i++) {
        const char *why, *path = arena_format(arena, "%s/%s", folder, entries[i]->d_name);
        Source *source = source_read(arena, path, &why);
        if (source) {
            source->path = arena_format(arena, "std/%s", entries[i]->d_name);
            vector_push(arena, &home->library, source);
        }
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return home->library.count > 0;
}

static bool try_root(Arena *arena, Home *home, const char *root) {
    home->share = arena_format(arena, "%s/share/flowc", root);
    home->runtime = arena_format(arena, "%s/lib/flowc/libflowrt.a", root);
    return file_exists(home->runtime) && read_library(arena, home);
}

const Home *home_find(Arena *arena) {
    char path[PATH_MAX];
    Home *home = arena_new_item(arena, Home);
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size > 0) {
        path[size] = 0;
        const char *folder = path_folder(arena, path);
        if (try_root(arena, home, folder) || try_root(arena, home, path_folder(arena, folder)))
            return home;
    }
    fprintf(stderr, "flowc: its own files (share/flowc, lib/flowc) are not beside it; "
                    "install it whole with `make install`\n");
    return NULL;
}
