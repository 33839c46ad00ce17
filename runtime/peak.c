#include "runtime/peak.h"

#include "runtime/clock.h"
#include "runtime/processors.h"
#include "runtime/team.h"

enum { SUMS = 12, LANES = 16, TURNS = 100000, TIMES = 16 };

typedef float Lanes __attribute__((vector_size(LANES * sizeof(float))));

/* So many sums that do not wait for each other as hide how long one takes. */
FOR_EACH_PROCESSOR static float multiply_and_add(float factor) {
    Lanes sums[SUMS], factors = (Lanes){0} + factor;
    for (int i = 0; i < SUMS; i++) sums[i] = (Lanes){0} + (float)i;
    for (int turn = 0; turn < TURNS; turn++)
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) sums[i] = sums[i] * factors + factors;
    for (int i = 1; i < SUMS; i++) sums[0] += sums[i];
    return sums[0][0];
}

typedef struct Trial {
    FlowBarrier barrier;
    double seconds; /* the shortest time */
} Trial;

static void run_trial(void *argument, int thread, int threads) {
    Trial *trial = argument;
    volatile float sink = 0.5f;
    for (int i = 0; i < TIMES; i++) {
        barrier_wait(&trial->barrier, threads);
        int64_t before = clock_nanoseconds();
        sink = multiply_and_add(sink);
        barrier_wait(&trial->barrier, threads);
        double seconds = (double)(clock_nanoseconds() - before) / 1e9;
        if (!thread && seconds < trial->seconds) trial->seconds = seconds;
    }
}

double peak_operations(int threads) {
    Team team = {.threads = threads};
    Trial trial = {.seconds = 1e9};
    team_run(&team, run_trial, &trial);
    return 2.0 * SUMS * LANES * TURNS * threads / trial.seconds;
}
