/* Generate: random programs that are valid by construction. */
#ifndef FLOW_FUZZ_GENERATE_H
#define FLOW_FUZZ_GENERATE_H

#include "tests/fuzz/programs/sample.h"

/* The program of a seed, which depends on nothing else. */
Sample generate(uint64_t seed);

#endif
