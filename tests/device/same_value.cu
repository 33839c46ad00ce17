/* same_value, 2 blocks of 32 threads, memory 4: all write the same. */
#include "cuda.h"

FLOW_GLOBAL(same_value, 32) {
    float *a = (float *)arguments.operands[0];
    if (FLOW_THREAD == 0) FLOW_STORE(a, 0, 3);
}
