/* Lower: a parsed program to graphs, checking names, types and dimensions on the way. */
#ifndef FLOW_LOWER_H
#define FLOW_LOWER_H

#include "compiler/check/module.h"
#include "compiler/graph/program.h"

/* An option's value given on flowc's command line. */
typedef struct Override {
    const char *name, *value;
} Override;

/* Lowers every train and export, and checks every declaration of the user's that none of them
 * uses. Errors stand in diagnostics, and then the program must not be used further. No file is
 * read. name: what the program is called ("digits"). */
Program *lower_program(Arena *arena, const Module *module, const char *name,
                       const Override *overrides, size_t override_count, Diagnostics *diagnostics);

#endif
