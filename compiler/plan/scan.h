/* Scan: inside plan/, the kernels that are loops. */
#ifndef FLOW_PLAN_SCAN_H
#define FLOW_PLAN_SCAN_H

#include "compiler/plan/plan.h"

/* plan.c. Of a record function, scratch begins at 0. */
FunctionPlan *plan_function(const Plan *program_plan, const Function *function);

/* Plans the body of a scan kernel. Its share is NULL: all threads do all of it. */
void plan_scan(const Plan *program, FunctionPlan *plan, int kernel);

/* Once phases are known: its scratch becomes a buffer. stored: of each node of the function. */
void buffer_scan(Arena *arena, FunctionPlan *plan, int kernel, const bool *stored);

/* Once that buffer has its place: where turns leave what they carry. */
void place_scan(Arena *arena, FunctionPlan *plan, int kernel);

/* Of all turns. */
double scan_operations(const FunctionPlan *plan, int kernel);
double scan_bytes(const FunctionPlan *plan, int kernel);

#endif
