/* other_threads, 1 blocks of 64 threads, memory 4: launched with more than it is made for. */
#include "cuda.h"

FLOW_GLOBAL(other_threads, 32) {
    (void)arguments;
}
