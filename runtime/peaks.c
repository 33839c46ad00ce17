#include "runtime/peaks.h"

#include "runtime/barrier.h"
#include "runtime/clock.h"
#include "runtime/product/matrix.h"
#include "runtime/product/product.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUMS = 12,
    PAIRS_LANES = 16,
    READ_STEP =
        1024, /* bytes: parts are multiples of it, and it of what read_all takes in a turn */
    TURNS = 50000,
    NEAR = 256 << 10, /* bytes of a thread */
    FAR = 128 << 20,  /* bytes of all threads: more than caches hold */
    NEAR_PASSES = 100,
    TRIALS = 8,
    FAR_TRIALS = 3,
    MEETING_TRIALS = 4000,
    MOST_THREADS = 1024,
    MEETINGS = 5,
};

/* What is measured with vectors: with the widest that the processor has. One that is wider becomes
 * several, and a loop of them keeps nothing in registers. */
typedef struct Loops {
    int bytes; /* of a vector */
    float (*multiply_and_add)(float factor);
    double (*multiply_and_add_doubles)(double factor);
    float (*read_all)(const float *from, size_t bytes);
} Loops;

#ifdef __clang__
#define OPTIMISED
#else
#define OPTIMISED __attribute__((optimize("O3")))
#endif
#define LOOPS(bytes)                                                                        \
    (Loops) {                                                                               \
        bytes, multiply_and_add_##bytes, multiply_and_add_doubles_##bytes, read_all_##bytes \
    }

#if defined __x86_64__
#define BYTES 64
#define NAME(name) name##_64
#define TARGET OPTIMISED __attribute__((target("avx512f")))
#include "runtime/peaks_loops.h"
#define BYTES 32
#define NAME(name) name##_32
#define TARGET OPTIMISED __attribute__((target("avx2,fma")))
#include "runtime/peaks_loops.h"
#endif
#define BYTES 16
#define NAME(name) name##_16
#define TARGET OPTIMISED
#include "runtime/peaks_loops.h"

static Loops widest_loops(void) {
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f")) return LOOPS(64);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return LOOPS(32);
#endif
    return LOOPS(16);
}

#if defined __x86_64__
/* Products of pairs: of each 32, added to 16 sums. */
__attribute__((target("avx512f"))) static float multiply_pairs(float factor) {
    Lanes_64 sums[SUMS], factors = (Lanes_64){0} + factor;
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; i++) sums[i] = (Lanes_64){0};
    for (int turn = 0; turn < TURNS; turn++)
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++)
            __asm__("vdpbf16ps %1, %1, %0" : "+v"(sums[i]) : "v"(factors));
#pragma GCC unroll 12
    for (int i = 1; i < SUMS; i++) sums[0] += sums[i];
    return sums[0][0];
}

enum { TILES = 4, TILE_PRODUCTS = FLOW_SIDE * FLOW_SIDE * FLOW_DEPTH };

/* Products of matrix tiles, added to four of sums. */
static float multiply_tiles(float factor) {
    static const FlowTile tile = {{{0x3f803f80, 0x3f803f80, 0x3f803f80}}};
    const int64_t line = sizeof(FlowPairs);
    flow_matrix_begin();
    FLOW_LOAD_TILE(4, &tile, line);
    FLOW_LOAD_TILE(5, &tile, line);
    FLOW_LOAD_TILE(6, &tile, line);
    FLOW_LOAD_TILE(7, &tile, line);
    for (int turn = 0; turn < TURNS; turn++) {
        FLOW_MULTIPLY_TILES(0, 4, 6);
        FLOW_MULTIPLY_TILES(1, 4, 7);
        FLOW_MULTIPLY_TILES(2, 5, 6);
        FLOW_MULTIPLY_TILES(3, 5, 7);
    }
    flow_matrix_end();
    return factor;
}
#else
static float multiply_pairs(float factor) {
    return factor;
}

enum { TILES = 0, TILE_PRODUCTS = 0 };

static float multiply_tiles(float factor) {
    return factor;
}
#endif

/* What all threads do at the same time. */

typedef enum Task {
    TASK_single,
    TASK_double,
    TASK_pairs,
    TASK_tiles,
    TASK_near,
    TASK_far,
    TASK_meet
} Task;

typedef struct Trial {
    Task task;
    Loops loops;
    const float *array; /* of all threads, one part behind the other */
    size_t size;        /* of a part, in bytes */
    int times, threads;
    atomic_int begins; /* with so many threads; 0: not yet */
    FlowBarrier barrier;
    double seconds; /* the shortest time */
} Trial;

typedef struct Part {
    Trial *trial;
    int thread;
    pthread_t id;
} Part;

static float read_part(const Trial *trial, int thread) {
    const float *part = trial->array + (size_t)thread * trial->size / sizeof(float);
    return trial->loops.read_all(part, trial->size);
}

static float meet(Trial *trial) {
    int threads = atomic_load(&trial->begins);
    for (int i = 0; i < MEETINGS; i++) barrier_wait(&trial->barrier, threads);
    return 0;
}

static float do_task(Trial *trial, int thread) {
    float sum = 0.5f;
    switch (trial->task) {
    case TASK_single: return trial->loops.multiply_and_add(sum);
    case TASK_pairs: return multiply_pairs(sum);
    case TASK_tiles: return multiply_tiles(sum);
    case TASK_near:
        for (int i = 0; i < NEAR_PASSES; i++) sum += read_part(trial, thread);
        return sum;
    case TASK_far: return read_part(trial, thread);
    case TASK_double: return (float)trial->loops.multiply_and_add_doubles(sum);
    case TASK_meet: return meet(trial);
    }
    return sum;
}

