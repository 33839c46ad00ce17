/* Simulated: kernels for GPUs on the CPU. What their text sees: its words (templates/cuda.h tells
 * what they mean) as C of gcc and clang, over a table of functions, so that compiled kernels need
 * nothing to be linked with. And what runs them, one block after the other, each thread a fiber
 * that goes on until a barrier, a shuffle or its end.
 *
 * A launch says in one line the first thing that is wrong: threads that touch the same element, one
 * of them to write, with no barrier between, or from two blocks; barriers and shuffles that some
 * threads don't come to; elements outside of an array or of global memory, not aligned, or never
 * written; more shared memory or threads than a GPU has. A shuffle orders no memory, nor does a
 * warp; a barrier of some threads does for these alone. Atomics race with all but atomics.
 *
 * A copy that goes on by itself lands when it is waited for; what is there before is nonsense, and
 * nobody may look at it. A product of a warpgroup reads when it begins and again when it is waited
 * for, and what it reads may not change between; until then its sums are no numbers. Who arrives at
 * a gate goes on after those who waited for it: they write at once over what was given back.
 *
 * Memory of the device is what flow_simulated_allocate gives: addresses that fault unless they go
 * through FLOW_LOAD and FLOW_STORE; and what flow_simulated_register is told. Where there is
 * neither, kernels may touch all of the process, and bounds and what was written are not known.
 *
 * Threads: all may be called by any, launches are made one at a time. */
#ifndef FLOW_SIMULATED_H
#define FLOW_SIMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct FlowArguments FlowArguments;
typedef struct FlowTensorMap FlowTensorMap;

enum { FLOW_MEETING = 32 /* bytes that a lane may bring */ };

typedef enum FlowAccess { FLOW_ACCESS_read, FLOW_ACCESS_write, FLOW_ACCESS_atomic } FlowAccess;

/* What a kernel sees of the thread that it is, and calls. Lines are those of its text. */
typedef struct FlowSimulated {
    int64_t thread, block, blocks, record;
    int threads;

    /* Where element `index` from `base` lies in this process. value: what will be written. Both
     * end the launch rather than return where something is wrong. */
    void *(*global)(FlowAccess access, const void *base, int64_t index, size_t size,
                    const void *value, int line);
    void *(*shared)(FlowAccess access, const void *base, int64_t index, size_t size,
                    const void *value, int line);
    void *(*share)(const char *name, size_t size, int64_t count, size_t alignment,
                   int line); /* an array */
    void *(*share_more)(const char *name, size_t size, int64_t count, int line);
    void (*barrier)(int line);
    void (*barrier_of)(int threads, int line);              /* of the first so many */
    uint64_t (*shuffle)(uint64_t bits, int mask, int line); /* of the lane that differs by mask */
    /* What each of the warp's lanes brings, FLOW_MEETING bytes apart, until they meet again. */
    const char *(*meet)(const void *brought, size_t size, int line);

    /* Copies from global to shared memory that go on by themselves: begins one (of zeros where
     * `from` is NULL); ends a group of them; waits until all but the latest `groups` have landed.
     * What is copied is there for none before, and for the thread that waited then. */
    void (*copy)(const void *to, int64_t index, const void *from, int64_t from_index, size_t size,
                 int line);
    void (*end_copies)(void);
    void (*await_copies)(int groups, int line);

    /* Products of a warpgroup (templates/cuda_group.h), simulated_products.c. */
    uint32_t (*shared_address)(const void *place, int line);
    void (*show_writes)(void);
    void (*begin_products)(void);
    void (*multiply)(float *sums, int columns, uint64_t a, uint64_t b, int a_by_depth,
                     int b_by_depth, float (*value)(uint16_t half), int line);
    void (*end_products)(void);
    void (*await_products)(int groups, int line);

    /* What goes on beside threads (templates/cuda_box.h): simulated_gates.c, simulated_boxes.c.
     * bytes: 0, or so many are expected. */
    void (*gate)(const void *place, int arrivals, int line);
    void (*arrive)(const void *place, int bytes, int line);
    void (*await)(const void *place, int odd, int line);
    void (*bring)(const void *to, const void *gate, const FlowTensorMap *map, const int32_t *at,
                  size_t rank, int line);
} FlowSimulated;

