/* much_shared, 1 blocks of 32 threads, memory 4: more shared memory than a block has. */
#include "cuda.h"

FLOW_GLOBAL(much_shared, 32) {
    FLOW_SHARED(float, first, 8192);
    FLOW_SHARED(float, second, 8192);
    FLOW_PUT(first, FLOW_THREAD, 1);
    FLOW_PUT(second, FLOW_THREAD, 1);
}
