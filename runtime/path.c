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

/* What can't be looked at is there for all we know, and may be of the wrong kind; opening it says
 * more. */
static bool exists(const char *path) {
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
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

/* What is looked for, and how. */
typedef struct Sought {
    const char *path, *folder; /* as given; of the program */
    const char *before;        /* the folder, as `is_there` takes it */
    const char *what;          /* it is, for those who can't find it */
    IsThere *is_there;
} Sought;

static FlowStatus as_given(const char *path, char **found) {
    *found = strdup(path);
    return *found ? flow_ok : no_memory(path);
}

/* In the program's folder. */
static FlowStatus find_there(Sought sought, char **found) {
    char *second;
    if (asprintf(&second, "%s/%s", sought.before, sought.path) < 0) return no_memory(sought.path);
    if (sought.is_there(second)) {
        *found = second;
        return flow_ok;
    }
    free(second);
    return flow_failure(FLOW_EXIT_data, "%s: no such %s, nor is there %s/%s", sought.path,
                        sought.what, sought.folder, sought.path);
}

static FlowStatus find(Sought sought, char **found) {
    const char *path = sought.path;
    *found = NULL;
    if (!*path) return flow_failure(FLOW_EXIT_usage, "the name of a %s is empty", sought.what);
    if (path_is_standard_input(path) || sought.is_there(path)) return as_given(path, found);
    if (path[0] != '/' && !is_here(sought.folder)) return find_there(sought, found);
    return flow_failure(FLOW_EXIT_data, "%s: no such %s", path, sought.what);
}

FlowStatus path_find(const char *path, const char *folder, char **found) {
    return find((Sought){path, folder, folder, "file", exists}, found);
}

FlowStatus path_find_folder(const char *path, const char *folder, char **found) {
    return find((Sought){path, folder, folder, "folder", exists}, found);
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
    FlowStatus status = find((Sought){pattern, folder, before, "file", is_matched}, found);
    free(before);
    return status;
}

FlowStatus path_find_coming(const char *pattern, const char *folder, char **found) {
    const char *slash = strrchr(pattern, '/'), *name = slash ? slash + 1 : pattern;
    *found = NULL;
    if (*pattern && !slash) return as_given(pattern, found);
    char *place = strndup(pattern, (size_t)(name - pattern)), *there = NULL;
    FlowStatus status = place ? path_find_folder(place, folder, &there) : no_memory(pattern);
    if (!status.exit && asprintf(found, "%s%s", there, name) < 0) {
        *found = NULL;
        status = no_memory(pattern);
    }
    free(place);
    free(there);
    return status;
}
