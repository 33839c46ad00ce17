/* deep, 1 blocks of 32 threads, memory 8: functions call themselves without end. */
#include "cuda.h"

static int64_t sum_to(int64_t n) {
    volatile int64_t kept[64];
    kept[n % 64] = n;
    return n > 100000 ? 0 : sum_to(n + 1) + kept[n % 64];
}

FLOW_GLOBAL(deep, 32) {
    FLOW_STORE((int64_t *)arguments.operands[0], 0, sum_to(FLOW_THREAD));
}
