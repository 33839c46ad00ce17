/* Compare: the same programs by the evaluator, by plain C and by C at its best. */
#ifndef FLOW_FUZZ_COMPARE_H
#define FLOW_FUZZ_COMPARE_H

#include "lang/base/text.h"

#include <stdbool.h>

typedef enum Verdict {
    VERDICT_agrees,
    VERDICT_skipped, /* too sensitive to rounding for a comparison to say anything */
    VERDICT_differs,
} Verdict;

/* text: a .flow program with `count` train blocks. Checks that it is valid, that formatting it
 * twice is formatting it once, and that its graphs' text reads back as itself; then compares the
 * training step of each block: all values stored, at -O0; what the compiler makes of it, at -O3;
 * each with 1, 2 and 7 threads, on a whole batch and on a smaller one. What differs is printed if
 * told is set. False when the text itself, or the C, is at fault. */
bool compare_programs(const Text *text, int count, bool told, Verdict *verdicts);

#endif