static void *run_part(void *argument) {
    const Part *part = argument;
    Trial *trial = part->trial;
    volatile float sink = 0;
    int threads;
    while (!(threads = atomic_load(&trial->begins))) sched_yield();
    for (int i = 0; i < trial->times; i++) {
        barrier_wait(&trial->barrier, threads);
        int64_t before = clock_nanoseconds();
        sink = do_task(trial, part->thread);
        barrier_wait(&trial->barrier, threads);
        double seconds = (double)(clock_nanoseconds() - before) / 1e9;
        if (!part->thread && seconds < trial->seconds) trial->seconds = seconds;
    }
    (void)sink;
    return NULL;
}

/* So much work of each thread, by all that there are, a second at best. */
static double rate_of(Trial *trial, double work) {
    Part parts[MOST_THREADS];
    int started = 1;
    trial->seconds = 1e9;
    for (int i = 0; i < trial->threads; i++) parts[i] = (Part){.trial = trial, .thread = i};
    while (started < trial->threads &&
           !pthread_create(&parts[started].id, NULL, run_part, &parts[started]))
        started++;
    atomic_store(&trial->begins, started);
    run_part(&parts[0]);
    for (int i = 1; i < started; i++) pthread_join(parts[i].id, NULL);
    return work * started / trial->seconds;
}

/* Bytes a second of parts that are so large; 0: there is no room. */
static double read_rate(Task task, int threads, size_t part, int passes, int times) {
    size_t size = part / READ_STEP * READ_STEP;
    float *array = aligned_alloc(READ_STEP, size * (size_t)threads);
    if (!array) return 0;
    memset(array, 1, size * (size_t)threads);
    Trial trial = {
        .task = task,
        .array = array,
        .size = size,
        .loops = widest_loops(),
        .times = times,
        .threads = threads,
    };
    double rate = rate_of(&trial, (double)size * passes);
    free(array);
    return rate;
}

static double rate_of_halves(const Peaks *peaks) {
    Trial pairs = {.task = TASK_pairs, .times = TRIALS, .threads = peaks->threads};
    Trial tiles = {.task = TASK_tiles, .times = TRIALS, .threads = peaks->threads};
    switch (flow_half_means()) {
    case FLOW_HALF_tiles: return rate_of(&tiles, 2.0 * TILES * TILE_PRODUCTS * TURNS);
    case FLOW_HALF_pairs: return rate_of(&pairs, 4.0 * SUMS * PAIRS_LANES * TURNS);
    }
    return peaks->operations[FLOW_SINGLE];
}

Peaks peaks_measure(int threads) {
    Peaks peaks = {.threads = threads < MOST_THREADS ? threads : MOST_THREADS};
    const Loops loops = widest_loops();
    const double sums = 2.0 * SUMS * loops.bytes * TURNS;
    Trial single = {.task = TASK_single, .loops = loops, .times = TRIALS, .threads = peaks.threads};
    peaks.operations[FLOW_SINGLE] = rate_of(&single, sums / sizeof(float));
    Trial doubles = {
        .task = TASK_double, .loops = loops, .times = TRIALS, .threads = peaks.threads};
    peaks.operations[FLOW_DOUBLE] = rate_of(&doubles, sums / sizeof(double));
    const double halves = peaks.operations[FLOW_HALVES] = rate_of_halves(&peaks);
    const double thirds = halves / FLOW_THIRDS_PRODUCTS, vectors = peaks.operations[FLOW_SINGLE];
    peaks.operations[FLOW_THIRDS] = thirds > vectors ? thirds : vectors;
    peaks.near = read_rate(TASK_near, peaks.threads, NEAR, NEAR_PASSES, TRIALS);
    peaks.far = read_rate(TASK_far, peaks.threads, FAR / (size_t)peaks.threads, 1, FAR_TRIALS);
    return peaks;
}

double peaks_meeting(int threads) {
    Trial meeting = {.task = TASK_meet, .times = MEETING_TRIALS};
    meeting.threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    rate_of(&meeting, 1);
    return meeting.seconds / MEETINGS;
}

Peaks peaks_of(const Peaks *peaks, double threads) {
    Peaks fewer = *peaks;
    double part = threads < peaks->threads ? threads / peaks->threads : 1;
    for (int i = 0; i <= FLOW_THIRDS; i++) fewer.operations[i] *= part;
    fewer.near *= part;
    return fewer;
}

/* What bounds a call. */

static void raise_floor(Floor *floor, double work, double rate, const char *name) {
    double seconds = rate > 0 ? work / rate : 0;
    if (seconds > floor->seconds) *floor = (Floor){seconds, name};
}

Floor peaks_floor(const Peaks *peaks, const FlowWork *work) {
    Floor floor = {0, "nothing"};
    if (work->arithmetic == FLOW_ELSEWHERE) return floor;
    raise_floor(&floor, work->operations, peaks->operations[work->arithmetic], "arithmetic");
    raise_floor(&floor, work->bytes, peaks->near, "cache");
    raise_floor(&floor, work->far, peaks->far, "memory");
    return floor;
}

void peaks_text(const Peaks *peaks, char *text, size_t size) {
    const double single = peaks->operations[FLOW_SINGLE], thirds = peaks->operations[FLOW_THIRDS];
    char by_thirds[32] = "";
    if (thirds > single) snprintf(by_thirds, sizeof by_thirds, ", by thirds %.0f", thirds / 1e9);
    snprintf(text, size,
             "%.0f GFLOP/s, of bf16 %.0f%s; %.0f GB/s from the caches, %.0f GB/s from memory",
             single / 1e9, peaks->operations[FLOW_HALVES] / 1e9, by_thirds, peaks->near / 1e9,
             peaks->far / 1e9);
}
