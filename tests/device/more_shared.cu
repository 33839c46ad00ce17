/* more_shared, 1 blocks of 32 threads, memory 128: the array takes more than the launch adds. */
#include "cuda.h"

FLOW_GLOBAL(more_shared, 32) {
    FLOW_SHARED_MORE(float, values, 1024);
    FLOW_PUT(values, FLOW_THREAD, (float)arguments.operands[0]);
}
