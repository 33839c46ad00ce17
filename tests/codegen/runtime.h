/* Runtime: what generated code of tests is linked with. */
#ifndef FLOW_TESTS_RUNTIME_H
#define FLOW_TESTS_RUNTIME_H

#include "lang/base/arena.h"

/* Compiler arguments for a library of generated code: its flags, and where it includes from. */
const char *compile_words(Arena *arena, const char *compiler);

/* Compiler arguments for the C file at `path`: the runtime that was built, in $BUILD (build); for
 * $FLOWC_TEST_TARGET, another kind of processor, its sources. They come last. */
const char *runtime_words(Arena *arena, const char *path);

/* $BUILD/lib/flowc/libflowrt.a. */
const char *runtime_archive(Arena *arena);

/* Is $FLOWC_TEST_TARGET set? */
bool runtime_is_compiled(void);

#endif
