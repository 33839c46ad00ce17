/* Barrier: one count of arrivals. It goes up for good: who waits does so until it reaches the next
 * multiple of their number. The last one then hands on one line of memory, once: between
 * distant cores that takes longer than all else. A step waits a few hundred nanoseconds at most, so
 * threads spin; where there are more threads than processors they soon yield instead. */
#include "runtime/barrier.h"

#include <sched.h>

enum { SPINS = 4000 }; /* some tens of microseconds */

void barrier_wait(FlowBarrier *barrier, int threads) {
    if (threads == 1) return;
    const uint64_t count = (uint64_t)threads;
    uint64_t earlier = atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel);
    const uint64_t complete = (earlier / count + 1) * count;
    if (earlier + 1 == complete) return;
    for (int spins = 0; atomic_load_explicit(&barrier->arrived, memory_order_acquire) < complete;
         spins++)
        if (spins < SPINS) spin_pause();
        else sched_yield();
}

void barrier_arrive(FlowBarrier *barrier) {
    atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_release);
}

void flow_barrier(const FlowFrame *frame, int thread, int threads) {
    (void)thread;
    if (threads > 1) barrier_wait(frame->barrier, threads);
}
