/* cuda_matmul.h: inside a kernel of 256 threads, with the parameters of contraction_text.c: the
 * sums of a tile of 64 x 64 results, 16 of the depth at a time. Each thread adds up 4 x 4 of them,
 * every 16th row and column, so that threads beside each other store beside each other. */
FLOW_SHARED(ELEMENT, tile_a, 64 * 16);
FLOW_SHARED(ELEMENT, tile_b, 16 * 64);
const int64_t tiles_down = (ROWS + 63) / 64, tiles_across = (COLUMNS + 63) / 64;
const int64_t slice = FLOW_BLOCK / (tiles_down * tiles_across);
const int64_t first_row = FLOW_BLOCK / tiles_across % tiles_down * 64;
const int64_t first_column = FLOW_BLOCK % tiles_across * 64;
const int64_t slice_rows = ROWS, slice_columns = COLUMNS;
const int down = (int)FLOW_THREAD / 16, across = (int)FLOW_THREAD % 16;
ELEMENT sums[4][4] = {{0}};
for (int64_t depth = 0; depth < DEPTH; depth += 16) {
    for (int n = (int)FLOW_THREAD; n < 64 * 16; n += 256) {
        const int64_t m = first_row + n / 16, k = depth + n % 16;
        const bool is_inside = m < ROWS && k < DEPTH;
        const int64_t at = is_inside ? A_OUTER(slice) + A_ROW_AT(m) + A_DEPTH_AT(k) : 0;
        FLOW_PUT(tile_a, n, is_inside ? (ELEMENT)LOAD(FLOW_LOAD(a, at)) : 0);
    }
    for (int n = (int)FLOW_THREAD; n < 16 * 64; n += 256) {
        const int64_t k = depth + n / 64, column = first_column + n % 64;
        const bool is_inside = column < COLUMNS && k < DEPTH;
        const int64_t at = is_inside ? B_OUTER(slice) + B_DEPTH_AT(k) + B_COLUMN_AT(column) : 0;
        FLOW_PUT(tile_b, n, is_inside ? (ELEMENT)LOAD(FLOW_LOAD(b, at)) : 0);
    }
    FLOW_SYNC();
    for (int k = 0; k < 16; k++)
        FLOW_UNROLL for (int m = 0; m < 4; m++) FLOW_UNROLL for (int n = 0; n < 4; n++)
            sums[m][n] +=
            FLOW_GET(tile_a, (down + 16 * m) * 16 + k) * FLOW_GET(tile_b, k * 64 + across + 16 * n);
    FLOW_SYNC();
}
#include "forget.h"
