/* Calibrate: what this machine reaches now, on one core and on all, as one line of JSON.
 * Multiply-adds per second: fp32 with the widest vectors from registers, and as a product adds them
 * up, whose operands come from the nearest cache; bf16 with what is fastest. Memory bandwidth, of
 * bytes that the program reads and writes. Each figure is the best of several repeats. */
#define _GNU_SOURCE
#if defined __AVX__
#include <immintrin.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined __AVX512F__
enum { VECTOR_BYTES = 64 };
#elif defined __AVX__
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif
typedef float Vector __attribute__((vector_size(VECTOR_BYTES)));

/* A vector is in a register from here on, and not loaded again for each product. With more of them
 * than sixteen gcc sees to that by itself. */
#if defined __AVX512F__ || !defined __x86_64__
#define KEEP(vector) (void)(vector)
#else
#define KEEP(vector) __asm__("" : "+x"(vector))
#endif

/* Enough chains to hide the latency of two units; with two constants they fit 16 registers. */
#define EACH_CHAIN(DO) DO(a) DO(b) DO(c) DO(d) DO(e) DO(f) DO(g) DO(h) DO(i) DO(j) DO(k) DO(l)
#define EACH_TILE(DO) \
    DO(0);            \
    DO(1);            \
    DO(2);            \
    DO(3);            \
    DO(4);            \
    DO(5);            \
    DO(6);            \
    DO(7);
enum { CHAINS = 12, LANES = VECTOR_BYTES / sizeof(float) };
enum { TURNS = 10000000, REPEATS = 7, CORE_LIMIT = 1024 };
enum { SUMS_HIGH = VECTOR_BYTES == 64 ? 8 : 4, SUMS_WIDE = VECTOR_BYTES == 16 ? 2 : 3 };
enum { SUMS_DEPTH = 128, SUMS_TURNS = 50000 };
enum { NEAR_FLOATS = 100 << 10, NEAR_TURNS = 200 };
enum { ARRAY_FLOATS = 32 << 20 };

typedef struct Worker {
    pthread_t thread;
    int cpu;
    pthread_barrier_t *start;
    double (*work)(struct Worker *worker); /* returns flops or bytes */
    float *a, *b, *c;                      /* this worker's part of the arrays */
    size_t count;
    double done, begin, end;
} Worker;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double multiply_add(Worker *worker) {
#define BEGIN(chain) Vector chain = factor * (++first);
#define STEP(chain) chain = chain * factor + term;
#define ADD(chain) sum += chain;
    Vector factor = worker->a[0] * (Vector){0} + 0.999f, term = factor * 0.001f, sum = {0};
    float first = 0;
    EACH_CHAIN(BEGIN)
    for (int turn = 0; turn < TURNS; turn++) {
        EACH_CHAIN(STEP)
    }
    EACH_CHAIN(ADD)
    worker->a[0] = sum[0];
    return 2.0 * TURNS * CHAINS * LANES;
}

/* As a product adds up a block of its sums. A processor may lower its clock where a loop loads what
 * it multiplies. */
static double loaded_multiply_add(Worker *worker) {
    Vector sum[SUMS_HIGH][SUMS_WIDE] = {{{0}}};
    for (int turn = 0; turn < SUMS_TURNS; turn++) {
        const float *left = worker->a, *right = worker->b;
        for (int k = 0; k < SUMS_DEPTH; k++, left += SUMS_HIGH, right += SUMS_WIDE * LANES) {
            Vector factor[SUMS_WIDE];
#pragma GCC unroll 3
            for (int v = 0; v < SUMS_WIDE; v++) {
                factor[v] = ((const Vector *)right)[v];
                KEEP(factor[v]);
            }
#pragma GCC unroll 8
            for (int row = 0; row < SUMS_HIGH; row++)
#pragma GCC unroll 3
                for (int v = 0; v < SUMS_WIDE; v++) sum[row][v] += left[row] * factor[v];
        }
    }
    for (int row = 0; row < SUMS_HIGH; row++)
        for (int v = 0; v < SUMS_WIDE; v++)
            ((Vector *)worker->c)[row * SUMS_WIDE + v] = sum[row][v];
    return 2.0 * SUMS_TURNS * SUMS_DEPTH * SUMS_HIGH * SUMS_WIDE * LANES;
}

#if defined __AMX_BF16__
enum { PERMISSION_OF = 0x1023, TILE_DATA = 18, TILE_ROWS = 16, TILE_ROW_BYTES = 64 };

/* The processor's matrix tiles: eight, of which four add up products of the others. */
static double half_multiply_add(Worker *worker) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } shape = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        shape.row_bytes[tile] = TILE_ROW_BYTES;
        shape.rows[tile] = TILE_ROWS;
    }
    if (syscall(SYS_arch_prctl, PERMISSION_OF, TILE_DATA)) return 0;
    _tile_loadconfig(&shape);
    EACH_TILE(_tile_zero)
    for (int turn = 0; turn < TURNS / TILE_ROWS; turn++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 5, 6);
        _tile_dpbf16ps(2, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, worker->a, TILE_ROW_BYTES);
    _tile_release();
    return 2.0 * (TURNS / TILE_ROWS) * 4 * TILE_ROWS * TILE_ROWS * TILE_ROW_BYTES / 2;
}
#elif defined __AVX512BF16__
static double half_multiply_add(Worker *worker) {
    __m512bh factor = (__m512bh)_mm512_set1_epi32((int)worker->count);
    __m512 chain[CHAINS], sum = {0};
    for (int i = 0; i < CHAINS; i++) chain[i] = _mm512_set1_ps((float)i); /* equal ones are one */
    for (int turn = 0; turn < TURNS; turn++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) chain[i] = _mm512_dpbf16_ps(chain[i], factor, factor);
    for (int i = 0; i < CHAINS; i++) sum += chain[i];
    worker->a[0] = sum[0];
    return 2.0 * TURNS * CHAINS * LANES * 2;
}
#else
#define half_multiply_add multiply_add /* rounding the operands costs nothing then */
#endif

