/* threads_end, 1 blocks of 128 threads, memory 4: some leave before the barrier. */
#include "cuda.h"

FLOW_GLOBAL(threads_end, 128) {
    if (FLOW_THREAD >= 100) return;
    FLOW_SYNC();
}
