/* Marked text: of a kernel, as writers leave it. What names only say of values lies between marks,
 * and one stands for the name of the kernel's function, which hangs on all the rest. */
#ifndef FLOW_CODEGEN_MARKED_TEXT_H
#define FLOW_CODEGEN_MARKED_TEXT_H

#include "lang/base/arena.h"

/* No other text of a kernel has these bytes. */
#define MARK_HINT "\1"
#define MARK_END "\2"
#define MARK_KERNEL "\3"

/* What texts are compared by; the function is called "kernel". */
const char *without_hints(Arena *arena, const char *marked);

const char *with_hints(Arena *arena, const char *marked, const char *kernel);

#endif
