/* warp_sum, 8 blocks of 256 threads, memory 8000 -256: each warp adds its part by shuffles. */
#include "cuda.h"

FLOW_GLOBAL(warp_sum, 256) {
    const float *a = (const float *)arguments.operands[0];
    float *y = (float *)arguments.operands[1];
    int64_t i = FLOW_BLOCK * 256 + FLOW_THREAD;
    float sum = i < 2000 ? FLOW_LOAD(a, i) : 0;
    for (int mask = 16; mask > 0; mask /= 2) sum += flow_shuffle_xor_f32(sum, mask);
    if (FLOW_THREAD % 32 == 0) FLOW_STORE(y, i / 32, sum);
}
