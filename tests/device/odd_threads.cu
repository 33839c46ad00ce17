/* odd_threads, 1 blocks of 48 threads, memory 4: a warp and a half. */
#include "cuda.h"

FLOW_GLOBAL(odd_threads, 48) {
    (void)arguments;
}
