/* Distance: nanoseconds that a line of the caches takes from the first core to another and back, of
 * the one that is farthest now: a virtual machine's cores may be moved apart at any time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 2000, REPEATS = 5 };

static _Alignas(128) atomic_int turn;

static void stay_on(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
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

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Of a turn there and back; 0: there is no such thread. */
static double seconds_to(int cpu) {
    pthread_t other;
    atomic_store(&turn, -1);
    if (pthread_create(&other, NULL, other_core, &cpu)) return 0;
    usleep(100); /* so that it is there */
    const double begin = seconds_now();
    atomic_store(&turn, 0);
    answer_each(0);
    pthread_join(other, NULL);
    return (seconds_now() - begin) / TURNS;
}

int main(void) {
    const int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    double farthest = 0;
    stay_on(0);
    for (int cpu = 1; cpu < cores; cpu++) {
        double least = seconds_to(cpu);
        for (int i = 1; i < REPEATS; i++) {
            const double seconds = seconds_to(cpu);
            if (seconds < least) least = seconds;
        }
        if (least > farthest) farthest = least;
    }
    printf("%.1f\n", farthest * 1e9);
}
