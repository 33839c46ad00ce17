/* vectors.h: what contractions share: how wide vectors are, their first lanes, lanes in turn. */
#ifndef FLOW_VECTORS_H
#define FLOW_VECTORS_H

#include "runtime/product/shuffles.h"
#include "runtime/product/tile.h"

#define FLOW_VECTOR FLOW_OF_VECTORS(64, 32, 16, 16) /* bytes */
#define FLOW_SUMS FLOW_SUMS_OF(FLOW_OF_VECTORS(32, 16, 16, 32))
#define FLOW_BLOCK (FLOW_VECTOR * 8192) /* bytes */
#define FLOW_WAITING 262144             /* bytes of sums that wait for the rest of their depth */
/* multiply.c copies rows of b that lie further apart, in bytes, where so many rows of a use them,
 * as matmul.c does on AVX where ROWS_PAY. Next to each other they are brought in time, and none
 * takes the place of another in the nearest cache. */
#define FLOW_SCATTERED FLOW_OF_VECTORS(2048, 64, 2048, 2048)
#define FLOW_SCATTERED_ROWS FLOW_OF_VECTORS(32, 12, 32, 32)
#if defined __clang__ && FLOW_VECTOR == 64 /* which else halves vectors of 512 bits */
#define FLOW_WIDE __attribute__((min_vector_width(512)))
#else
#define FLOW_WIDE
#endif
#define FLOW_TILE static inline FLOW_WIDE __attribute__((always_inline))
#define FLOW_JOIN_NAMES(a, b) a##b
#define FLOW_JOIN(a, b) FLOW_JOIN_NAMES(a, b)

/* What a function of a contraction takes: its work at the moment, with the sizes of the call. */
#define WORK const FLOW_JOIN(KERNEL, _work) *restrict work
#define WITH_SIZES                                                                   \
    const int64_t batch = work->context->batch, *const sizes = work->context->sizes; \
    (void)batch, (void)sizes

/* Of a function with `whole` and `lanes`: a vector from memory or to it, all of it or its first
 * lanes. */
#define FLOW_GET(from) FLOW_JOIN(KERNEL, _get)(from, whole, lanes)
#define FLOW_PUT(to, vector) FLOW_JOIN(KERNEL, _put)(to, vector, whole, lanes)

/* Of each lane, b where that is chosen. */
#define FLOW_CHOSEN(chosen, a, b) \
    ((VECTOR)(((chosen) & (__typeof__(chosen))(b)) | (~(chosen) & (__typeof__(chosen))(a))))

typedef float FlowVector_float __attribute__((vector_size(FLOW_VECTOR)));
typedef double FlowVector_double __attribute__((vector_size(FLOW_VECTOR)));

/* Square roots, and the lanes that are no finite numbers, or are not 0, as bits, where the
 * processor has them for vectors. */
#if defined __AVX512F__
#ifdef __clang__
#define FLOW_SQRT_float(a) __builtin_ia32_sqrtps512(a, 4)
#define FLOW_SQRT_double(a) __builtin_ia32_sqrtpd512(a, 4)
#else
#define FLOW_SQRT_float(a) __builtin_ia32_sqrtps512_mask(a, a, -1, 4)
#define FLOW_SQRT_double(a) __builtin_ia32_sqrtpd512_mask(a, a, -1, 4)
#endif
#ifdef __AVX512DQ__
#define FLOW_NOT_FINITE_float(a) __builtin_ia32_fpclassps512_mask(a, FLOW_NAN_OR_INFINITE, -1)
#define FLOW_NOT_FINITE_double(a) __builtin_ia32_fpclasspd512_mask(a, FLOW_NAN_OR_INFINITE, -1)
#define FLOW_NAN_OR_INFINITE 0x99 /* of both kinds, of both signs */
#else
#define FLOW_NOT_FINITE_float(a) __builtin_ia32_cmpps512_mask((a) - (a), (a) - (a), 3, -1, 4)
#define FLOW_NOT_FINITE_double(a) __builtin_ia32_cmppd512_mask((a) - (a), (a) - (a), 3, -1, 4)
#endif
#define FLOW_NOT_ZERO_float(a) \
    (uint16_t) __builtin_ia32_cmpps512_mask(a, (FlowVector_float){0}, 4, -1, 4)
#define FLOW_NOT_ZERO_double(a) \
    (uint8_t) __builtin_ia32_cmppd512_mask(a, (FlowVector_double){0}, 4, -1, 4)
#elif defined __AVX__
#define FLOW_SQRT_float(a) __builtin_ia32_sqrtps256(a)
#define FLOW_SQRT_double(a) __builtin_ia32_sqrtpd256(a)
#define FLOW_NOT_FINITE_float(a) __builtin_ia32_movmskps256((FlowVector_float)((a) - (a) != 0))
#define FLOW_NOT_FINITE_double(a) __builtin_ia32_movmskpd256((FlowVector_double)((a) - (a) != 0))
#define FLOW_NOT_ZERO_float(a) __builtin_ia32_movmskps256((FlowVector_float)((a) != 0))
#define FLOW_NOT_ZERO_double(a) __builtin_ia32_movmskpd256((FlowVector_double)((a) != 0))
#elif defined __SSE2__
#define FLOW_SQRT_float(a) __builtin_ia32_sqrtps(a)
#define FLOW_SQRT_double(a) __builtin_ia32_sqrtpd(a)
#define FLOW_NOT_FINITE_float(a) __builtin_ia32_movmskps((FlowVector_float)((a) - (a) != 0))
#define FLOW_NOT_FINITE_double(a) __builtin_ia32_movmskpd((FlowVector_double)((a) - (a) != 0))
#define FLOW_NOT_ZERO_float(a) __builtin_ia32_movmskps((FlowVector_float)((a) != 0))
#define FLOW_NOT_ZERO_double(a) __builtin_ia32_movmskpd((FlowVector_double)((a) != 0))
#endif

