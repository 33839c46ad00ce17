/* Trace text: the tables by which the runtime finds where a number that is none began. */
#ifndef FLOW_CODEGEN_TRACE_TEXT_H
#define FLOW_CODEGEN_TRACE_TEXT_H

#include "compiler/codegen/table_text.h"

/* What the traces of a program share. */
typedef struct TraceText {
    Text *text;
    DimList *sizes;          /* that a run computes */
    bool computes[OP_COUNT]; /* ops of the values written so far */
    Map makings;             /* what a making's text follows from, to that */
} TraceText;

/* `PREFIX_trace`, for a function whose calls are written: how its first result and
 * its updates come about. False: there is nothing to trace, and nothing is written. */
bool write_trace(TraceText *trace, const FunctionPlan *plan, const char *prefix);

/* The function that all traces name; before the first and behind the last of them. */
void write_trace_head(TraceText *trace);
void write_trace_function(TraceText *trace);

#endif
