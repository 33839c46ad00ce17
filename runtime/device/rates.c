/* Rates. Work is doubled until it takes long enough for a clock, and no longer: a stand-in is a
 * million times as slow as what it stands in for. */
#include "runtime/device/rates.h"

#include "runtime/clock.h"
#include "runtime/device/driver.h"
#include "runtime/device/launch.h"
#include "runtime/device/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MULTIPROCESSORS = 16, /* numbers of CUdevice_attribute */
    THREADS_OF_EACH = 39,
    NOT_BLOCKING = 1,
    THREADS = 256, /* of a block, as in the kernels */
    LAUNCHES = 200,
    TURNS = 64,
    OPERATIONS = 16, /* of a turn */
    TRIALS = 5,
};

static const size_t most = 256 << 20, least = 1 << 20; /* bytes of each half of the memory */
static const size_t host_size = 32 << 20;
static const double long_enough = 3e-3, few_trials = 3e-2; /* seconds */

typedef struct Bench {
    Driver driver;
    int handle, error;
    const char *failed; /* what went wrong first, or NULL */
    void *context, *stream, *module;
    uint64_t memory; /* results lie in one half, operands in the other */
    size_t half;
    void *host; /* pinned, as batches are */
} Bench;

static bool succeeded(Bench *bench, int error, const char *what) {
    if (error && !bench->failed) bench->failed = what, bench->error = error;
    return !bench->failed;
}

/* Opening. */

static bool load(Bench *bench, const char *text, char *why) {
    GpuImage image;
    int capability = 0;
    const Driver *driver = &bench->driver;
    if (!succeeded(bench, driver_capability(driver, bench->handle, &capability), "say its kind"))
        return false;
    FlowStatus status = nvrtc_compile(text, capability, driver_version(driver), &image);
    if (status.exit) {
        snprintf(why, DEVICE_TEXT, "%.*s", DEVICE_TEXT - 1, status.text);
        return false;
    }
    bool good = succeeded(bench, driver->load(&bench->module, image.bytes), "load kernels");
    free(image.bytes);
    return good;
}

static bool start(Bench *bench, int ordinal) {
    const Driver *driver = &bench->driver;
    return succeeded(bench, driver->initialise(0), "start") &&
           succeeded(bench, driver->get(&bench->handle, ordinal), "be opened") &&
           succeeded(bench, driver->retain(&bench->context, bench->handle), "be started") &&
           succeeded(bench, driver->use(bench->context), "be used") &&
           succeeded(bench, driver->new_stream(&bench->stream, NOT_BLOCKING), "be started");
}

static bool copy_in(Bench *bench, size_t offset, size_t size) {
    const Driver *driver = &bench->driver;
    uint64_t to = bench->memory + bench->half + offset;
    return succeeded(bench, driver->copy_in(to, bench->host, size, bench->stream), "take a copy");
}

/* More than its caches hold, where there is so much. */
static bool make_room(Bench *bench) {
    const Driver *driver = &bench->driver;
    int error = driver->allocate(&bench->memory, 2 * most);
    for (bench->half = most; error && bench->half > least;)
        bench->half /= 2, error = driver->allocate(&bench->memory, 2 * bench->half);
    if (error) bench->memory = 0;
    if (!succeeded(bench, error, "allocate memory")) return false;
    if (!succeeded(bench, driver->new_pinned(&bench->host, host_size, 0), "pin memory"))
        return false;
    memset(bench->host, 0, host_size);
    for (size_t at = 0; at < bench->half && !bench->failed; at += host_size)
        copy_in(bench, at, bench->half - at < host_size ? bench->half - at : host_size);
    return succeeded(bench, driver->finish(bench->stream), "take a copy");
}

static bool open_bench(Bench *bench, int ordinal) {
    return start(bench, ordinal) && make_room(bench);
}

static void close_bench(Bench *bench) {
    const Driver *driver = &bench->driver;
    if (bench->memory) driver->deallocate(bench->memory);
    if (bench->module) driver->unload(bench->module);
    if (bench->stream) driver->end_stream(bench->stream);
    if (bench->host) driver->end_pinned(bench->host);
    if (bench->context) driver->use(NULL), driver->release(bench->handle);
}

/* Measuring. */

