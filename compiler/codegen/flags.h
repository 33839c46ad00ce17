/* Flags: what a C compiler is told for generated code, whatever the program and the processor. */
#ifndef FLOW_CODEGEN_FLAGS_H
#define FLOW_CODEGEN_FLAGS_H

#include "lang/base/arena.h"

/* All but how far to optimise, -march and folders: a list that ends with NULL. compiler: a name or
 * path. */
const char *const *code_flags(Arena *arena, const char *compiler);

/* Those of gcc alone, from gcc 11 on; ends with NULL. */
extern const char *const gcc_flags[];

/* By its name. */
bool is_gcc(const char *compiler);

#endif
