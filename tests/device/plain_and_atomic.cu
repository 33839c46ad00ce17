/* plain_and_atomic, 1 blocks of 32 threads, memory 8: one reads while others update. */
#include "cuda.h"

FLOW_GLOBAL(plain_and_atomic, 32) {
    int64_t *a = (int64_t *)arguments.operands[0];
    if (FLOW_THREAD == 9) FLOW_STORE(a, 0, FLOW_LOAD(a, 0) + 1);
    else FLOW_ATOMIC_LEAST(a, FLOW_THREAD);
}
