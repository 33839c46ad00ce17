/* global_unwritten, 1 blocks of 32 threads, memory -128 128: the first operand has no values. */
#include "cuda.h"

FLOW_GLOBAL(global_unwritten, 32) {
    const float *a = (const float *)arguments.operands[0];
    float *y = (float *)arguments.operands[1];
    FLOW_STORE(y, FLOW_THREAD, FLOW_LOAD(a, FLOW_THREAD));
}
