/* Kernel text: the C of a function's kernels, and the functions that run them. */
#ifndef FLOW_CODEGEN_KERNEL_TEXT_H
#define FLOW_CODEGEN_KERNEL_TEXT_H

#include "compiler/plan/plan.h"

/* `prefix` starts the names of everything in the text. */

/* The kernels, in the order in which they run. */
void write_kernels(Text *text, const FunctionPlan *plan, const char *prefix);

/* Kernels and `static void PREFIX(frame, thread, threads)`. */
void write_function(Text *text, const FunctionPlan *plan, const char *prefix);

/* record_text.c: kernels and `static int PREFIX(fields, outputs)`, which returns 0, or n when a
 * value is outside the range of the n-th check. */
void write_record_function(Text *text, const FunctionPlan *plan, const char *prefix);

#endif
