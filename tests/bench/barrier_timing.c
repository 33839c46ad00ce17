/* Barrier timing: nanoseconds of a barrier of all threads, one after the other. Argument: threads.
 * Built with OPENMP_BARRIER it is OpenMP's, else that of flowc's teams. */
#include "tests/bench/repeated.h"

#include <stdio.h>

static int threads;
static double seconds;

#if defined OPENMP_BARRIER
static double repeat(void *argument, long calls) {
    (void)argument;
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
        double begin = seconds_now();
        for (long i = 0; i < calls; i++) {
#pragma omp barrier
        }
#pragma omp master
        seconds = seconds_now() - begin;
    }
    return seconds;
}
#else
#include "runtime/team.h"

static Team team;

static void wait_often(void *argument, int thread, int count) {
    barrier_wait(&team.barrier, count);
    double begin = seconds_now();
    for (long i = 0; i < *(long *)argument; i++) barrier_wait(&team.barrier, count);
    if (thread == 0) seconds = seconds_now() - begin;
}

static double repeat(void *argument, long calls) {
    (void)argument;
    team.threads = threads;
    team_run(&team, wait_often, &calls);
    return seconds;
}
#endif

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 2;
    printf("%.1f\n", seconds_of_a_call(repeat, NULL) * 1e9);
}
