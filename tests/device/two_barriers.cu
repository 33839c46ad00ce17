/* two_barriers, 1 blocks of 64 threads, memory 4: each half waits at its own barrier. */
#include "cuda.h"

FLOW_GLOBAL(two_barriers, 64) {
    if (FLOW_THREAD % 2)
        FLOW_SYNC();
    else
        FLOW_SYNC();
}
