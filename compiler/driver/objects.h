/* Objects: compiled units by what they were compiled from, so that a program that was changed
 * compiles what changed.
 *
 * They lie in the folder `objects` of the cache, under the same rules of trust. An object's file is
 * named by the SHA-256 of all that decides what is in it, and begins with a line that tells its
 * checksum: a damaged one is compiled anew. It is written under another name and renamed. */
#ifndef FLOW_DRIVER_OBJECTS_H
#define FLOW_DRIVER_OBJECTS_H

#include "compiler/driver/toolchain.h"

/* The path where the object of a source lies or may lie, which those words compile; NULL: there is
 * no cache that can be trusted, or no source. */
const char *object_path(const Toolchain *toolchain, const char *source, const Strings *words);

/* Copies what object_path returned. False: it is not there, or not whole. */
bool object_take(Arena *arena, const char *path, const char *object);

/* Keeps an object there. One that can't be kept is compiled again some day. */
void object_keep(Arena *arena, const char *path, const char *object);

/* The oldest go, if they are too many. */
void objects_limit(Arena *arena);

#endif
