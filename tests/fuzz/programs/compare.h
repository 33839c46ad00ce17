/* Compare: the same programs by the evaluator, by plain C, by fused C and by C at its best. */
#ifndef FLOW_FUZZ_COMPARE_H
#define FLOW_FUZZ_COMPARE_H

#include "tests/fuzz/programs/trial.h"

typedef enum Trouble {
    TROUBLE_none,
    TROUBLE_text,    /* it is not valid, or something of reading.h does not hold */
    TROUBLE_code,    /* the C made of it is not valid, or the compiler ends badly */
    TROUBLE_differs, /* from the evaluator, or with the number of threads */
} Trouble;

/* text: a .flow program with `count` train blocks. What has to hold of its text (reading.h) is
 * checked; then the training step of each block is run in each way, with 1, 2 and 7 threads, on a
 * whole batch and on a smaller one. users: the blocks that are compiled with users' flags too.
 * What is wrong is printed if told is set; findings say what differs. */
Trouble compare_programs(const Text *text, int count, const bool *users, bool told,
                         Findings *findings);

#endif
