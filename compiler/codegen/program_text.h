/* Program text: the tables of a program, and the functions they point at. */
#ifndef FLOW_CODEGEN_PROGRAM_TEXT_H
#define FLOW_CODEGEN_PROGRAM_TEXT_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/kernel_text.h"

typedef Vector(Dim) DimList;

/* "28"; a size that a run computes is added to the list, and what is written is its place. */
const char *size_initialiser(Arena *arena, DimList *sizes, Dim size);

/* "{FLOW_f32, 2, {28, 28}}" */
const char *type_initialiser(Arena *arena, DimList *sizes, const Type *type);

/* pipeline_text.c: the pipelines p0, p1, … */
void write_pipelines(Text *text, const Plan *plan, const Kernels *kernels, DimList *sizes);

/* All of program.c but its last line. trains: with pipelines and training. Kernels of a large
 * program become files and units of their own; others NULL: never. */
void write_program(Text *text, const Plan *plan, bool trains, Generated *others);

/* The public functions of a library, and its header. */
void write_library(Text *text, const Program *program);
void write_header(Text *text, const Program *program);

#endif
