/* Path: where a program's data is looked for. */
#ifndef FLOW_PATH_H
#define FLOW_PATH_H

#include "runtime/flow.h"

/* "-" */
static inline bool path_is_standard_input(const char *path) {
    return path[0] == '-' && !path[1];
}

/* Finds the file as given, relative to the current folder, or else in the program's folder. An
 * empty name is a mistake of the command line, what is not there one of the data; the message names
 * each place that it could lie in, not who asked for it. The caller frees *found, which is NULL on
 * failure. */
FlowStatus path_find(const char *path, const char *folder, char **found);

/* The same for a folder, which may be found to be none when it is opened. */
FlowStatus path_find_folder(const char *path, const char *folder, char **found);

/* The same for a pattern, as of a shell: found when a file matches it. */
FlowStatus path_find_many(const char *pattern, const char *folder, char **found);

/* The same for files that are still to come: found when the folder is there. */
FlowStatus path_find_coming(const char *pattern, const char *folder, char **found);

#endif
