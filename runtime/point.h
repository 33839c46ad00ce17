/* Point: one element of a value, computed from what lies in memory by a function's trace. */
#ifndef FLOW_POINT_H
#define FLOW_POINT_H

#include "runtime/trace_text.h"
#include "runtime/type.h"

/* What a number is that is not finite. */
typedef enum Fault { FAULT_nan, FAULT_infinity } Fault;

bool has_fault(double number, Fault fault);

/* Where an element is looked for: just before call `call` of the trace is made on the frame. */
typedef struct Scene {
    const FlowTrace *trace;
    const FlowFrame *frame;
    const FlowProgram *program;
    int call;
} Scene;

/* An element of FlowTrace.values[value]. */
typedef struct Point {
    int value;
    int64_t index;
} Point;

typedef enum OriginKind {
    ORIGIN_unknown, /* the element has no such fault, computed this way */
    ORIGIN_made,    /* the value makes it of elements without */
    ORIGIN_meant,   /* it is a number of the program */
    ORIGIN_read,    /* the value lies in memory with it */
} OriginKind;

typedef struct Origin {
    OriginKind kind;
    Point point;
} Origin;

/* Elements of a value in this scene, or -1 when there is no memory. */
int64_t value_count(const Scene *scene, int value);

/* Follows a fault of an element that the call stores back through what it is made of. infinity:
 * where an infinity comes from that the first NaN is made of; unknown: of none. */
Origin find_origin(const Scene *scene, Point point, Fault fault, Origin *infinity);

#endif
