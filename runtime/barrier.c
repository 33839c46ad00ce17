/* Barrier: centralised and sense-reversing, after Mellor-Crummey & Scott, "Algorithms for
 * scalable synchronization", ACM TOCS 9(1), 1991; `turn` is the sense. A step waits a few
 * hundred nanoseconds at most, so threads spin; where there are more threads than
 * processors they soon yield instead. */
#include "runtime/barrier.h"

#include <sched.h>

enum { SPINS = 4000 }; /* some tens of microseconds */

static void wait_for_turn(FlowBarrier *barrier, unsigned old) {
    for (int spins = 0; atomic_load_explicit(&barrier->turn, memory_order_acquire) == old; spins++)
        if (spins < SPINS) spin_pause();
        else sched_yield();
}

void barrier_wait(FlowBarrier *barrier, int threads) {
    if (threads == 1) return;
    unsigned turn = atomic_load_explicit(&barrier->turn, memory_order_relaxed);
    int earlier = atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel);
    if (earlier < threads - 1) {
        wait_for_turn(barrier, turn);
        return;
    }
    atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&barrier->turn, turn + 1, memory_order_release);
}

void flow_barrier(const FlowFrame *frame, int thread, int threads) {
    (void)thread;
    if (threads > 1) barrier_wait(frame->barrier, threads);
}
