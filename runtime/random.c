/* Random. */
#include "runtime/random.h"

#ifdef __x86_64__
#include <immintrin.h>

typedef uint64_t Lanes2 __attribute__((vector_size(16)));
typedef uint64_t Lanes4 __attribute__((vector_size(32)));
typedef uint64_t Lanes8 __attribute__((vector_size(64)));
typedef uint32_t Words4 __attribute__((vector_size(16)));
typedef uint32_t Words8 __attribute__((vector_size(32)));
typedef uint32_t Words16 __attribute__((vector_size(64)));

#define PRODUCT_2(a, b) (Lanes2) _mm_mul_epu32((__m128i)(a), _mm_set1_epi64x(b))
#define PRODUCT_4(a, b) (Lanes4) _mm256_mul_epu32((__m256i)(a), _mm256_set1_epi64x(b))
#define PRODUCT_8(a, b) (Lanes8) _mm512_mul_epu32((__m512i)(a), _mm512_set1_epi64(b))

/* The lower halves of lanes. */
#define HALVES_2(a, b) (Words4) _mm_shuffle_ps((__m128)(a), (__m128)(b), 0x88)
#define HALVES_4(a, b) \
    (Words8)           \
        _mm256_permute4x64_epi64((__m256i)_mm256_shuffle_ps((__m256)(a), (__m256)(b), 0x88), 0xd8)
#define HALVES_8(a, b)                                                                        \
    (Words16) _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32((__m512i)(a))), \
                                 _mm512_cvtepi64_epi32((__m512i)(b)), 1)

/* A word is the lower half of a lane: a product takes no other, and leaves something above it.
 * Keys are hidden from gcc, which would load each turn's distance from the first one. */
#define RANDOM(isa, lanes, all, machine)                                                      \
    typedef struct Counter_##isa {                                                            \
        Lanes##lanes c0, c1, c2, c3;                                                          \
    } Counter_##isa;                                                                          \
    static inline __attribute__((target(machine), always_inline))                             \
    Counter_##isa begin_##isa(int64_t stream, Lanes##lanes index) {                           \
        const Lanes##lanes high = (Lanes##lanes){0} + (uint64_t)stream;                       \
        return (Counter_##isa){index, index >> 32, high, high >> 32};                         \
    }                                                                                         \
    static inline __attribute__((target(machine), always_inline)) void turn_##isa(            \
        Counter_##isa *counter, Lanes##lanes key0, Lanes##lanes key1) {                       \
        const Lanes##lanes first = PRODUCT_##lanes(counter->c0, 0xd2511f53);                  \
        const Lanes##lanes second = PRODUCT_##lanes(counter->c2, 0xcd9e8d57);                 \
        counter->c0 = (second >> 32) ^ counter->c1 ^ key0;                                    \
        counter->c1 = second;                                                                 \
        counter->c2 = (first >> 32) ^ counter->c3 ^ key1;                                     \
        counter->c3 = first;                                                                  \
    }                                                                                         \
    __attribute__((target(machine))) Words##all _ZGV##isa##N##all##uuv_flow_random_word(      \
        int64_t seed, int64_t stream, Lanes##lanes index, Lanes##lanes other) {               \
        Lanes##lanes key0 = (Lanes##lanes){0} + (uint64_t)seed, key1 = key0 >> 32;            \
        Counter_##isa a = begin_##isa(stream, index), b = begin_##isa(stream, other);         \
        EACH_TURN {                                                                           \
            turn_##isa(&a, key0, key1);                                                       \
            turn_##isa(&b, key0, key1);                                                       \
            NEXT_KEYS;                                                                        \
        }                                                                                     \
        return HALVES_##lanes(a.c0, b.c0);                                                    \
    }                                                                                         \
    __attribute__((target(machine))) Lanes##lanes _ZGV##isa##N##lanes##uuv_flow_random_words( \
        int64_t seed, int64_t stream, Lanes##lanes index) {                                   \
        Lanes##lanes key0 = (Lanes##lanes){0} + (uint64_t)seed, key1 = key0 >> 32;            \
        Counter_##isa a = begin_##isa(stream, index);                                         \
        EACH_TURN {                                                                           \
            turn_##isa(&a, key0, key1);                                                       \
            NEXT_KEYS;                                                                        \
        }                                                                                     \
        return (a.c0 & 0xffffffff) | a.c1 << 32;                                              \
    }
#define EACH_TURN _Pragma("GCC unroll 10") for (int turn = 0; turn < 10; turn++)
#define NEXT_KEYS                           \
    key0 += 0x9e3779b9, key1 += 0xbb67ae85; \
    __asm__("" : "+x"(key0), "+x"(key1))

RANDOM(b, 2, 4, "sse2")
RANDOM(c, 2, 4, "avx")
RANDOM(d, 4, 8, "avx2")
RANDOM(e, 8, 16, "avx512f")

uint32_t flow_random_word(int64_t seed, int64_t stream, int64_t index) {
    return (uint32_t)flow_random_words(seed, stream, index);
}

uint64_t flow_random_words(int64_t seed, int64_t stream, int64_t index) {
    return _ZGVbN2uuv_flow_random_words(seed, stream, (Lanes2){(uint64_t)index})[0];
}
#endif
