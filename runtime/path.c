/* Path: the current folder comes first, so that a built program can be given other data;
 * then the folder of the .flow file, so that an example runs from anywhere. */
#define _GNU_SOURCE
#include "runtime/path.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to open it", path);
}

typedef bool IsThere(const char *path);

/* What can't be looked at is there for all we know; opening it says more. */
static bool is_file(const char *path) {
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* The folder that the last part of the path lies in. */
static bool has_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return true;
    char *folder = strndup(path, (size_t)(slash - path) + 1);
    bool there = folder && is_file(folder);
    free(folder);
    return there;
}

static bool is_matched(const char *pattern) {
    glob_t files;
    bool found = glob(pattern, 0, NULL, &files) == 0;
    globfree(&files);
    return found;
}

/* The current folder, or none. */
static bool is_here(const char *folder) {
    struct stat here, other;
    return !*folder || (!stat(".", &here) && !stat(folder, &other) && here.st_dev == other.st_dev &&
                        here.st_ino == other.st_ino);
}

/* In the program's folder. */
static FlowStatus find_there(const char *path, const char *folder, IsThere *is_there,
                             const char *what, char **found) {
    char *second;
    if (asprintf(&second, "%s/%s", folder, path) < 0) return no_memory(path);
    if (is_there(second)) {
        *found = second;
        return flow_ok;
    }
    FlowStatus status =
        flow_failure(FLOW_EXIT_data, "%s: no such %s, nor is there %s", path, what, second);
    free(second);
    return status;
}

/* what: it is, for those who can't find it. */
static FlowStatus find(const char *path, const char *folder, IsThere *is_there, const char *what,
                       char **found) {
    *found = NULL;
    if (!*path) return flow_failure(FLOW_EXIT_usage, "the name of a %s is empty", what);
    if (path_is_standard_input(path) || is_there(path)) {
        *found = strdup(path);
        return *found ? flow_ok : no_memory(path);
    }
    if (path[0] != '/' && !is_here(folder)) return find_there(path, folder, is_there, what, found);
    return flow_failure(FLOW_EXIT_data, "%s: no such %s", path, what);
}

FlowStatus path_find(const char *path, const char *folder, char **found) {
    return find(path, folder, is_file, "file", found);
}

FlowStatus path_find_folder(const char *path, const char *folder, char **found) {
    return find(path, folder, is_file, "folder", found);
}

/* The pattern that only this folder matches; NULL: no memory. */
static char *literally(const char *folder) {
    char *pattern = malloc(2 * strlen(folder) + 1), *end = pattern;
    for (const char *c = folder; pattern && *c; c++) {
        if (strchr("*?[\\", *c)) *end++ = '\\';
        *end++ = *c;
    }
    if (pattern) *end = 0;
    return pattern;
}

FlowStatus path_find_many(const char *pattern, const char *folder, char **found) {
    char *before = literally(folder);
    *found = NULL;
    if (!before) return no_memory(pattern);
    FlowStatus status = find(pattern, before, is_matched, "file", found);
    free(before);
    return status;
}

FlowStatus path_find_coming(const char *pattern, const char *folder, char **found) {
    return find(pattern, folder, has_folder, "folder", found);
}