/* y + a * b as one operation, where the processor has one. gcc by itself makes one only of what is
 * in one basic block. clang does of each expression, and needs none of these. */
#if !defined __clang__ && defined __AVX512F__
#define FLOW_ADD_PRODUCT_float(y, a, b) __builtin_ia32_vfmaddps512_mask(a, b, y, -1, 4)
#define FLOW_ADD_PRODUCT_double(y, a, b) __builtin_ia32_vfmaddpd512_mask(a, b, y, -1, 4)
#elif !defined __clang__ && defined __AVX__ && defined __FMA__
#define FLOW_ADD_PRODUCT_float(y, a, b) __builtin_ia32_vfmaddps256(a, b, y)
#define FLOW_ADD_PRODUCT_double(y, a, b) __builtin_ia32_vfmaddpd256(a, b, y)
#elif !defined __clang__ && defined __aarch64__
#define FLOW_ADD_PRODUCT_float(y, a, b) __builtin_aarch64_fmav4sf(a, b, y)
#define FLOW_ADD_PRODUCT_double(y, a, b) __builtin_aarch64_fmav2df(a, b, y)
#endif

/* FLOW_STAYS: a factor keeps its register until after the products: of only sixteen, gcc else gives
 * it to a sum, and moves sums from one to another in each turn of a loop.
 * FLOW_STAYS_IF: with AVX-512 only if it pays.
 * FLOW_IN_REGISTER: from here on it is in one, and is not read from memory for each product. */
#if defined __FMA__ && FLOW_VECTOR == 32
#define FLOW_STAYS(factor) __asm__("" : : "x"(factor))
#define FLOW_IN_REGISTER(factor) __asm__("" : "+x"(factor))
#else
#define FLOW_STAYS(factor) (void)(factor)
#define FLOW_IN_REGISTER(factor) (void)(factor)
#endif
#if defined __AVX512F__
#define FLOW_STAYS_IF(pays, factor)            \
    do {                                       \
        if (pays) __asm__("" : : "v"(factor)); \
    } while (0)
#else
#define FLOW_STAYS_IF(pays, factor) FLOW_STAYS(factor)
#endif

/* The compiler keeps the pointer, of which it knows nothing, and adds to it what is a number. */
#define FLOW_OPAQUE(pointer) __asm__("" : "+r"(pointer))

/* Stores at `to`, of FLOW_LIST_LANES numbers from k on, those whose bit is set, and anything behind
 * them up to so many. */
#if defined __AVX512VBMI2__
#define FLOW_LIST_LANES 32
typedef short FlowNumbers __attribute__((vector_size(64)));
FLOW_TILE void flow_list(uint16_t *to, int32_t k, uint32_t bits) {
    const FlowNumbers first = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                               16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const FlowNumbers numbers =
        __builtin_ia32_compresshi512_mask(first + (short)k, (FlowNumbers){0}, bits);
    __builtin_memcpy(to, &numbers, sizeof numbers);
}
#elif defined __AVX512F__
#define FLOW_LIST_LANES 16
typedef int32_t FlowNumbers __attribute__((vector_size(64)));
typedef short FlowShorts __attribute__((vector_size(32)));
FLOW_TILE void flow_list(uint16_t *to, int32_t k, uint32_t bits) {
    const FlowNumbers first = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const FlowNumbers numbers =
        __builtin_ia32_compresssi512_mask(first + k, (FlowNumbers){0}, (uint16_t)bits);
    const FlowShorts narrow = __builtin_ia32_pmovdw512_mask(numbers, (FlowShorts){0}, (uint16_t)-1);
    __builtin_memcpy(to, &narrow, sizeof narrow);
}
#endif

/* The first lanes of a vector, where they cost no more than a whole one. */
#if defined __AVX512F__
#define FLOW_MASKS 1
#define FLOW_LOAD_float(a, mask) __builtin_ia32_loadups512_mask(a, (FlowVector_float){0}, mask)
#define FLOW_LOAD_double(a, mask) __builtin_ia32_loadupd512_mask(a, (FlowVector_double){0}, mask)
#define FLOW_STORE_float(y, a, mask) __builtin_ia32_storeups512_mask(y, (FlowVector_float)(a), mask)
#define FLOW_STORE_double(y, a, mask) \
    __builtin_ia32_storeupd512_mask(y, (FlowVector_double)(a), mask)
#else
#define FLOW_MASKS 0
#endif

#if FLOW_VECTOR == 64
#define FLOW_TURNS_float FLOW_TURNS_16
#define FLOW_TURNS_double FLOW_TURNS_8
#elif FLOW_VECTOR == 32
#define FLOW_TURNS_float FLOW_TURNS_8
#define FLOW_TURNS_double FLOW_TURNS_4
#else
#define FLOW_TURNS_float FLOW_TURNS_4
#define FLOW_TURNS_double FLOW_TURNS_2
#endif
#endif
