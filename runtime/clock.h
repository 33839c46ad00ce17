/* Clock: monotonic time; the only clock of the runtime. */
#ifndef FLOW_CLOCK_H
#define FLOW_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
