/* warp_exchange, 1 blocks of 32 threads, memory -128: a warp does not run in step. */
#include "cuda.h"

FLOW_GLOBAL(warp_exchange, 32) {
    FLOW_SHARED(float, values, 32);
    float *y = (float *)arguments.operands[0];
    FLOW_PUT(values, FLOW_THREAD, 1);
    (void)flow_shuffle_xor_f32(1, 1);
    FLOW_STORE(y, FLOW_THREAD, FLOW_GET(values, 31 - FLOW_THREAD));
}
