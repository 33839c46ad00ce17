/* Loop: inside lower/, a scan while it is put together. */
#ifndef FLOW_LOWER_LOOP_H
#define FLOW_LOWER_LOOP_H

#include "compiler/lower/lowering.h"

typedef Vector(Name) Names;

enum { SCAN_DEPTH_LIMIT = 8 };

/* A name that is assigned in the body: a tensor, a number, or a record or list of those. */
typedef struct Assigned {
    Name name;
    Value before; /* the loop, in the graph outside */
} Assigned;

/* A tensor or number of such a name; in the order of names, and of items in them. */
typedef struct Carried {
    Name name; /* "pair.a" */
    Value before;
    Type type;
    bool typed; /* the type is known */
} Carried;

typedef Vector(Value) Values;

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
    Vector(Assigned) assigned;
    Vector(Carried) carried;
} Loop;

/* Moves axis `from` to the place `to` among the others. */
NodeId move_axis(Graph *graph, NodeId array, int from, int to, Range range);

/* The names from outside that the scan assigns. */
Names names_assigned(const Context *context, const Statement *scan);

/* Fills loop->assigned and loop->carried. False after reporting. */
bool find_carried(Loop *loop);

/* Gives the assigned names what is carried, a value for each of loop->carried: new names in the
 * scope, or those that there are. */
void bind_carried(Loop *loop, const Values *values, Scope *scope, bool new);

/* Lists what is in a value that is made as `like` is. False: it is not. */
bool list_carried(Arena *arena, const Value *like, const Value *value, Values *list);

#endif
