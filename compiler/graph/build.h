/* Inside graph/: the step between inferring a node's type and appending it. */
#ifndef FLOW_GRAPH_BUILD_H
#define FLOW_GRAPH_BUILD_H

#include "compiler/graph/graph.h"

/* An equal value that is cheaper or known, or NODE_NONE. The node's type is inferred already. */
NodeId graph_simplify(Graph *graph, const Node *node);

/* Appends the node as it is, `kernel` included, though it could be simpler or be there already. */
NodeId graph_append(Graph *graph, Node node, Problem *problem);

/* What a formula of ops.def may speak of. */
typedef struct Scalars {
    double a, b, c, y;
    int64_t stream, index;
} Scalars;

/* The op's formula for one element, in double precision. */
double formula_evaluate(Op op, const Scalars *scalars);

/* The value as the element type holds it: rounded, truncated, wrapped. NaN is 0 in an integer. */
double element_round(Element element, double value);

/* One element of an elementwise op, rounded to the result's element type unless exact (integers
 * always are). */
double op_evaluate(const Node *node, const double *operands, bool exact);

/* The generator of kernel.h. */
double random_uniform(double seed, int64_t stream, int64_t index);
double random_normal(double seed, int64_t stream, int64_t index);

#endif
