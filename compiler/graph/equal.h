/* Equal: the node of a graph that computes the same as one that is to be added (hash-consing).
 * Names and views of both are interned in the graph; ranges, facts and kernels play no part. */
#ifndef FLOW_GRAPH_EQUAL_H
#define FLOW_GRAPH_EQUAL_H

#include "compiler/graph/graph.h"

uint32_t equal_hash(const Node *node);

/* NODE_NONE if there is none. */
NodeId equal_find(const Graph *graph, const Node *node, uint32_t hash);

/* Room for so many nodes. */
void equal_reserve(Graph *graph, size_t count);

/* The newest node of the graph, with its hash, can be found from now on. */
void equal_note(Graph *graph, uint32_t hash);

#endif
