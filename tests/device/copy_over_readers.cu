/* copy_over_readers, 1 blocks of 32 threads, memory 512 -128: the next copy begins while others still read. */
#include "cuda.h"

FLOW_GLOBAL(copy_over_readers, 32) {
    FLOW_SHARED(float, tile, 128);
    const FlowQuad *a = (const FlowQuad *)arguments.operands[0];
    float *y = (float *)arguments.operands[1];
    FLOW_COPY((FlowQuad *)tile, FLOW_THREAD, a, FLOW_THREAD, true);
    FLOW_END_COPIES();
    FLOW_AWAIT_COPIES(0);
    FLOW_SYNC();
    FLOW_STORE(y, FLOW_THREAD, FLOW_GET(tile, 127 - FLOW_THREAD * 4));
    FLOW_COPY((FlowQuad *)tile, FLOW_THREAD, a, FLOW_THREAD, false);
    FLOW_END_COPIES();
    FLOW_AWAIT_COPIES(0);
}
