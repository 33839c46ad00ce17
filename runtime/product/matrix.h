/* matrix.h: the processor's matrix tiles (Intel AMX), eight of 16 lines of 64 bytes: four of sums,
 * two of a, two of b. To be used only where flow_half_means() is FLOW_HALF_tiles, by a thread that
 * has begun and has not ended. */
#ifndef FLOW_MATRIX_H
#define FLOW_MATRIX_H

#include <stdint.h>

enum { FLOW_SIDE = 16, FLOW_DEPTH = 2 * FLOW_SIDE }; /* of a tile: lines, depths */

/* A line of a is a row, and its pairs of bf16 are depths; a line of b is two depths, and its pairs
 * are columns. */
typedef uint32_t FlowPairs __attribute__((vector_size(64), may_alias));
typedef struct FlowTile {
    FlowPairs lines[FLOW_SIDE];
} FlowTile;

/* stride: bytes from line to line. */
#define FLOW_LOAD_TILE(tile, from, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"(stride) : "memory")
#define FLOW_STORE_TILE(tile, to, stride) \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"(stride) : "memory")
#define FLOW_ZERO_TILE(tile) __asm__ volatile("tilezero %tmm" #tile)
#define FLOW_MULTIPLY_TILES(sum, a, b) \
    __asm__ volatile("tdpbf16ps %tmm" #b ", %tmm" #a ", %tmm" #sum)

static inline void flow_matrix_begin(void) {
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t lines[16];
    } shape = {.palette = 1,
               .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
               .lines = {16, 16, 16, 16, 16, 16, 16, 16}};
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
}

static inline void flow_matrix_end(void) {
    __asm__ volatile("tilerelease");
}

#endif
