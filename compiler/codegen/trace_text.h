/* Trace text: the tables by which the runtime finds where a number that is none began. */
#ifndef FLOW_CODEGEN_TRACE_TEXT_H
#define FLOW_CODEGEN_TRACE_TEXT_H

#include "compiler/plan/plan.h"

/* How a table writes a size that only a run may know. */
typedef struct SizeText {
    const char *(*text)(void *context, Dim size);
    void *context;
} SizeText;

/* `PREFIX_trace`, for a function whose calls are written; returns how many values it traces: with
 * none of them nothing is written. */
int write_trace(Text *text, const FunctionPlan *plan, const char *prefix, SizeText *size);

#endif
