/* Place: where the cache lies, whom it trusts, and what goes when it is full. */
#ifndef FLOW_DRIVER_PLACE_H
#define FLOW_DRIVER_PLACE_H

#include "compiler/driver/sha256.h"
#include "lang/base/arena.h"

#include <stdbool.h>

/* XDG_CACHE_HOME/flowc or ~/.cache/flowc; NULL: neither is set. */
const char *cache_folder(Arena *arena);

/* Only a folder that nobody else can write is trusted. */
bool folder_is_private(const char *folder);

void sha256_add_string(Sha256 *hash, const char *string);

/* What the file system says of a file stands for its contents where reading it each time would be
 * slow: tools can set the other times, but not when it was last changed in any way. */
void sha256_add_stamp(Sha256 *hash, const char *path);

/* Against damage only: nobody else can write there. */
const char *checksum_text(Arena *arena, const char *bytes, size_t size);

/* The same of a file; NULL: it can't be read. */
const char *checksum_file(Arena *arena, const char *path);

/* Removes what was not used for the longest time, until `limit` entries are left: of those without
 * a dot in front which have a file FOLDER/ENTRY`file`. */
void drop_oldest(Arena *arena, const char *folder, const char *file, size_t limit);

#endif
