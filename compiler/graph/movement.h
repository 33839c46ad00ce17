/* Movement: nodes that are views. */
#ifndef FLOW_GRAPH_MOVEMENT_H
#define FLOW_GRAPH_MOVEMENT_H

#include "compiler/graph/graph.h"

/* The view of a, which must fit it. The element type is that of a. */
NodeId graph_view(Graph *graph, NodeId a, const View *view, Type type, Range range);

/* Two axes exchanged. */
NodeId graph_exchange(Graph *graph, NodeId a, int axis, int other, Range range);

/* The last two axes exchanged. */
NodeId graph_transpose(Graph *graph, NodeId a, Range range);

/* adjoint.c: for y = the view of something of type `operand`, and dy of the type of y: of each
 * element of the operand, the sum of dy over the elements of y that it went to. NODE_NONE when
 * that needs more than RANK_LIMIT axes, or a factor past its limit. */
NodeId graph_adjoint(Graph *graph, const View *view, NodeId dy, Type operand, Range range);

/* Would graph_adjoint find one? */
bool has_adjoint(Dimensions *table, const View *view, const Type *operand, const Type *result);

#endif
