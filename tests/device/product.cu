/* product, 6 blocks of 256 threads, memory 6400 6000 -3840: 40 × 40 by 40 × 24 in tiles of 16. */
#include "cuda.h"

enum { ROWS = 40, INNER = 40, COLUMNS = 24, TILE = 16 };

static inline float element(const float *a, int64_t row, int64_t column, int64_t rows,
                            int64_t columns) {
    return row < rows && column < columns ? FLOW_LOAD(a, row * columns + column) : 0;
}

FLOW_GLOBAL(product, 256) {
    FLOW_SHARED(float, left, TILE *TILE);
    FLOW_SHARED(float, right, TILE *TILE);
    const float *a = (const float *)arguments.operands[0];
    const float *b = (const float *)arguments.operands[1];
    float *y = (float *)arguments.operands[2];
    int64_t i = FLOW_THREAD / TILE, j = FLOW_THREAD % TILE;
    int64_t row = FLOW_BLOCK / 2 * TILE + i, column = FLOW_BLOCK % 2 * TILE + j;
    float sum = 0;
    for (int64_t k = 0; k < INNER; k += TILE) {
        FLOW_PUT(left, i * TILE + j, element(a, row, k + j, ROWS, INNER));
        FLOW_PUT(right, i * TILE + j, element(b, k + i, column, INNER, COLUMNS));
        FLOW_SYNC();
        for (int64_t l = 0; l < TILE; l++)
            sum += FLOW_GET(left, i * TILE + l) * FLOW_GET(right, l * TILE + j);
        FLOW_SYNC();
    }
    if (row < ROWS && column < COLUMNS) FLOW_STORE(y, row * COLUMNS + column, sum);
}
