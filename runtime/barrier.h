/* Barrier: where the threads of a team wait for each other. Zero-initialised, and made zero again
 * before a team of another size meets there. */
#ifndef FLOW_BARRIER_H
#define FLOW_BARRIER_H

#include "runtime/flow.h"

#include <stdatomic.h>

struct FlowBarrier {
    _Alignas(64) atomic_uint_least64_t arrived; /* arrivals of all threads since it was zero */
};

void barrier_wait(FlowBarrier *barrier, int threads);

/* The thread arrives and goes on: for one that others must wait for, and that comes back, or ends,
 * only at the word of one who did wait. It does not look at the barrier again. */
void barrier_arrive(FlowBarrier *barrier);

/* Tells the processor that this is a waiting loop. */
static inline void spin_pause(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

#endif
