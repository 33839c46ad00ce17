/* shared_misaligned, 1 blocks of 32 threads, memory -128: 16 bytes of the block at a multiple of four. */
#include "cuda.h"

FLOW_GLOBAL(shared_misaligned, 32) {
    FLOW_SHARED(float, sums, 36);
    FlowQuad none = {{0}};
    if (FLOW_THREAD == 0) FLOW_PUT((FlowQuad *)(sums + 1), 1, none);
}
