/* Bell: who goes to sleep says so before looking once more, who rings does so before looking for
 * sleepers: one of them sees the other. Ringing asks the system for nothing while nobody sleeps. */
#define _GNU_SOURCE
#include "runtime/bell.h"

#include "runtime/barrier.h"
#include "runtime/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SPINS = 4000,      /* before the processor is offered to others */
    AWAKE_NS = 1000000 /* before sleep */
};

bool bell_has_sleepers(Bell *bell) {
    return atomic_load(&bell->asleep);
}

void bell_rouse(Bell *bell) {
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void bell_ring(Bell *bell) {
    atomic_fetch_add(&bell->rings, 1);
    if (bell_has_sleepers(bell)) bell_rouse(bell);
}

static bool is_rung(Bell *bell, unsigned heard) {
    return atomic_load(&bell->rings) != heard;
}

static bool hears_awake(Bell *bell, unsigned heard) {
    for (int i = 0; i < SPINS; i++, spin_pause())
        if (is_rung(bell, heard)) return true;
    int64_t end = clock_nanoseconds() + AWAKE_NS;
    while (clock_nanoseconds() < end) {
        if (is_rung(bell, heard)) return true;
        sched_yield();
    }
    return false;
}

static void sleep_until_woken(Bell *bell, unsigned heard) {
    atomic_fetch_add(&bell->asleep, 1);
    if (!is_rung(bell, heard))
        syscall(SYS_futex, &bell->rings, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
    atomic_fetch_sub(&bell->asleep, 1);
}

void bell_wait(Bell *bell, unsigned *heard) {
    while (!hears_awake(bell, *heard)) sleep_until_woken(bell, *heard);
    ++*heard;
}
