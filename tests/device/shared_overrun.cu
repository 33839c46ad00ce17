/* shared_overrun, 1 blocks of 64 threads, memory 4: one element too many. */
#include "cuda.h"

FLOW_GLOBAL(shared_overrun, 64) {
    FLOW_SHARED(float, before, 64);
    FLOW_SHARED(float, after, 64);
    FLOW_PUT(before, FLOW_THREAD + 1, 1);
    FLOW_PUT(after, FLOW_THREAD, 1);
}
