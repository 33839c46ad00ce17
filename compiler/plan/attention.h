/* Attention: what its files share: attention_match.c recognises heads, attention.c gives up those
 * whose weights others want and takes in what the rest compute. Inside plan/. */
#ifndef FLOW_PLAN_ATTENTION_H
#define FLOW_PLAN_ATTENTION_H

#include "compiler/plan/planner.h"

typedef enum State { STATE_unknown, STATE_apart, STATE_weight } State;

/* A kernel whose left operand may be computed on the way. */
typedef struct Head {
    Attention attention;
    int kernel;
    Dim queries, keys;
    unsigned char *states; /* of each node: is it made of scores? */
    bool good;
} Head;

typedef struct Finder {
    Planner *planner;
    FunctionPlan *plan;
    const Graph *graph;
    Vector(Head) heads;
    int *left_by; /* of each node, the largest score or the sum of a row: 1 + the head, or 0 */
    bool *weight; /* of each node: some head computes it on the way */
    bool dropped;
} Finder;

static inline const Node *node_at(const Finder *finder, NodeId id) {
    return graph_node(finder->graph, id);
}

/* Adds the kernel's head, if it is one. */
void add_head(Finder *finder, int kernel);

#endif
