/* shared_unwritten, 2 blocks of 64 threads, memory -512: one element was left out. */
#include "cuda.h"

FLOW_GLOBAL(shared_unwritten, 64) {
    FLOW_SHARED(float, values, 64);
    float *y = (float *)arguments.operands[0];
    if (FLOW_THREAD != 5) FLOW_PUT(values, FLOW_THREAD, 1);
    FLOW_SYNC();
    FLOW_STORE(y, FLOW_BLOCK * 64 + FLOW_THREAD, FLOW_GET(values, FLOW_THREAD));
}
