/* shared_race, 1 blocks of 32 threads, memory -4: all write one element, each another value. */
#include "cuda.h"

FLOW_GLOBAL(shared_race, 32) {
    FLOW_SHARED(int64_t, last, 1);
    FLOW_PUT(last, 0, FLOW_THREAD);
}
