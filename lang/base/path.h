/* Path: the parts of a file's name. */
#ifndef FLOW_BASE_PATH_H
#define FLOW_BASE_PATH_H

#include "lang/base/arena.h"

/* "a/b" of "a/b/c.flow", "." of "c.flow"; "c.flow" of both, which is path's end; and "c". */
const char *path_folder(Arena *arena, const char *path);
const char *path_name(const char *path);
const char *path_stem(Arena *arena, const char *path);

/* The one path of what is there, absolute, without links and `..`; the path itself where there is
 * nothing. */
const char *path_full(Arena *arena, const char *path);

#endif
