/* missing_barrier, 2 blocks of 64 threads, memory -8: a sum whose last steps don't wait. */
#include "cuda.h"

FLOW_GLOBAL(missing_barrier, 64) {
    FLOW_SHARED(float, sums, 64);
    float *y = (float *)arguments.operands[0];
    FLOW_PUT(sums, FLOW_THREAD, 1);
    FLOW_SYNC();
    for (int64_t half = 32; half > 0; half /= 2)
        if (FLOW_THREAD < half)
            FLOW_PUT(sums, FLOW_THREAD, FLOW_GET(sums, FLOW_THREAD) + FLOW_GET(sums, FLOW_THREAD + half));
    FLOW_SYNC();
    if (FLOW_THREAD == 0) FLOW_STORE(y, FLOW_BLOCK, FLOW_GET(sums, 0));
}
