/* global_race, 1 blocks of 64 threads, memory -256: what another thread of the block writes. */
#include "cuda.h"

FLOW_GLOBAL(global_race, 64) {
    float *a = (float *)arguments.operands[0];
    FLOW_STORE(a, FLOW_THREAD, (float)FLOW_THREAD);
    FLOW_STORE(a, FLOW_THREAD ^ 1, 0);
}
