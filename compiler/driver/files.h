/* Files: the few operations on files and folders that building needs. */
#ifndef FLOW_DRIVER_FILES_H
#define FLOW_DRIVER_FILES_H

#include "lang/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* The bytes of a file, with a NUL behind them; NULL (errno says why) when it can't be read. */
char *file_read(Arena *arena, const char *path, size_t *size);

/* All or nothing is not promised: write into a folder that is renamed when it is whole. */
bool file_write(const char *path, const void *bytes, size_t size);
/* All or nothing: a file that exists keeps its mode; of a link, what it leads to is replaced. */
bool file_rewrite(Arena *arena, const char *path, const void *bytes, size_t size);
/* All or nothing, whether or not it exists. */
bool file_renew(Arena *arena, const char *path, const void *bytes, size_t size);
bool file_copy(Arena *arena, const char *from, const char *to, int mode);
bool file_exists(const char *path);
bool same_file(const char *a, const char *b); /* both exist and are one */

/* Makes the folder and those above it, with that mode. */
bool folder_make(const char *path, int mode);
void folder_remove(const char *path); /* with all that is in it */

#endif
