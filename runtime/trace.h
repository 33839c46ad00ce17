/* Trace: where a number that is none began. */
#ifndef FLOW_TRACE_H
#define FLOW_TRACE_H

#include "runtime/call.h"
#include "runtime/stage.h"

/* Makes the calls of a training function once more, on the same batch and memory, one by one, until
 * one leaves NaN (or, unless nan, an infinity) behind: ": first at log, digits.flow:24". What enters
 * and is not finite already is named instead. "" when nothing is found. */
void trace_text(const Call *call, char *memory, const Batch *batch, bool nan, char *text,
                size_t size);

#endif
