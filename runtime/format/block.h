/* Block: 64 bytes of text at a time, as sets of places: bit i stands for byte i. */
#ifndef FLOW_BLOCK_H
#define FLOW_BLOCK_H

#include <stdint.h>
#include <string.h>

enum { BLOCK_SIZE = 64 };

/* Of a function that goes over text: it is compiled for newer processors as well, and the program
 * takes what fits when it starts. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_NEWER_PROCESSORS __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_NEWER_PROCESSORS
#endif
#define INLINED static inline __attribute__((always_inline)) /* into those */

#if defined(__SSE2__)
#include <emmintrin.h>

/* Where the block has that byte. */
INLINED uint64_t block_find(const char *block, char byte) {
    uint64_t found = 0;
    for (int i = 0; i < BLOCK_SIZE; i += 16) {
        __m128i part = _mm_loadu_si128((const __m128i *)(block + i));
        int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(byte)));
        found |= (uint64_t)(uint32_t)equal << i;
    }
    return found;
}

#elif defined(__aarch64__)
#include <arm_neon.h>

/* Where the block has that byte: each lane keeps its bit; pairs are added until 64 are left. */
INLINED uint64_t block_find(const char *block, char byte) {
    static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t own = vld1q_u8(bits), wanted = vdupq_n_u8((uint8_t)byte), part[4];
    for (int i = 0; i < 4; i++)
        part[i] = vandq_u8(vceqq_u8(vld1q_u8((const uint8_t *)block + 16 * i), wanted), own);
    uint8x16_t sum = vpaddq_u8(vpaddq_u8(part[0], part[1]), vpaddq_u8(part[2], part[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)), 0);
}

#else

/* Where the block has that byte. */
INLINED uint64_t block_find(const char *block, char byte) {
    uint64_t found = 0;
    for (int i = 0; i < BLOCK_SIZE; i++) found |= (uint64_t)(block[i] == byte) << i;
    return found;
}

#endif

/* Bit i: is the number of bits in 0..i odd? */
INLINED uint64_t block_parity(uint64_t bits) {
    for (int i = 1; i < BLOCK_SIZE; i *= 2) bits ^= bits << i;
    return bits;
}

/* The first `count` places; all of them when there are more. */
INLINED uint64_t block_first(size_t count) {
    return count < BLOCK_SIZE ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0;
}

#endif
