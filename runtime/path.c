/* Path: the current folder comes first, so that a built program can be given other data;
 * then the folder of the .flow file, so that an example runs from anywhere. */
#define _GNU_SOURCE
#include "runtime/path.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to open it", path);
}

typedef bool IsThere(const char *path);

static bool is_file(const char *path) {
    return access(path, F_OK) == 0;
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

static FlowStatus find(const char *path, const char *folder, IsThere *is_there, char **found) {
    *found = strdup(path);
    if (!*found) return no_memory(path);
    bool one_place = path[0] == '/' || !*folder || path_is_standard_input(path);
    if (one_place || is_there(path)) return flow_ok;
    char *second;
    if (asprintf(&second, "%s/%s", folder, path) < 0) second = NULL;
    free(*found);
    *found = second;
    if (!second) return no_memory(path);
    if (is_there(second)) return flow_ok;
    FlowStatus status =
        flow_failure(FLOW_EXIT_data, "%s: no such file, nor is there %s", path, second);
    free(second);
    *found = NULL;
    return status;
}

FlowStatus path_find(const char *path, const char *folder, char **found) {
    return find(path, folder, is_file, found);
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
    FlowStatus status = find(pattern, before, is_matched, found);
    free(before);
    return status;
}

FlowStatus path_find_coming(const char *pattern, const char *folder, char **found) {
    return find(pattern, folder, has_folder, found);
}
