/* Kernel text: the C of one kernel, and of the functions that run a function's kernels. */
#ifndef FLOW_CODEGEN_KERNEL_TEXT_H
#define FLOW_CODEGEN_KERNEL_TEXT_H

#include "compiler/plan/plan.h"

/* `prefix` starts the names of everything in the text. */
void write_kernel(Text *text, const FunctionPlan *plan, int kernel, const char *prefix);

/* Kernels and `static void PREFIX(frame, thread, threads)`. */
void write_function(Text *text, const FunctionPlan *plan, const char *prefix);

/* Kernels and `static int PREFIX(fields, outputs)`. */
void write_record_function(Text *text, const FunctionPlan *plan, const char *prefix);

/* A loop over the elements of the check's operand that returns `failure` when one is out of
 * range; for record functions. */
void write_check(Text *text, const FunctionPlan *plan, NodeId check, int failure);

/* A dimension as C; the records of the call are in the variable `batch`. */
const char *dim_expression(Arena *arena, Dim dim);

#endif
