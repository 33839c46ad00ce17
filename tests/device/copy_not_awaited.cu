/* copy_not_awaited, 1 blocks of 32 threads, memory 1024 -128: of two groups of copies the latest may be under way. */
#include "cuda.h"

FLOW_GLOBAL(copy_not_awaited, 32) {
    FLOW_SHARED(float, tile, 256);
    const FlowQuad *a = (const FlowQuad *)arguments.operands[0];
    float *y = (float *)arguments.operands[1];
    FLOW_COPY((FlowQuad *)tile, FLOW_THREAD, a, FLOW_THREAD, true);
    FLOW_END_COPIES();
    FLOW_COPY((FlowQuad *)tile, FLOW_THREAD + 32, a, FLOW_THREAD, true);
    FLOW_END_COPIES();
    FLOW_AWAIT_COPIES(1);
    FLOW_SYNC();
    FLOW_STORE(y, FLOW_THREAD, FLOW_GET(tile, 127 - FLOW_THREAD) + FLOW_GET(tile, 255 - FLOW_THREAD));
}
