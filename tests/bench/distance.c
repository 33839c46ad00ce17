/* Distance: nanoseconds that a line of the caches takes from the first core to another and back, of
 * the one that is farthest now: a virtual machine's cores may be moved apart at any time. */
#define _GNU_SOURCE
#include "tests/bench/repeated.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { TURNS = 2000, REPEATS = 5 };

static _Alignas(128) atomic_int turn;

static void stay_on(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) exit(1);
}

/* What is even is the first core's turn. */
static void answer_each(int first) {
    for (int i = first; i < 2 * TURNS; i += 2) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != i) {
        }
        atomic_store_explicit(&turn, i + 1, memory_order_release);
    }
}

static void *other_core(void *cpu) {
    stay_on(*(int *)cpu);
    answer_each(1);
    return NULL;
}

/* Of a turn there and back. */
static double seconds_to(int cpu) {
    pthread_t other;
    atomic_store(&turn, -1);
    if (pthread_create(&other, NULL, other_core, &cpu)) exit(1);
    usleep(100); /* so that it is there */
    const double begin = seconds_now();
    atomic_store(&turn, 0);
    answer_each(0);
    const double seconds = seconds_now() - begin;
    pthread_join(other, NULL);
    return seconds / TURNS;
}

/* The least of several tries. */
static double least_to(int cpu) {
    double least = seconds_to(cpu);
    for (int i = 1; i < REPEATS; i++) {
        const double seconds = seconds_to(cpu);
        if (seconds < least) least = seconds;
    }
    return least;
}

int main(void) {
    cpu_set_t allowed;
    int first = 0;
    double farthest = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return 1;
    while (!CPU_ISSET(first, &allowed)) first++;
    stay_on(first);
    for (int cpu = first + 1; cpu < CPU_SETSIZE; cpu++) {
        const double least = CPU_ISSET(cpu, &allowed) ? least_to(cpu) : 0;
        if (least > farthest) farthest = least;
    }
    printf("%.1f\n", farthest * 1e9);
}
