/* Compiled: runs the generated code of graphs beside the evaluator. */
#ifndef FLOW_TESTS_COMPILED_H
#define FLOW_TESTS_COMPILED_H

#include "compiler/graph/graph.h"

/* Inputs with such a name stand for fields that may be zero in many places. */
bool may_be_zeros(const char *name);

/* Graphs as the exports of one program, loaded into this process. */
typedef struct Compiled Compiled;

/* Fuses, plans, generates and compiles with $CC (gcc), $FLOWC_TEST_TARGET (-march=native) and
 * $FLOWC_TEST_FLAGS (-O3 if LONG is set, else -O1). The graphs share one table of dimensions;
 * weights with the same name are one weight. NULL, and it says why, when that fails. Run from the
 * top of the repository. */
Compiled *compile_graphs(Arena *arena, const Graph *const *graphs, size_t count);
void compiled_unload(Compiled *compiled);

/* How far a result may be from the evaluator's: a few units in its last place, or as many in that
 * of the largest result as the order of summation may make. */
typedef enum Closeness { CLOSE_as_elements, CLOSE_as_sums } Closeness;

/* Runs one of the graphs with 1, 2 and 3 threads; compares every output with the evaluator's, and
 * the bits between thread counts. values: one array a node, set for inputs and weights. */
bool runs_as_evaluated(const Compiled *compiled, size_t index, const double *const *values,
                       int64_t batch, Closeness closeness);

/* All of it for one graph, with batches of each of these sizes; their list ends with 0. */
bool compiled_agrees(const Graph *graph, const double *const *values, const int64_t *batches);

#endif