/* given: a launch begins, whose arguments these are; or NULL: one thread's turn. Gives the number
 * of threads that its blocks are made for. */
typedef int FlowSimulatedKernel(const FlowArguments *given, FlowSimulated *simulated);

/* Runs a kernel. False: `fault` says in one line what is wrong, with names and lines. */
bool flow_simulate(FlowSimulatedKernel *kernel, const char *name, const FlowArguments *arguments,
                   int64_t blocks, int threads, char *fault, size_t fault_size);

/* The same with so many blocks for each of so many records, and bytes of shared memory for what is
 * FLOW_SHARED_MORE. */
typedef struct FlowSimulatedShape {
    int64_t blocks, records;
    int threads, shared;
} FlowSimulatedShape;
bool flow_simulate_shape(FlowSimulatedKernel *kernel, const char *name,
                         const FlowArguments *arguments, FlowSimulatedShape shape, char *fault,
                         size_t fault_size);

/* Fills a map as the driver does. False: it is no tensor that GPUs bring boxes of. strides: in
 * bytes, of all dimensions but the first. */
typedef struct FlowSimulatedTensor {
    uintptr_t address;
    uint64_t sizes[5], strides[4];
    int32_t rank, box[5], element;
} FlowSimulatedTensor;
bool flow_simulated_map(FlowTensorMap *map, const FlowSimulatedTensor *tensor);

/* How launches are made from now on. FLOWC_SIMULATE_SEED and FLOWC_SIMULATE_CHECKS (a number) say
 * it until this is called. */
enum {
    FLOW_CHECKS_none,   /* barriers, shuffles, numbers of threads, sizes of shared memory */
    FLOW_CHECKS_bounds, /* and whether elements exist */
    FLOW_CHECKS_all,    /* and whether they are written, and by whom */
};
typedef struct FlowSimulation {
    uint64_t seed; /* of the order in which blocks and threads run */
    int checks;
} FlowSimulation;
void flow_simulation_set(FlowSimulation simulation);

/* Global memory. Contents are as good as random until something is written. */

void *flow_simulated_allocate(size_t size); /* an address of the device; NULL: no memory */
bool flow_simulated_free(void *address);    /* false: not what allocate gave, or freed before */
/* The calling thread allocates and launches on this device from now on; 0 before. Kernels don't
 * reach what other devices have. */
void flow_simulated_use(int device);
/* Memory of the process that kernels may use until it is forgotten; written: all has a value. */
bool flow_simulated_register(void *memory, size_t size, bool written);
void flow_simulated_forget(void *memory);
/* So many bytes of the device have a value, or have none any more. */
void flow_simulated_mark(const void *address, size_t size, bool written);
/* Where so many bytes of the device lie in this process; NULL: it has no such memory. */
void *flow_simulated_host(const void *address, size_t size);

/* The words. */

__attribute__((unused)) static FlowSimulated *flow_simulated;

#define FLOW_GLOBAL(name, count)                                     \
    static void name##_thread(void);                                 \
    int name(const FlowArguments *given, FlowSimulated *simulated);  \
    const int64_t name##_about[] = {sizeof(FlowArguments), count};   \
    static FlowArguments arguments;                                  \
    int name(const FlowArguments *given, FlowSimulated *simulated) { \
        flow_simulated = simulated;                                  \
        if (given) arguments = *given;                               \
        else name##_thread();                                        \
        return count;                                                \
    }                                                                \
    static void name##_thread(void)
