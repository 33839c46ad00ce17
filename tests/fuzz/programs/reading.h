/* Reading: a program's text as the compiler reads it, and what has to hold of any valid text. */
#ifndef FLOW_FUZZ_READING_H
#define FLOW_FUZZ_READING_H

#include "compiler/graph/program.h"

#include <stdio.h>

/* The program with its gradients, or NULL and a complaint: it is valid, formatting it
 * twice is formatting it once and does not change its graphs, and their text reads back as
 * itself, before and after differentiate. */
Program *read_program(Arena *arena, const Text *text, FILE *complaints);

#endif
