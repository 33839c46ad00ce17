/* Factor: inside passes/, sums of what flows back to a value. */
#ifndef FLOW_PASSES_FACTOR_H
#define FLOW_PASSES_FACTOR_H

#include "compiler/graph/graph.h"

/* a + b. Where they are f p and f q, f came after the node `known`, p and q are made of what came
 * before it, and that takes long: f (p + q). */
NodeId factored_sum(Graph *graph, NodeId a, NodeId b, NodeId known, Range range);

#endif
