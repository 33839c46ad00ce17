/* Recall: which program a command line came to, so that nothing is compiled to find it again.
 *
 * A note in the cache is named by the SHA-256 of all that decides but the text of the program:
 * flowc's own files, the words of the line, the folder, the variables of the environment that are
 * flowc's, the tools, the processor. It says which files were read or looked for in vain, and the
 * SHA-256 of what they held. Where they hold the same now, the line comes to the same program. Not
 * recalled are lines with a flag that does more than to decide (arguments.c says which), and those
 * that may come to use a GPU or a lock. The notes that were made first go first. */
#ifndef FLOW_DRIVER_RECALL_H
#define FLOW_DRIVER_RECALL_H

#include "compiler/driver/cache.h"

/* The path of the line's note. line: its arena, arguments and home count. folder: that of the .flow
 * file, as the cache knows it. NULL: the line is not recalled. */
const char *recall_place(const Compilation *line, const char *folder);

/* What the line came to, and the words with which that is started. place: or NULL. False: it has to
 * be compiled. */
bool recall(Arena *arena, const char *place, CacheEntry *entry, Strings *words);

/* Notes what the compiled line came to, if it still has that note. place: or NULL. What can't be
 * kept is compiled again. */
void recall_keep(const Compilation *compilation, const char *folder, const char *place,
                 const CacheEntry *entry, const Strings *words);

#endif
