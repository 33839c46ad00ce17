/* Parts: what of the runtime needs a library of its own. Only programs that use it are linked to
 * it. */
#ifndef FLOWC_DRIVER_PARTS_H
#define FLOWC_DRIVER_PARTS_H

#include "compiler/graph/program.h"

typedef struct Part {
    const char *name;
    const char *file;  /* a pattern of make for its files, of the runtime's */
    const char *words; /* for the linker; "": none */
    bool (*used)(const Program *program, const char *name); /* does the program need it? */
} Part;

/* The table ends with a part that has no name. */
extern const Part parts[];

#endif
