/* freed, 1 blocks of 32 threads, memory 128 0: the second operand is what the first was. */
#include "cuda.h"

FLOW_GLOBAL(freed, 32) {
    const float *a = (const float *)arguments.operands[1];
    (void)FLOW_LOAD(a, FLOW_THREAD);
}
