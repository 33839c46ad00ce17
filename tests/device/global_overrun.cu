/* global_overrun, 2 blocks of 64 threads, memory 400 512: nobody asks where the end is. */
#include "cuda.h"

FLOW_GLOBAL(global_overrun, 64) {
    const float *a = (const float *)arguments.operands[0];
    float *y = (float *)arguments.operands[1];
    int64_t i = FLOW_BLOCK * 64 + FLOW_THREAD;
    FLOW_STORE(y, i, 2 * FLOW_LOAD(a, i));
}
