/* Readers: which functions take the batches of a pipeline, and how a field of them is made. */
#ifndef FLOW_READERS_H
#define FLOW_READERS_H

#include "compiler/graph/program.h"

/* Those of train blocks and their actions; the list lies in arena. */
FunctionList find_readers(Arena *arena, const Program *program, const Pipeline *pipeline);

/* Does another pipeline, a run block or a sink read them? */
bool is_read_otherwise(const Program *program, const Pipeline *pipeline);

/* A result of the function that makes records, by its number; NULL: there are fewer. */
const Output *record_result(const Graph *graph, int index);

/* What a function knows of the field with that number, or NULL. */
Input *input_of_field(const Function *function, int index);

#endif
