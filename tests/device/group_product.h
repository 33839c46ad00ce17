/* 40 × 40 by 40 × 24 by a warpgroup, as the first rows, depths and columns of 64 × 48 by 48 × 128;
 * one operand lies by depth, the other across it. */
#include "cuda.h"

typedef enum Wrong { RIGHT, NOT_SHOWN, NOT_FENCED, NOT_AWAITED, CHANGED, OTHER_SWIZZLE } Wrong;

/* With zeros around them. */
static inline void bring_tiles(uint16_t *left, uint16_t *right, const float *a, const float *b) {
    for (int i = (int)FLOW_THREAD; i < 64 * 64; i += 128) {
        const int row = i / 64, k = i % 64;
        FLOW_PUT(left, flow_swizzled(row, k, 64) * 8 + k % 8,
                 flow_store_bf16(row < 40 && k < 40 ? FLOW_LOAD(a, row * 40 + k) : 0));
    }
    for (int i = (int)FLOW_THREAD; i < 48 * 128; i += 128) {
        const int k = i / 128, column = i % 128;
        FLOW_PUT(right, flow_in_panels(column, k, 128, 48) * 8 + column % 8,
                 flow_store_bf16(k < 40 && column < 24 ? FLOW_LOAD(b, k * 24 + column) : 0));
    }
}

static inline void group_product_by(const int64_t *operands, Wrong wrong) {
    FLOW_SHARED_TILES(uint16_t, left, 64 * 64);
    FLOW_SHARED_TILES(uint16_t, right, 2 * 48 * 64);
    float *y = (float *)operands[2], sums[64] = {0};
    const int thread = (int)FLOW_THREAD, lane = thread % 32;
    const int swizzle = wrong == OTHER_SWIZZLE ? FLOW_SWIZZLE_64 : FLOW_SWIZZLE_128;
    bring_tiles(left, right, (const float *)operands[0], (const float *)operands[1]);
    if (wrong != NOT_SHOWN) FLOW_SHOW_WRITES();
    FLOW_SYNC();
    if (wrong != NOT_FENCED) FLOW_BEGIN_PRODUCTS();
    for (int k = 0; k < 48; k += 16) {
        const uint64_t a = FLOW_MATRIX(left + k, 16, 1024, swizzle),
                       b = FLOW_MATRIX(right + k * 64, 48 * 128, 1024, FLOW_SWIZZLE_128);
        FLOW_GROUP_bf16_128(sums, a, b, 1, 0);
    }
    FLOW_END_PRODUCTS();
    if (wrong == CHANGED) {
        FLOW_SYNC();
        FLOW_PUT(left, thread, 7);
        FLOW_SHOW_WRITES();
        FLOW_SYNC();
    }
    FLOW_AWAIT_PRODUCTS(wrong == NOT_AWAITED);
    for (int i = 0; i < 64; i++) {
        const int row = thread / 32 * 16 + lane / 4 + i % 4 / 2 * 8;
        const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (row < 40 && column < 24) FLOW_STORE(y, row * 24 + column, sums[i]);
    }
}
