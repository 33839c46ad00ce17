/* misaligned, 1 blocks of 32 threads, memory 1024: elements that begin in the middle of one. */
#include "cuda.h"

FLOW_GLOBAL(misaligned, 32) {
    const double *a = (const double *)(arguments.operands[0] + 4);
    (void)FLOW_LOAD(a, FLOW_THREAD);
}
