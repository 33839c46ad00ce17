/* by_itself, 1 blocks of 32 threads, memory 128: an element is read as the host does. */
#include "cuda.h"

FLOW_GLOBAL(by_itself, 32) {
    const volatile float *a = (const volatile float *)arguments.operands[0];
    (void)a[FLOW_THREAD];
}
