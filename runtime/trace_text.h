/* Trace text: the tables of a function's trace, read from a string.
 *
 * Numbers stand one after the other, as digits of FLOW_TRACE_DIGITS, the lowest first: those from
 * FLOW_TRACE_MORE on are the ones before them, with more to come. One that may be negative is twice
 * as large, or one less than twice its size.
 *
 * A value: its making; its call less that of the value before (-1 before the first); 0, or 1 and
 * its place; how many operands it has, and how far before it each stands. A stored value: its
 * number, less that of the one before; how many it reads, and these. An update: both numbers. */
#ifndef FLOW_TRACE_TEXT_H
#define FLOW_TRACE_TEXT_H

#include "runtime/flow.h"

#define FLOW_TRACE_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
enum { FLOW_TRACE_BITS = 5, FLOW_TRACE_MORE = 1 << FLOW_TRACE_BITS };

/* A value in a function. */
typedef struct FlowValue {
    const FlowMade *made;
    int call;        /* that stores it, or -1 */
    int64_t place;   /* an offset in memory; ~i: input i; FLOW_NOWHERE */
    int operands[3]; /* values; or -1 */
} FlowValue;

/* A floating-point value that a call stores. */
typedef struct FlowStored {
    int value;  /* FlowTrace.values[value] */
    int *reads; /* what the call reads: FlowTrace.stored[i], or storage ~i */
    int read_count;
} FlowStored;

/* The new value of a weight or a state. */
typedef struct FlowUpdate {
    int stored;  /* FlowTrace.stored[stored] */
    int storage; /* FlowProgram.storage[storage] */
} FlowUpdate;

/* As FlowTraceText. */
typedef struct FlowTrace {
    const FlowCall *calls;
    int call_count;
    FlowValue *values; /* operands before those who use them */
    int value_count;
    FlowStored *stored; /* in the order of calls */
    int stored_count;
    FlowUpdate *updates;
    int update_count;
    struct FlowTrace **bodies;
    double (*compute)(int operation, double a, double b, double c, double y, int64_t stream,
                      int64_t index);
    int *reads; /* of all stored values */
} FlowTrace;

/* NULL: there is no text, or no memory. */
FlowTrace *trace_read(const FlowTraceText *text);
void trace_free(FlowTrace *trace);

#endif
