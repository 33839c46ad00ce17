/* 40 × 40 by 40 × 24, 16 rows a warp. second: 1, the register after the first, as the PTX ISA says,
 * or 2, which is wrong. */
#include "cuda.h"

static inline void tensor_product_by(const int64_t *operands, int second) {
    FLOW_SHARED(uint16_t, left, 16 * 48);
    FLOW_SHARED(uint16_t, right, 48 * 32);
    const float *a = (const float *)operands[0];
    const float *b = (const float *)operands[1];
    float *y = (float *)operands[2], sums[3][4] = {{0}};
    const int lane = (int)FLOW_THREAD, first = (int)FLOW_BLOCK * 16;
    for (int i = lane; i < 16 * 48; i += 32) {
        const int row = first + i / 48, k = i % 48;
        FLOW_PUT(left, i, flow_store_bf16(row < 40 && k < 40 ? FLOW_LOAD(a, row * 40 + k) : 0));
    }
    for (int i = lane; i < 48 * 32; i += 32) {
        const int k = i / 32, column = i % 32;
        FLOW_PUT(right, i,
                 flow_store_bf16(k < 40 && column < 24 ? FLOW_LOAD(b, k * 24 + column) : 0));
    }
    FLOW_SYNC();
    for (int k = 0; k < 48; k += 16) {
        uint32_t m[4], n[2][4];
        FLOW_GET_MATRICES(m, (const FlowQuad *)left, (lane % 16 * 48 + k) / 8 + lane / 16, false);
        for (int j = 0; j < 2; j++)
            FLOW_GET_MATRICES(n[j], (const FlowQuad *)right,
                              (k + lane % 8 + lane / 16 * 8) * 4 + j * 2 + lane / 8 % 2, true);
        const uint32_t fragment[4] = {m[0], m[second], m[3 - second], m[3]};
        for (int j = 0; j < 3; j++)
            FLOW_MULTIPLY_bf16(sums[j], fragment, n[j / 2][j % 2], n[j / 2][j % 2 + 2]);
    }
    for (int i = 0; i < 12; i++) {
        const int row = first + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (row < 40) FLOW_STORE(y, row * 24 + column, sums[i / 4][i % 4]);
    }
}
