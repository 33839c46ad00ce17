/* blocks_race, 4 blocks of 32 threads, memory 512: each block reads what the next one writes. */
#include "cuda.h"

FLOW_GLOBAL(blocks_race, 32) {
    float *a = (float *)arguments.operands[0];
    FLOW_STORE(a, FLOW_BLOCK * 32 + FLOW_THREAD, (float)FLOW_THREAD);
    FLOW_SYNC();
    (void)FLOW_LOAD(a, (FLOW_BLOCK + 1) % FLOW_BLOCKS * 32 + FLOW_THREAD);
}
