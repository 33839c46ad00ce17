/* Repeated: how long one call of something takes, by repeating it. */
#ifndef BENCH_REPEATED_H
#define BENCH_REPEATED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES_MOST = 21, BATCHES_LEAST = 3 };
static const double BATCH_SECONDS = 2e-3, REPEATED_SECONDS = 0.25;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* Seconds of `calls` calls in a row. */
typedef double Repeat(void *argument, long calls);

/* Calls that take about BATCH_SECONDS, found while warming up. */
static long calls_of_a_batch(Repeat *repeat, void *argument) {
    long calls = 1;
    repeat(argument, calls); /* which may start threads and load code */
    for (;;) {
        double seconds = repeat(argument, calls);
        if (seconds > BATCH_SECONDS / 2) return calls;
        calls *= 2;
    }
}

/* The median over batches of calls of the seconds that one takes. */
static double seconds_of_a_call(Repeat *repeat, void *argument) {
    double found[BATCHES_MOST], begin = seconds_now();
    long calls = calls_of_a_batch(repeat, argument);
    int count = 0;
    while (count < BATCHES_MOST &&
           (count < BATCHES_LEAST || seconds_now() - begin < REPEATED_SECONDS))
        found[count++] = repeat(argument, calls) / (double)calls;
    return median(found, count);
}

static void *in_lines(size_t size) {
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    if (!memory) exit(3);
    return memory;
}

static float random_float(void) {
    return (float)rand() / (float)RAND_MAX - 0.5f;
}

static float *random_floats(size_t count) {
    float *values = in_lines(count * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = random_float();
    return values;
}

/* As bf16: the upper halves of such numbers. */
static uint16_t *random_halves(size_t count) {
    uint16_t *halves = in_lines(count * sizeof *halves);
    for (size_t i = 0; i < count; i++) {
        const float value = random_float();
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
    }
    return halves;
}

static void *random_numbers(int as_half, size_t count) {
    return as_half ? (void *)random_halves(count) : random_floats(count);
}

#endif
