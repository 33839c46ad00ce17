/* nowhere, 1 blocks of 32 threads, memory 4: an address that is none. */
#include "cuda.h"

FLOW_GLOBAL(nowhere, 32) {
    FLOW_STORE((float *)8, FLOW_THREAD, 1);
}
