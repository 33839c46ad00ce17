/* External: a call of a C function, as nodes.
 *
 *     extern(list)     the call, of its operands
 *     part(extern) i   result i
 *
 * The function gets pointers to the operands, then the sizes, then pointers to all results; all of
 * them dense, rows first. What it computes is not known here: it has no gradient, and
 * graph_evaluate can't run it. */
#ifndef FLOW_GRAPH_EXTERNAL_H
#define FLOW_GRAPH_EXTERNAL_H

#include "compiler/graph/graph.h"

typedef struct External {
    const char *name; /* the C symbol: letters, digits and underscores */
    Vector(Dim) sizes;
    Vector(Type) results;
    Range declared;
} External;

typedef Vector(const External *) ExternalList;

/* Why the name can't be that of a C function ("is a word of C"), or NULL. */
const char *external_name_problem(const char *name);

/* The type rules of extern and of its parts. */
Problem external_infer(const Graph *graph, Node *node);
Problem external_infer_part(const External *external, Node *node);

/* The call in another graph, in which map has its operands. */
NodeId external_copy(Arena *arena, Graph *to, const Graph *from, NodeId id, const NodeId *map);

/* The functions that the graph and the bodies in it call, each once. */
void external_collect(Arena *arena, const Graph *graph, ExternalList *list);

#endif
