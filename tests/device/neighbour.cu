/* neighbour, 1 blocks of 32 threads, memory 512 512 512: an element of another allocation. */
#include "cuda.h"

FLOW_GLOBAL(neighbour, 32) {
    float *a = (float *)arguments.operands[0], *b = (float *)arguments.operands[1];
    FLOW_STORE(a, b - a + FLOW_THREAD, 1);
}
