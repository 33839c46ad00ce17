/* List: the operands of a node that takes any number of them.
 *
 *     list(list(list(none, a), b), c)   none is the constant false
 *
 * A scan and an extern take one list; part(call) i is result i of such a call. */
#ifndef FLOW_GRAPH_LIST_H
#define FLOW_GRAPH_LIST_H

#include "compiler/graph/graph.h"

/* Is it a list, what takes one, or a result of that? */
static inline bool has_list_form(Op op) {
    return op == OP_list || op == OP_scan || op == OP_extern || op == OP_part;
}

/* The list without values. */
NodeId list_none(Graph *graph, Range range);

/* The list with one more value, the last. */
NodeId list_add(Graph *graph, NodeId list, NodeId value, Range range);

/* How many values there are in a list. */
int list_size(const Graph *graph, NodeId list);

/* The values that a call, a scan or an extern, takes, in an array in arena. */
const NodeId *list_operands(Arena *arena, const Graph *graph, NodeId call);

/* Result `part` of a call. */
NodeId list_part(Graph *graph, NodeId call, int part, Range range);

/* The type rule of the nodes that have list form. */
Problem list_infer(const Graph *graph, Node *node);

#endif
