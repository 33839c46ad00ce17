/* Latency: one call after another of an exported function of one array, each timed; percentiles in
 * microseconds as one line of JSON. Arguments: library, name of the program, export, weights, how
 * many floats go in and come out, by how many threads. */
#include "tests/bench/repeated.h"

#include <dlfcn.h>
#include <stdio.h>

enum { WARM = 2000, TIMED = 100000 };

typedef void *Create(const char *weights, char *message, size_t size);
typedef int SetThreads(void *instance, int threads);
typedef int Export(void *instance, const float *x, float *result);

static void *function(void *library, const char *program, const char *name) {
    char whole[256];
    snprintf(whole, sizeof whole, "%s_%s", program, name);
    void *found = dlsym(library, whole);
    if (found) return found;
    fprintf(stderr, "there is no %s\n", whole);
    exit(1);
}

static void time_calls(Export *call, void *instance, const float *x, float *result, double *times) {
    for (int i = -WARM; i < TIMED; i++) {
        double begin = seconds_now();
        call(instance, x, result);
        if (i >= 0) times[i] = (seconds_now() - begin) * 1e6;
    }
    qsort(times, TIMED, sizeof *times, by_value);
}

int main(int argc, char **argv) {
    static double times[TIMED];
    void *library = argc == 8 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", argc == 8 ? dlerror() : "seven arguments are needed");
        return 1;
    }
    Create *create = (Create *)function(library, argv[2], "create");
    char message[256];
    void *instance = create(argv[4], message, sizeof message);
    if (!instance) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    int threads = atoi(argv[7]);
    SetThreads *set_threads = (SetThreads *)function(library, argv[2], "set_threads");
    if (set_threads(instance, threads) != threads) {
        fprintf(stderr, "there are no %d threads\n", threads);
        return 1;
    }
    float *x = random_floats((size_t)atol(argv[5])), *y = random_floats((size_t)atol(argv[6]));
    time_calls((Export *)function(library, argv[2], argv[3]), instance, x, y, times);
    printf("{\"p50\": %.4g, \"p99\": %.4g}\n", times[TIMED / 2], times[TIMED / 100 * 99]);
}
