/* 40 × 40 by 40 × 24, brought by boxes to a ring of two stages, for a warpgroup; a fifth warp
 * brings them. The operands are floats that are whole numbers: taken as halves, each is a zero and
 * a number of bf16. So the depth is twice as long: from place 1 of a on, each other one is a
 * number; of b (as rows of half the length) each other row is, and so is each other column of the
 * results. tests/runtime/simulated.c maps both. */
#include "cuda.h"

typedef enum Wrong {
    RIGHT,
    OTHER_SWIZZLE,
    OTHER_MATRICES,
    EARLY,
    TOO_FEW,
    TOO_MANY,
    NOT_EMPTY,
    BEYOND,
    GATE_NOT_SHOWN,
    GATE_NOT_THERE,
    TILES_NOT_SHOWN,
    GIVEN_EARLY,
    NO_BARRIER,
} Wrong;

enum { TILE = 64 * 64, STEPS = 3 };

static inline void bring_steps(const FlowArguments *given, uint16_t *tiles, uint64_t *full,
                               uint64_t *empty, Wrong wrong) {
    const FlowArguments arguments = *given;
    for (int step = 0; step < STEPS; step++) {
        uint16_t *next = tiles + step % 2 * 2 * TILE, *second = next + TILE;
        const int bytes = wrong == TOO_FEW ? 8192 : wrong == TOO_MANY ? 32768 : 16384;
        if (wrong != NOT_EMPTY) FLOW_AWAIT(empty, step % 2, !(step / 2 % 2));
        FLOW_EXPECT(full, step % 2, bytes);
        FLOW_BRING_2(next, full, step % 2, 0, 1 + step * 64, 0);
        if (wrong == BEYOND) second = tiles + 3 * TILE + 64;
        FLOW_BRING_2(second, full, step % 2, 1, 0, step * 64);
    }
}

static inline void multiply_steps(float *sums, uint16_t *tiles, uint64_t *full, uint64_t *empty,
                                  Wrong wrong) {
    const int lane = (int)FLOW_THREAD % 32, warp = (int)FLOW_THREAD / 32;
    const int swizzle = wrong == OTHER_SWIZZLE ? FLOW_SWIZZLE_64 : FLOW_SWIZZLE_128;
    for (int step = 0; step < STEPS; step++) {
        const uint16_t *now = tiles + step % 2 * 2 * TILE;
        FLOW_AWAIT(full, step % 2, wrong == EARLY ? !(step / 2 % 2) : step / 2 % 2);
        FLOW_BEGIN_PRODUCTS();
        for (int k = 0; k < 64; k += 16) {
            const int other = wrong == OTHER_MATRICES && warp == 2 ? 16 : 0;
            const uint64_t a = FLOW_MATRIX(now + (k + other) % 64, 16, 1024, swizzle),
                           b = FLOW_MATRIX(now + TILE + k * 64, 8192, 1024, FLOW_SWIZZLE_128);
            FLOW_GROUP_bf16_64(sums, a, b, 1, 0);
        }
        FLOW_END_PRODUCTS();
        if (wrong == GIVEN_EARLY && lane == 0) FLOW_ARRIVE(empty, step % 2);
        FLOW_AWAIT_PRODUCTS(0);
        if (wrong != GIVEN_EARLY && lane == 0) FLOW_ARRIVE(empty, step % 2);
    }
}

static inline void ring_product_by(const FlowArguments *given, Wrong wrong) {
    FLOW_SHARED_TILES(uint16_t, tiles, 4 * TILE);
    FLOW_SHARED(uint64_t, full, 2);
    FLOW_SHARED(uint64_t, empty, 2);
    const int thread = (int)FLOW_THREAD, lane = thread % 32;
    float *y = (float *)given->operands[2], sums[32] = {0};
    if (wrong == TILES_NOT_SHOWN) FLOW_PUT(tiles, thread, 1);
    for (int i = 0; thread == 0 && i < 2; i++) {
        FLOW_GATE(full, i, 1);
        FLOW_GATE(empty, i, 4);
    }
    if (wrong != GATE_NOT_SHOWN && thread == 0) FLOW_SHOW_WRITES();
    if (wrong != GATE_NOT_THERE) FLOW_SYNC();
    if (thread >= 128) {
        if (lane == 0) bring_steps(given, tiles, full, empty, wrong);
        return;
    }
    multiply_steps(sums, tiles, full, empty, wrong);
    if (wrong != NO_BARRIER) FLOW_SYNC_FIRST(128);
    FLOW_PUT(tiles, thread, 1); /* over what all of them have read */
    for (int i = 1; i < 32; i += 2) {
        const int row = thread / 32 * 16 + lane / 4 + i % 4 / 2 * 8;
        const int column = i / 4 * 4 + lane % 4;
        if (row < 40 && column < 24) FLOW_STORE(y, row * 24 + column, sums[i]);
    }
}
