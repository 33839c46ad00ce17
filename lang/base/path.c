/* Path. */
#define _GNU_SOURCE
#include "lang/base/path.h"

#include <stdlib.h>
#include <string.h>

const char *path_folder(Arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    return slash == path ? "/" : arena_copy(arena, path, (size_t)(slash - path));
}

const char *path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *path_stem(Arena *arena, const char *path) {
    const char *name = path_name(path), *dot = strrchr(name, '.');
    return arena_copy(arena, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

const char *path_full(Arena *arena, const char *path) {
    char *full = realpath(path, NULL);
    const char *copy = full ? arena_copy(arena, full, strlen(full)) : path;
    free(full);
    return copy;
}
