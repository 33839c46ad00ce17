/* least, 4 blocks of 64 threads, memory 1024 8: all threads of all blocks change one number. */
#include "cuda.h"

FLOW_GLOBAL(least, 64) {
    const float *a = (const float *)arguments.operands[0];
    int64_t *y = (int64_t *)arguments.operands[1];
    int64_t i = FLOW_BLOCK * 64 + FLOW_THREAD;
    FLOW_ATOMIC_LEAST(y, -(int64_t)FLOW_LOAD(a, i));
}
