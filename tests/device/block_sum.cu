/* block_sum, 8 blocks of 256 threads, memory 8000 -32: each block adds its part, in a tree. */
#include "cuda.h"

FLOW_GLOBAL(block_sum, 256) {
    FLOW_SHARED(float, sums, 256);
    const float *a = (const float *)arguments.operands[0];
    float *y = (float *)arguments.operands[1];
    int64_t i = FLOW_BLOCK * 256 + FLOW_THREAD;
    FLOW_PUT(sums, FLOW_THREAD, i < 2000 ? FLOW_LOAD(a, i) : 0);
    for (int64_t half = 128; half > 0; half /= 2) {
        FLOW_SYNC();
        if (FLOW_THREAD < half)
            FLOW_PUT(sums, FLOW_THREAD,
                     FLOW_GET(sums, FLOW_THREAD) + FLOW_GET(sums, FLOW_THREAD + half));
    }
    if (FLOW_THREAD == 0) FLOW_STORE(y, FLOW_BLOCK, FLOW_GET(sums, 0));
}
