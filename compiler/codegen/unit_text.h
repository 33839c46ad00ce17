/* Unit text: the kernels of a large program, in files that can be compiled at the same time. */
#ifndef FLOW_CODEGEN_UNIT_TEXT_H
#define FLOW_CODEGEN_UNIT_TEXT_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/kernel_text.h"

/* Does it lie in a unit, if there are some? One that is only called by name lies beside its calls,
 * to be compiled with what their operands say. */
bool is_apart(const SharedKernel *kernel);

/* Adds the units kernels_1.c …; false, and nothing is added: they are so few that they belong into
 * program.c. */
bool add_kernel_units(const Kernels *kernels, Generated *generated);

/* What begins each file of C: it leaves out what the body, all that computes, does not call. exact:
 * of a program built with --exact. */
void write_prologue(Text *text, const char *body, bool exact);

/* Of all kernels that lie in units, for program.c. */
void write_kernel_declarations(Text *text, const Kernels *kernels);

#endif