/* Past the caches, which is how large arrays are copied fastest. */
static void copy_vector(float *to, const float *from) {
#if defined __AVX512F__
    _mm512_stream_ps(to, _mm512_load_ps(from));
#elif defined __AVX__
    _mm256_stream_ps(to, _mm256_load_ps(from));
#else
    *(Vector *)to = *(const Vector *)from;
#endif
}

static double copy(Worker *worker) {
    for (size_t i = 0; i < worker->count; i += LANES) copy_vector(worker->a + i, worker->b + i);
    return 2.0 * sizeof(float) * (double)worker->count;
}

/* Reads what stays in a core's second cache, again and again. */
static double read_near(Worker *worker) {
    Vector sum[4] = {0};
    for (int turn = 0; turn < NEAR_TURNS; turn++)
        for (size_t i = 0; i < NEAR_FLOATS; i += 4 * LANES)
            for (size_t j = 0; j < 4; j++) sum[j] += *(Vector *)(worker->a + i + j * LANES);
    worker->a[0] = (sum[0] + sum[1] + sum[2] + sum[3])[0];
    return (double)NEAR_TURNS * NEAR_FLOATS * sizeof(float);
}

static double triad(Worker *worker) {
    float *restrict a = worker->a;
    const float *restrict b = worker->b, *restrict c = worker->c;
    for (size_t i = 0; i < worker->count; i++) a[i] = b[i] + 3 * c[i];
    return 3.0 * sizeof(float) * (double)worker->count;
}

static void *run(void *argument) {
    Worker *worker = argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(worker->cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    pthread_barrier_wait(worker->start);
    worker->begin = seconds();
    worker->done = worker->work(worker);
    worker->end = seconds();
    return NULL;
}

/* Work per second of all workers together, from the first that began to the last that ended. */
static double rate_once(Worker *workers, int count) {
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        workers[i].start = &start;
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i])) exit(3);
    }
    double done = 0, begin = 1e300, end = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
        if (workers[i].begin < begin) begin = workers[i].begin;
        if (workers[i].end > end) end = workers[i].end;
    }
    pthread_barrier_destroy(&start);
    return done / (end - begin);
}

static double best_rate(Worker *workers, int count, double (*work)(Worker *)) {
    double best = 0;
    for (int i = 0; i < count; i++) workers[i].work = work;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double rate = rate_once(workers, count);
        if (rate > best) best = rate;
    }
    return best / 1e9;
}

static int usable_cpus(Worker *workers) {
    cpu_set_t set;
    int count = 0;
    if (sched_getaffinity(0, sizeof set, &set)) return 0;
    for (int cpu = 0; cpu < CORE_LIMIT && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) workers[count++].cpu = cpu;
    return count;
}

static float *filled_array(void) {
    float *array = aligned_alloc(64, ARRAY_FLOATS * sizeof(float));
    if (!array) exit(3);
    for (size_t i = 0; i < ARRAY_FLOATS; i++) array[i] = (float)i;
    return array;
}

static void share(Worker *workers, int count, float *a, float *b, float *c) {
    size_t part = ARRAY_FLOATS / (size_t)count / LANES * LANES;
    for (int i = 0; i < count; i++) {
        size_t first = part * (size_t)i;
        workers[i].a = a + first;
        workers[i].b = b + first;
        workers[i].c = c + first;
        workers[i].count = part;
    }
}

static void print_rates(Worker *workers, int count, const char *cores) {
    printf("\"fma_gflops_%s\": %.1f, ", cores, best_rate(workers, count, multiply_add));
    printf("\"loaded_gflops_%s\": %.1f, ", cores, best_rate(workers, count, loaded_multiply_add));
    printf("\"bf16_gflops_%s\": %.1f, ", cores, best_rate(workers, count, half_multiply_add));
    printf("\"l2_gbs_%s\": %.1f, ", cores, best_rate(workers, count, read_near));
    printf("\"copy_gbs_%s\": %.1f, ", cores, best_rate(workers, count, copy));
    printf("\"triad_gbs_%s\": %.1f, ", cores, best_rate(workers, count, triad));
}

int main(void) {
    static Worker workers[CORE_LIMIT];
    int count = usable_cpus(workers);
    if (!count) return 3;
    float *a = filled_array(), *b = filled_array(), *c = filled_array();
    printf("{");
    share(workers, 1, a, b, c);
    print_rates(workers, 1, "one");
    share(workers, count, a, b, c);
    print_rates(workers, count, "all");
    printf("\"cores\": %d, \"vector_bits\": %d}\n", count, VECTOR_BYTES * 8);
    free(a);
    free(b);
    free(c);
    return 0;
}
