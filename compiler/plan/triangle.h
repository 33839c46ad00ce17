/* Triangle: what its files share: triangle_match.c says which nodes are nothing behind a diagonal,
 * triangle.c which kernels leave that out. Inside plan/. */
#ifndef FLOW_PLAN_TRIANGLE_H
#define FLOW_PLAN_TRIANGLE_H

#include "compiler/plan/planner.h"

/* What a node is behind the diagonal, where the triangle is that of a node `of`, a choice. */
typedef struct Half {
    enum { HALF_unknown, HALF_masked /* as good as -infinity */, HALF_zero } is;
    NodeId of;
} Half;

typedef struct Halves {
    const Graph *graph;
    Half *items; /* of each node */
} Halves;

/* False: no node is any. */
bool find_halves(Halves *halves);

/* Of a choice: which keys each query sees. */
Triangle triangle_of(const Halves *halves, NodeId of);
bool have_same_triangle(const Halves *halves, NodeId a, NodeId b);

/* Has the node a row for each of the choice's queries, and a column for each key? */
bool is_square_of(const Halves *halves, NodeId id, NodeId of);
bool is_zero_behind(const Halves *halves, NodeId id, NodeId of);

/* NULL: it has no such axis. */
static inline Dim keys_of(const Node *node) {
    return node->type.rank > 1 ? node->type.dims[node->type.rank - 1] : NULL;
}

static inline Dim queries_of(const Node *node) {
    return node->type.rank > 1 ? node->type.dims[node->type.rank - 2] : NULL;
}

#endif
