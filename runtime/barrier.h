/* Barrier: where the threads of a team wait for each other. Zero-initialised. */
#ifndef FLOW_BARRIER_H
#define FLOW_BARRIER_H

#include "runtime/flow.h"

#include <stdatomic.h>

struct FlowBarrier {
    _Alignas(64) atomic_int arrived;
    _Alignas(64) atomic_uint turn; /* how often all have met */
};

void barrier_wait(FlowBarrier *barrier, int threads);

/* Tells the processor that this is a waiting loop. */
static inline void spin_pause(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

#endif