static bool launch(Bench *bench, void *function, unsigned blocks, unsigned threads) {
    const Driver *driver = &bench->driver;
    FlowArguments arguments = {.memory = NULL};
    void *parameters[] = {&arguments};
    arguments.operands[0] = (int64_t)bench->memory;
    arguments.operands[1] = (int64_t)(bench->memory + bench->half);
    arguments.operands[2] = TURNS;
    int error =
        driver->launch(function, blocks, 1, 1, threads, 1, 1, 0, bench->stream, parameters, NULL);
    return succeeded(bench, error, "launch a kernel");
}

/* Seconds of so many launches of so many blocks, at best; one trial where that is long. */
static double time_launches(Bench *bench, const char *name, unsigned blocks, int launches,
                            unsigned threads) {
    void *function = NULL;
    const Driver *driver = &bench->driver;
    double best = 1e9;
    if (!succeeded(bench, driver->find(&function, bench->module, name), "find a kernel")) return 1;
    for (int trial = 0; trial < TRIALS && (!trial || best < few_trials); trial++) {
        int64_t before = clock_nanoseconds();
        for (int i = 0; i < launches && launch(bench, function, blocks, threads); i++) continue;
        succeeded(bench, driver->finish(bench->stream), "do its kernels");
        double seconds = (double)(clock_nanoseconds() - before) / 1e9;
        if (seconds < best) best = seconds;
    }
    return best;
}

/* Seconds of a block, in a launch of so many that it takes long, or in so many launches. */
static double time_of_block(Bench *bench, const char *name, size_t element) {
    unsigned last = (unsigned)(bench->half / (THREADS * element)), blocks = 16;
    int launches = 1;
    double seconds = 0;
    while (!bench->failed) {
        seconds = time_launches(bench, name, blocks, launches, THREADS);
        if (seconds >= long_enough || launches >= LAUNCHES) break;
        if (blocks * 2 <= last) blocks *= 2;
        else launches *= 2;
    }
    return seconds / blocks / launches;
}

static double time_copy(Bench *bench, size_t size) {
    double best = 1e9;
    const Driver *driver = &bench->driver;
    for (int trial = 0; trial < TRIALS && !bench->failed; trial++) {
        int64_t before = clock_nanoseconds();
        copy_in(bench, 0, size);
        succeeded(bench, driver->finish(bench->stream), "take a copy");
        double seconds = (double)(clock_nanoseconds() - before) / 1e9;
        if (seconds < best) best = seconds;
    }
    return best;
}

static double at_least(double value, double least) {
    return value > least ? value : least;
}

/* As many threads as there can be at a time: what one does takes as long without the others, and
 * no launch of so few is long enough for a clock. */
static double find_fill(Bench *bench) {
    int processors = 0, threads = 0;
    const Driver *driver = &bench->driver;
    succeeded(bench, driver->get_attribute(&processors, MULTIPROCESSORS, bench->handle),
              "say its size");
    succeeded(bench, driver->get_attribute(&threads, THREADS_OF_EACH, bench->handle),
              "say its size");
    return (double)processors * threads;
}

static void measure(Bench *bench, GpuRates *rates) {
    const double operations = (double)THREADS * TURNS * OPERATIONS;
    rates->latency = time_copy(bench, sizeof(float));
    size_t size = bench->half < host_size ? bench->half : host_size;
    rates->link = (double)size / at_least(time_copy(bench, size) - rates->latency, 1e-9);
    rates->start = time_launches(bench, "flow_rate_nothing", 1, LAUNCHES, 32) / LAUNCHES;
    rates->single_precision = operations / time_of_block(bench, "flow_rate_single", sizeof(float));
    rates->double_precision = operations / time_of_block(bench, "flow_rate_double", sizeof(double));
    double block = time_of_block(bench, "flow_rate_copy", sizeof(float));
    rates->memory = 2.0 * THREADS * sizeof(float) / block;
    rates->fill = find_fill(bench);
}

bool gpu_rates(int ordinal, const char *text, GpuRates *rates, char *why) {
    Bench bench = {0};
    *why = 0;
    if (!driver_load(&bench.driver, why)) return false;
    bool good = open_bench(&bench, ordinal) && load(&bench, text, why);
    if (good) measure(&bench, rates);
    if (bench.failed)
        snprintf(why, DEVICE_TEXT, "it can't %s: %.100s", bench.failed,
                 driver_error(&bench.driver, bench.error).text);
    close_bench(&bench);
    return good && !bench.failed;
}
