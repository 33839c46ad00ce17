/* Loop: inside lower/, a scan while it is put together. */
#ifndef FLOW_LOWER_LOOP_H
#define FLOW_LOWER_LOOP_H

#include "compiler/lower/lowering.h"

typedef Vector(Name) Names;

/* A name that is assigned in the body. */
typedef struct Carried {
    Name name;
    Value before; /* the loop, in the graph outside */
    Type type;
    bool typed; /* the type is known */
} Carried;

/* `let y[:, t] = value` */
typedef struct Stacked {
    Name name;
    NodeId value; /* in the body */
    int axis;     /* of the turns */
    Range range;
} Stacked;

typedef struct Loop {
    const Context *context; /* where it stands */
    const Statement *statement;
    Dim turns;
    const char *path;
    Vector(Carried) carried;
    Vector(NodeId) after; /* of each carried, in the body */
} Loop;

/* Moves axis `from` to the place `to` among the others. */
NodeId move_axis(Graph *graph, NodeId array, int from, int to, Range range);

/* The names from outside that the scan assigns. */
Names names_assigned(const Context *context, const Statement *scan);

/* Fills loop->carried. False after reporting. */
bool find_carried(Loop *loop);

#endif
