/* Program text: the tables of a program, and the functions they point at. */
#ifndef FLOW_CODEGEN_PROGRAM_TEXT_H
#define FLOW_CODEGEN_PROGRAM_TEXT_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/kernel_text.h"

/* All of program.c but its last line. trains: with pipelines and training. Kernels of a large
 * program become files and units of their own; others NULL: never. device:
 * gets those of GPUs, as CUDA, if there are some. */
void write_program(Text *text, const Plan *plan, bool trains, Generated *others, Text *device);

/* The public functions of a library, and its header. */
void write_library(Text *text, const Plan *plan);
void write_header(Text *text, const Plan *plan);

#endif
