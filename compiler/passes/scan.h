/* Scan: inside passes/, what differentiate does with a loop.
 *
 * A scan that is differentiated also stacks what it carries as each turn begins. The derivative
 * is a scan in the other direction, whose body computes the turn again from that, and goes from
 * the adjoints of the turn's results to those of what it read: adjoints of carried values are
 * carried, those of shared values added up, those of slices stacked. */
#ifndef FLOW_PASSES_SCAN_H
#define FLOW_PASSES_SCAN_H

#include "compiler/graph/scan_builder.h"

/* The copy of a scan whose operands' list is `list` and whose body is a form of its own, with the
 * carried values at each turn's begin as additional results. */
NodeId scan_keep(Graph *to, const Node *scan, NodeId list, const Graph *body);

/* A scan in graph that was made by scan_keep, and what is known and wanted of its gradient. */
typedef struct Adjoint {
    NodeId scan;
    NodeId *results; /* of each result: the derivative by it, or NODE_NONE */
    bool *wanted;    /* of each operand: is the derivative by it wanted? */
} Adjoint;

/* The body of the scan backwards, put together in builder, with gradient nodes in it. */
ScanBuilder scan_begin_adjoint(Arena *arena, Graph *graph, const Adjoint *adjoint);

/* Adds that scan, which keeps what it carries too, with its body, the gradients replaced: the
 * derivative by each operand, NODE_NONE
 * where none is wanted. */
NodeId *scan_end_adjoint(Arena *arena, const Adjoint *adjoint, ScanBuilder *builder,
                         const Graph *body);

/* The copy of a scan into another graph without the stacks and operands that nobody needs;
 * trim(body) drops what the body does not need then. parts: the new number of each result. */
NodeId scan_trim(Arena *arena, Graph *to, const Graph *from, NodeId id, const NodeId *map,
                 const bool *needed, Graph *(*trim)(Arena *, const Graph *), int *parts);

#endif
