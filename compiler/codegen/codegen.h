/* Codegen: C text from a program and its plan. */
#ifndef FLOW_CODEGEN_H
#define FLOW_CODEGEN_H

#include "compiler/plan/plan.h"

typedef struct GeneratedFile {
    const char *name, *text;
} GeneratedFile;

/* A file that is compiled for each processor. */
typedef struct CodeUnit {
    const char *name;
    size_t weight; /* how long that takes, in bytes of kernels */
} CodeUnit;

enum { TABLE_BYTES = 30 /* are compiled in the time of one of a kernel */ };

/* The templates it includes: program.h, loops.h, matmul.c, windows.c, winograd.c,
 * winograd_weights.c, matmul_half.c, few_columns.c, main.c (a trainer), library.c (a library);
 * besides kernel.h and flow.h. */
typedef struct Generated {
    Vector(GeneratedFile) files;
    Vector(CodeUnit) units; /* program.c, and of a large program kernels_1.c … */
} Generated;

/* program.c with a main, its other units and units.mk, which names them. */
Generated codegen_trainer(Arena *arena, const Plan *plan);

/* program.c, its other units, interface.c and NAME.h: the program's exports as C functions. */
Generated codegen_library(Arena *arena, const Plan *plan);

#endif
