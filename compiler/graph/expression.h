/* Expression: nodes from a .flow expression over nodes, as the gradients of ops.def are written.
 *
 * Numbers have the element type of what they meet. Reductions take the axes of the environment;
 * reshape(x, a), broadcast(x, a), cast(x, a) and scatter_add(i, x, a) take shape and type from a;
 * rows(x, a) is x as a matrix if a is one, its leading dimensions in one; transpose(x) exchanges
 * the last two; adjoint(x, a) sends x back through the environment's view of a. All other calls are
 * ops by name. */
#ifndef FLOW_GRAPH_EXPRESSION_H
#define FLOW_GRAPH_EXPRESSION_H

#include "compiler/graph/graph.h"
#include "lang/tree.h"

typedef struct Binding {
    const char *name;
    NodeId node;
} Binding;

typedef struct Environment {
    Vector(Binding) bindings;
    uint32_t axes;    /* of reductions */
    const View *view; /* of adjoint */
    Element element;  /* of numbers that meet only numbers */
    Range range;      /* of all new nodes */
} Environment;

/* The expression must be right: rules are a part of the compiler. NODE_NONE: a view that has no
 * adjoint. */
NodeId expression_build(Graph *graph, const Expression *expression, const Environment *environment);

#endif
