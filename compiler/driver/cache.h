/* Cache: built programs by what they were built from.
 *
 * An entry is a folder named by the SHA-256 of everything that went into it. It is made under
 * another name and renamed when whole, so that processes which build the same thing at once do no
 * harm: the last to come drops its own. A program is run only if it has the checksum that the
 * entry states. The cache lies in XDG_CACHE_HOME or ~/.cache; a folder that others could write is
 * refused. */
#ifndef FLOW_DRIVER_CACHE_H
#define FLOW_DRIVER_CACHE_H

#include "compiler/codegen/codegen.h"
#include "compiler/driver/toolchain.h"

typedef struct CacheEntry {
    const char *program; /* the executable */
    const char *folder;  /* with the generated C */
    bool temporary;      /* the folder is not in the cache and should go */
} CacheEntry;

/* The program built from generated, now or earlier. folder_define: the C string literal of the
 * folder of the .flow file. fresh: build it even if it is there. False after printing why not. */
bool cache_program(const Toolchain *toolchain, const Generated *generated,
                   const char *folder_define, bool fresh, CacheEntry *entry);

/* The entry of that name, if its program is whole; else *entry stays as it is. */
bool cache_entry(Arena *arena, const char *name, CacheEntry *entry);

/* A new private folder for building something once; the caller removes it. NULL after printing. */
const char *scratch_folder(Arena *arena);

/* Writes the files into the folder. False after printing. */
bool write_generated(Arena *arena, const Generated *generated, const char *folder);

#endif
