/* cuda.h: the words that kernels for GPUs are written in. By NVRTC they are CUDA's; where
 * FLOW_SIMULATED is defined, a C compiler makes of the same text kernels that run on the CPU
 * (runtime/device/simulated.h). So the text is C that is C++ as well.
 *
 * FLOW_GLOBAL(name, threads) { … }   a kernel whose blocks have so many threads; `arguments` is its
 * FLOW_GLOBAL_OF(name, threads, blocks)   the same; so many blocks share a multiprocessor
 * FLOW_SHARED(type, name, count)     an array of the block; FLOW_GET, FLOW_PUT go to its elements
 * FLOW_LOAD, FLOW_STORE              go to elements of global memory
 * FLOW_LATE(pointer, index)          FLOW_LOAD of what is seldom wanted: nothing asks for it ahead
 * FLOW_RECORD                        of a launch for several records, the block's
 * FLOW_COPY(name, index, pointer, from, is_inside)   begins to copy an element of 16 bytes from
 *                                    global to shared memory, or zeros
 * FLOW_END_COPIES(), FLOW_AWAIT_COPIES(groups)   those begun so far are a group; all but the latest
 *                                    groups have landed, for this thread
 * FLOW_POWER(a)                      exp of a float; without FLOW_EXACT, its relative error grows
 *                                    with |a|
 * FLOW_SYNC()                        all threads of the block wait for each other
 * flow_shuffle_xor_TYPE(value, mask) the value of the lane whose number differs by the mask
 * FLOW_ATOMIC_LEAST(place, value)    an int64_t becomes the smaller of two */
#ifndef FLOW_CUDA_H
#define FLOW_CUDA_H

#ifndef FLOW_SIMULATED
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef uint64_t uintptr_t;

#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL

#include "cuda_builtins.h"
#endif

#include "device/launch.h"
#include "kernel.h"

/* As kernel.h has it, but c is not looked at where b is a finite number; nor does `keep` then. */
#undef flow_is_lost
#define flow_is_lost(b, c) ((b) - (b) != 0 && (b) != (c))
#define FLOW_LATE FLOW_LOAD

#define FLOW_ALIGNED(bytes) __attribute__((aligned(bytes)))

#ifdef FLOW_SIMULATED
#include "device/simulated.h"
#define FLOW_UNROLL
#define FLOW_UNROLL_TWICE
#define FLOW_UNROLL_EIGHT
#else
#include "cuda_overloads.h"

#define restrict __restrict__
#define FLOW_UNROLL _Pragma("unroll")
#define FLOW_UNROLL_TWICE _Pragma("unroll 2") /* what it loads is loaded in each turn */
#define FLOW_UNROLL_EIGHT _Pragma("unroll 8")
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1107
#define FLOW_NOT_COPIED __grid_constant__ /* where its address is taken */
#else
#define FLOW_NOT_COPIED
#endif
#define FLOW_GLOBAL(name, threads)                        \
    extern "C" __global__ void __launch_bounds__(threads) \
        name(const FLOW_NOT_COPIED FlowArguments arguments)
#define FLOW_GLOBAL_OF(name, threads, blocks)                     \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        name(const FLOW_NOT_COPIED FlowArguments arguments)
#define FLOW_SHARED(type, name, count) __shared__ FLOW_ALIGNED(16) type name[count]
#define FLOW_GET(name, index) (name)[index]
#define FLOW_PUT(name, index, value) ((name)[index] = (value))
#define FLOW_LOAD(pointer, index) (pointer)[index]
#define FLOW_STORE(pointer, index, value) ((pointer)[index] = (value))
#define FLOW_SYNC() __syncthreads()
#define FLOW_THREAD ((int64_t)threadIdx.x)
#define FLOW_BLOCK ((int64_t)blockIdx.x)
#define FLOW_RECORD ((int64_t)blockIdx.y)
#define FLOW_SHUFFLE(suffix, type)                                       \
    static inline type flow_shuffle_xor_##suffix(type value, int mask) { \
        return __shfl_xor_sync(~0u, value, mask);                        \
    }
FLOW_SHUFFLE(f32, float)
FLOW_SHUFFLE(f64, double)
FLOW_SHUFFLE(i32, int32_t)
FLOW_SHUFFLE(i64, int64_t)
#undef FLOW_SHUFFLE
#define FLOW_ATOMIC_LEAST(place, value) atomicMin(place, value)
#endif

#if defined FLOW_SIMULATED || defined FLOW_EXACT
#define FLOW_POWER(a) exp(a)
#else
static inline float FLOW_POWER(float a) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a * 1.44269504f));
    return y;
}
#endif

#include "cuda_tensor.h"
#include "cuda_group.h"
#include "cuda_box.h"
#include "cuda_tile.h"

/* As those of program.h, in a kernel. */

#define flow_at(frame, place) \
    ((void *)((place) < 0 ? arguments.inputs[~(place)] : arguments.memory + (place)))

/* Of a launch for several records, each of which has its own, `step` bytes behind each other. */
#define flow_at_record(place, step)                                          \
    ((void *)(((place) < 0 ? arguments.inputs[~(place)]                      \
                           : arguments.memory + (place)*arguments.records) + \
              FLOW_RECORD * (step)))

static inline int64_t flow_is_open(const FlowGuard *guard) {
    return guard && FLOW_LOAD(&guard->open, 0);
}

static inline void flow_hold_back(FlowGuard *guard, int64_t faults, int64_t place) {
    if (faults && guard) FLOW_ATOMIC_LEAST(&guard->place, place);
}

/* The place in a value of the whole batch that element `index` of a replica's share of it has;
 * each: how many elements a record has next to each other. */
static inline int64_t flow_in_whole(const FlowArguments *arguments, int64_t index, int64_t each) {
    const int64_t share = arguments->batch * each, outer = index / share;
    return index + outer * (arguments->all * each - share) + arguments->first * each;
}

/* Of members that lie `stride` operands apart, each of which begins with its first block: the one
 * that the block is of. */
static inline const int64_t *flow_member(const int64_t *members, int64_t count, int64_t stride,
                                         int64_t block) {
    int64_t low = 0, high = count;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (members[middle * stride] <= block) low = middle;
        else high = middle;
    }
    return members + low * stride;
}

/* The index if it is one of 0 … count-1, else 0. */
static inline int64_t flow_index(int64_t index, int64_t count) {
    return index < 0 || index >= count ? 0 : index;
}

/* Of the best element so far, z, and its index y, which is -1 before there is one, and of another
 * one: is the other the best of both? As if all had been looked at in turn, so that a NaN that
 * comes first stays. better: is the other better? worse: is it the other way round? */
#define FLOW_TAKES(y, z, other_y, other_z, better, worse)      \
    ((other_y) >= 0 &&                                         \
     ((y) < 0 || ((other_y) == 0 && (other_z) != (other_z)) || \
      (!((y) == 0 && (z) != (z)) && ((better) || (!(worse) && (other_y) < (y))))))

/* Is an element looked at, the first of some? Not a NaN, unless it comes before all others. */
#define FLOW_IS_FIRST(y, index, a) ((y) < 0 && ((index) == 0 || (a) == (a)))
#endif
