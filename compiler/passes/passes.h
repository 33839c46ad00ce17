/* Passes: running all of passes.def over a program. */
#ifndef FLOW_PASSES_H
#define FLOW_PASSES_H

#include "compiler/graph/program.h"

/* A pass reads its graph and builds another in `arena`, or gives back the same one; NULL after
 * reporting an error. */
typedef struct Pass {
    const char *name, *help;
    Graph *(*run)(Arena *arena, const Graph *graph, Diagnostics *diagnostics);
} Pass;

extern const Pass passes[];
extern const int pass_count;

/* Runs one pass over all graphs and verifies each. False after reporting; *broken is then set when
 * the pass itself is at fault: a defect of the compiler. */
bool pass_run(const Pass *pass, Program *program, Diagnostics *diagnostics, const char **broken);

/* behind.c, zeros.c: before all passes, what looks at several functions at once. */
void put_factors_behind(Program *program);
void note_zeros(Program *program);

#endif
