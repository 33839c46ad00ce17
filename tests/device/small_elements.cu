/* small_elements, 1 blocks of 64 threads, memory 256: a byte of an element of another thread. */
#include "cuda.h"

FLOW_GLOBAL(small_elements, 64) {
    int32_t *a = (int32_t *)arguments.operands[0];
    FLOW_STORE(a, FLOW_THREAD, 1);
    if (FLOW_THREAD == 7) FLOW_STORE((uint8_t *)a, 21, 5);
}
