/* Trace: where a number that is none began. */
#ifndef FLOW_TRACE_H
#define FLOW_TRACE_H

#include "runtime/call.h"
#include "runtime/stage.h"

typedef struct Trace {
    char what[256];    /* is not finite: "loss", "the update of `net/w`" */
    const char *fault; /* "nan", "infinite"; or "not finite" */
    char where[384];   /* ": first at log, digits.flow:24"; "": it was not found */
} Trace;

/* The training function that was run last on this batch has left a loss that is not finite. Its
 * calls are made once more, one by one, until one leaves such a number behind; what enters so is
 * named instead. */
Trace trace_loss(const Call *call, char *memory, const Batch *batch);

/* The same where the call's guard held something back. What was not held back has changed since, so
 * that it can fail to happen again. The calls are made in a copy of the memory; when there is no
 * room for it, nothing is found. */
Trace trace_update(const Call *call, const char *memory, const Batch *batch);

#endif
