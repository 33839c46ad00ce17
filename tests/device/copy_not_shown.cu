/* copy_not_shown, 1 blocks of 32 threads, memory 512 -128: who waits for a copy has it, others only after a barrier. */
#include "cuda.h"

FLOW_GLOBAL(copy_not_shown, 32) {
    FLOW_SHARED(float, tile, 128);
    float *y = (float *)arguments.operands[1];
    FLOW_COPY((FlowQuad *)tile, FLOW_THREAD, (const FlowQuad *)arguments.operands[0], FLOW_THREAD, true);
    FLOW_END_COPIES();
    FLOW_AWAIT_COPIES(0);
    FLOW_STORE(y, FLOW_THREAD, FLOW_GET(tile, 127 - FLOW_THREAD * 4));
}
