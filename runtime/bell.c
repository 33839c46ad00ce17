/* Bell: who goes to sleep says so before looking once more, who rings does so before looking for
 * sleepers: one of them sees the other. Ringing takes no lock while nobody sleeps. */
#define _GNU_SOURCE
#include "runtime/bell.h"

#include "runtime/barrier.h"
#include "runtime/clock.h"

#include <sched.h>

enum {
    SPINS = 4000,      /* before the processor is offered to others */
    AWAKE_NS = 1000000 /* before sleep */
};

void bell_init(Bell *bell) {
    *bell = (Bell){.rings = 0};
    pthread_mutex_init(&bell->mutex, NULL);
    pthread_cond_init(&bell->rung, NULL);
}

void bell_free(Bell *bell) {
    pthread_cond_destroy(&bell->rung);
    pthread_mutex_destroy(&bell->mutex);
}

void bell_ring(Bell *bell) {
    atomic_fetch_add(&bell->rings, 1);
    if (!atomic_load(&bell->asleep)) return;
    pthread_mutex_lock(&bell->mutex);
    pthread_cond_broadcast(&bell->rung);
    pthread_mutex_unlock(&bell->mutex);
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

static void sleep_until_rung(Bell *bell, unsigned heard) {
    pthread_mutex_lock(&bell->mutex);
    atomic_fetch_add(&bell->asleep, 1);
    while (!is_rung(bell, heard)) pthread_cond_wait(&bell->rung, &bell->mutex);
    atomic_fetch_sub(&bell->asleep, 1);
    pthread_mutex_unlock(&bell->mutex);
}

void bell_wait(Bell *bell, unsigned *heard) {
    if (!hears_awake(bell, *heard)) sleep_until_rung(bell, *heard);
    ++*heard;
}
