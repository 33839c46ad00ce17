/* barrier_of_some, 1 blocks of 96 threads, memory 256: what the third warp writes is read behind a barrier of the first two. */
#include "cuda.h"

FLOW_GLOBAL(barrier_of_some, 96) {
    FLOW_SHARED(float, a, 32);
    const int thread = (int)FLOW_THREAD;
    float *y = (float *)arguments.operands[0];
    if (thread >= 64) FLOW_PUT(a, thread - 64, 1);
    if (thread >= 64) return;
    FLOW_SYNC_FIRST(64);
    FLOW_STORE(y, thread, FLOW_GET(a, thread % 32));
}
