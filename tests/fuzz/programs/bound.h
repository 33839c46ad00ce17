/* Bound: how far from the exact value of a node a sound computation may be.
 *
 * An error grows by what an op makes of the errors of its operands, found at the corners of where
 * these may lie, and by the op's own rounding, in any order of a sum. Results of +, -, *, sums and
 * products that have room in their type are exact, which is why comparisons of such values can be
 * tested; an op that jumps within the error of its operands makes a value of which nothing can be
 * said: INFINITY. Nothing here is tuned to what generated code gives. */
#ifndef FLOW_FUZZ_BOUND_H
#define FLOW_FUZZ_BOUND_H

#include "compiler/graph/graph.h"

/* Of a run: the records, and the values of the bounded dimensions. */
typedef struct RunSizes {
    int64_t batch;
    const int64_t *bounded;
} RunSizes;

int64_t run_size(Dim dim, const RunSizes *sizes);

/* errors[id][i]: of element i of node id, for the nodes that `exact`, made by graph_evaluate_sized
 * with exact set, has values of. Inputs and weights have none. */
double **bound_errors(Arena *arena, const Graph *graph, const Evaluation *exact,
                      const RunSizes *sizes);

#endif