#define FLOW_GLOBAL_OF(name, count, blocks) FLOW_GLOBAL(name, count)
#define FLOW_SHARED(type, name, count) \
    type *const name = (type *)flow_simulated->share(#name, sizeof(type), count, 16, __LINE__)
#define FLOW_SHARED_TILES(type, name, count) \
    type *const name = (type *)flow_simulated->share(#name, sizeof(type), count, 1024, __LINE__)
#define FLOW_SHARED_MORE(type, name, count) \
    type *const name = (type *)flow_simulated->share_more(#name, sizeof(type), count, __LINE__)

#define FLOW_REACH(memory, access, pointer, index)                                         \
    __extension__({                                                                        \
        __typeof__(&(pointer)[0]) flow_base = (pointer);                                   \
        *(__typeof__(flow_base))flow_simulated->memory(access, flow_base, index,           \
                                                       sizeof *flow_base, NULL, __LINE__); \
    })
#define FLOW_SET(memory, pointer, index, value)                                             \
    __extension__({                                                                         \
        __typeof__(&(pointer)[0]) flow_base = (pointer);                                    \
        int64_t flow_index_of = (index);                                                    \
        __typeof__((pointer)[0]) flow_value = (value);                                      \
        *(__typeof__(flow_base))flow_simulated->memory(FLOW_ACCESS_write, flow_base,        \
                                                       flow_index_of, sizeof flow_value,    \
                                                       &flow_value, __LINE__) = flow_value; \
    })
#define FLOW_GET(name, index) FLOW_REACH(shared, FLOW_ACCESS_read, name, index)
#define FLOW_PUT(name, index, value) FLOW_SET(shared, name, index, value)
#define FLOW_LOAD(pointer, index) FLOW_REACH(global, FLOW_ACCESS_read, pointer, index)
#define FLOW_STORE(pointer, index, value) FLOW_SET(global, pointer, index, value)

/* The value before. */
#define FLOW_ATOMIC(pointer, value, changed)                                                      \
    __extension__({                                                                               \
        __typeof__((pointer)[0]) flow_value = (value);                                            \
        __typeof__(&(pointer)[0]) flow_place = (__typeof__(&(pointer)[0]))flow_simulated->global( \
            FLOW_ACCESS_atomic, pointer, 0, sizeof flow_value, NULL, __LINE__);                   \
        __typeof__((pointer)[0]) flow_before = *flow_place;                                       \
        *flow_place = (changed);                                                                  \
        flow_before;                                                                              \
    })
#define FLOW_ATOMIC_LEAST(pointer, value) \
    FLOW_ATOMIC(pointer, value, flow_value < flow_before ? flow_value : flow_before)

#define FLOW_COPY(name, index, pointer, from_index, is_inside)                              \
    flow_simulated->copy(&(name)[0], index, (is_inside) ? &(pointer)[0] : NULL, from_index, \
                         sizeof *(name), __LINE__)
#define FLOW_END_COPIES() flow_simulated->end_copies()
#define FLOW_AWAIT_COPIES(groups) flow_simulated->await_copies(groups, __LINE__)

#define FLOW_SYNC() flow_simulated->barrier(__LINE__)
#define FLOW_THREAD flow_simulated->thread
#define FLOW_BLOCK flow_simulated->block
#define FLOW_BLOCKS flow_simulated->blocks
#define FLOW_RECORD flow_simulated->record

#define FLOW_SHUFFLE(suffix, type)                                                            \
    __attribute__((unused)) static inline type flow_shuffle_of_##suffix(type value, int mask, \
                                                                        int line) {           \
        uint64_t bits = 0;                                                                    \
        __builtin_memcpy(&bits, &value, sizeof value);                                        \
        bits = flow_simulated->shuffle(bits, mask, line);                                     \
        __builtin_memcpy(&value, &bits, sizeof value);                                        \
        return value;                                                                         \
    }
FLOW_SHUFFLE(f32, float)
FLOW_SHUFFLE(f64, double)
FLOW_SHUFFLE(i32, int32_t)
FLOW_SHUFFLE(i64, int64_t)
#undef FLOW_SHUFFLE
#define flow_shuffle_xor_f32(value, mask) flow_shuffle_of_f32(value, mask, __LINE__)
#define flow_shuffle_xor_f64(value, mask) flow_shuffle_of_f64(value, mask, __LINE__)
#define flow_shuffle_xor_i32(value, mask) flow_shuffle_of_i32(value, mask, __LINE__)
#define flow_shuffle_xor_i64(value, mask) flow_shuffle_of_i64(value, mask, __LINE__)

#endif
