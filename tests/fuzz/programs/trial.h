/* Trial: one step of one program by one variant, beside the evaluator. */
#ifndef FLOW_FUZZ_TRIAL_H
#define FLOW_FUZZ_TRIAL_H

#include "tests/fuzz/programs/variant.h"

/* Of the elements that were compared; a vague one may be off by more than a hundredth of the
 * largest of its tensor, by the bounds of its error. */
typedef struct Findings {
    int64_t elements, vague;
    bool differs;
} Findings;

/* Export `index` with numbers that follow from its inputs' and weights' names: every output with 1
 * thread is within the bounds around the exact value, and has the same bits with 2 and 7. told:
 * prints what differs. */
void trial_run(const Variant *variant, int index, int64_t batch, bool told, Findings *findings);

#endif
