/* Pass: from a graph to a better one. A pass reads its graph and builds another in `arena`; one
 * that would change nothing may give back its graph. */
#ifndef FLOW_PASSES_PASS_H
#define FLOW_PASSES_PASS_H

#include "compiler/graph/graph.h"

/* Replaces every gradient(loss, weight) by the nodes that compute it; stop_gradient vanishes.
 * NULL when something on the way from a loss to a weight has no gradient. */
Graph *differentiate(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* Of a function that has replicas, each runs the nodes for its share of the batch. What goes over
 * the batch is made whole, by an op of its own; what takes records from elsewhere is an error. */
Graph *replicate(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* What flows back through a convolution becomes a convolution. */
Graph *convolve(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* What the gradient of a softmax sums over a row of weights is summed over what they weighed. */
Graph *attend(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* A product that is read column after column is computed the other way round. */
Graph *turn(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* A product of windows with few columns takes several windows side by side together. */
Graph *neighbours(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* A product over all records that gives little is the sum of products of each record. */
Graph *apart(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* A product with a weight that is updated is a sum of parts, so that the weight's rows stay with
 * the threads that update them. */
Graph *stay(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* The graph's wish for products. */
Graph *precision(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* The graph's wish to keep less for the way back. */
Graph *recompute(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

/* Gives each node that is computed the number of a kernel. */
Graph *fuse(Arena *arena, const Graph *graph, Diagnostics *diagnostics);

#endif
