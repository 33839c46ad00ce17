/* Codegen: C text from a program and its plan. */
#ifndef FLOW_CODEGEN_H
#define FLOW_CODEGEN_H

#include "compiler/plan/plan.h"

typedef struct GeneratedFile {
    const char *name, *text;
} GeneratedFile;

/* The templates it includes: program.h, loops.h, matmul.c, main.c (a trainer), library.c (a
 * library); besides kernel.h and flow.h. */
typedef struct Generated {
    Vector(GeneratedFile) files;
} Generated;

/* program.c with a main. */
Generated codegen_trainer(Arena *arena, const Program *program, const Plan *plan);

/* program.c, interface.c and NAME.h: the program's exports as C functions. */
Generated codegen_library(Arena *arena, const Program *program, const Plan *plan);

#endif
