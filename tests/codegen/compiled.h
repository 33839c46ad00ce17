/* Compiled: runs a graph's generated code beside the evaluator. */
#ifndef FLOW_TESTS_COMPILED_H
#define FLOW_TESTS_COMPILED_H

#include "compiler/graph/graph.h"

/* Fuses, plans, generates, compiles with $CC (gcc) and $FLOWC_TEST_FLAGS, runs with 1, 2 and 3
 * threads and compares every output with the evaluator's, and the bits between thread counts.
 * values: one array a node, set for inputs and weights. Run from the top of the repository. */
bool compiled_agrees(const Graph *graph, const double *const *values, int64_t batch);

#endif
