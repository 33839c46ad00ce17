/* Variant: the training steps of a program as functions of a library, compiled in one way. */
#ifndef FLOW_FUZZ_VARIANT_H
#define FLOW_FUZZ_VARIANT_H

#include "compiler/graph/program.h"
#include "runtime/flow.h"

typedef enum Way {
    WAY_plain, /* every value is stored, so nothing is fused with what needs it; -O0 */
    WAY_fused, /* as the compiler makes it, but for a few more values that are stored; -O0 */
    WAY_users, /* the same with the flags that users get */
    WAY_COUNT,
} Way;

typedef struct Variant {
    Way way;
    Program *program; /* has an export for each step */
    int *trains;      /* of each export: which of the program's train blocks it is */
    const FlowProgram *compiled;
    void *library;
} Variant;

/* The train blocks that are chosen. */
Variant variant_new(Arena *arena, const Program *program, Way way, const bool *chosen);

/* Compiles them side by side and loads them. False when the C is at fault; told: says why, and
 * leaves it where it lies. */
bool variants_load(Arena *arena, Variant *variants, int count, bool told);

void variant_close(Variant *variant);

#endif
