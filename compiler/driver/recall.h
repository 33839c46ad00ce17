/* Recall: which program a command line came to, so that nothing is compiled to find it again.
 *
 * A note in the cache is named by the SHA-256 of all that decides but the text of the program:
 * flowc's own files, the line, its folder, the environment, the tools, the processor. It says which
 * files were read or looked for in vain, and the SHA-256 of what they held. Where they hold the
 * same now, the line comes to the same program. Not remembered are lines that have something
 * printed or measured on the way, and those that may come to use a GPU or a lock. */
#ifndef FLOW_DRIVER_RECALL_H
#define FLOW_DRIVER_RECALL_H

#include "compiler/driver/cache.h"

/* Where the note of a line is, whose file lies in `folder`. NULL: it is not remembered. */
const char *recall_place(const Compilation *line, const char *folder);

/* What the line came to, and the words with which that is started. False: it has to be compiled. */
bool recall(Arena *arena, const char *place, CacheEntry *entry, Strings *words);

/* Notes what the compiled line came to. What can't be kept is compiled again. */
void recall_keep(const Compilation *compilation, const char *place, const CacheEntry *entry,
                 const Strings *words);

#endif
