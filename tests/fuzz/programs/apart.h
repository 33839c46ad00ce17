/* Apart: compare_programs in a process of its own, which may end badly. */
#ifndef FLOW_FUZZ_APART_H
#define FLOW_FUZZ_APART_H

#include "tests/fuzz/programs/compare.h"

Trouble compare_apart(const Text *text, int count, const bool *users, bool told,
                      Findings *findings);

#endif
