/* Check: what holds for every graph, counted. */
#ifndef FLOW_TESTS_CHECK_H
#define FLOW_TESTS_CHECK_H

#include "compiler/graph/graph.h"

/* Starts to count what is said of `name`. */
void begin_checks(const char *name);

/* Prints how many passed; returns how many failed since begin_checks. */
int finish_checks(void);

/* Counts; when it doesn't hold, says what and shows the graph. */
void check_holds(bool holds, const char *what, const Graph *graph);

/* The graph's text is read back as the same text. */
void check_text(const Graph *graph);

/* The graph that this text is; problems are printed. */
Graph *read_graph(Arena *arena, const char *text);

/* The gradients in output order against the change of output 0 when one value changes: eps 1e-6,
 * atol 1e-5, rtol 1e-3. values: those of the graph's leaves, put back in the end. */
void check_gradients(const Graph *graph, double **values);

#endif
