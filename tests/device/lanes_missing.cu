/* lanes_missing, 1 blocks of 64 threads, memory 4: half a warp shuffles. */
#include "cuda.h"

FLOW_GLOBAL(lanes_missing, 64) {
    if (FLOW_THREAD < 48) (void)flow_shuffle_xor_f32(1, 1);
    FLOW_SYNC();
}
