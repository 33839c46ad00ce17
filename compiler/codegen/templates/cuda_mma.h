/* cuda_mma.h: the tile of cuda_matmul.h by tensor cores. Each of eight warps has a part of it, in
 * products of 16 x 16 by 16 x 8 halves, or half as deep of floats, rounded to tf32. Three tiles of
 * both operands are in shared memory, four of small ones: one is multiplied while the others are on
 * their way. */
enum {
    DEEP = 64 / sizeof(STORED),
    AT_ONCE = DEEP / 2,
    STAGES = TILE_ROWS + TILE_COLUMNS <= 192 ? 4 : 3,
    WARPS_ACROSS = TILE_COLUMNS < 64 ? TILE_COLUMNS / 16 : 4,
    WARP_ROWS = TILE_ROWS / (8 / WARPS_ACROSS),
    WARP_COLUMNS = TILE_COLUMNS / WARPS_ACROSS,
    DOWN = WARP_ROWS / 16,
    ACROSS = WARP_COLUMNS / 8,
    STAGE = (TILE_ROWS + TILE_COLUMNS) * DEEP,
};
#define ROW_OF(n) (warp_row + (n) / 4 / ACROSS * 16 + lane / 4 + (n) % 4 / 2 * 8)
#define COLUMN_OF(n) (warp_column + (n) / 4 % ACROSS * 8 + lane % 4 * 2 + (n) % 2)
TILES(STORED, STAGES *STAGE);
const int lane = (int)FLOW_THREAD % 32, warp = (int)FLOW_THREAD / 32;
const int warp_row = warp / WARPS_ACROSS * WARP_ROWS;
const int warp_column = warp % WARPS_ACROSS * WARP_COLUMNS;
float sums[SUMS] = {0};
for (int64_t depth = first_depth, stage = 1 - STAGES; stage * DEEP < last_depth - first_depth;
     depth += DEEP, stage++) {
    STORED *const next = tiles + (stage + STAGES - 1) % STAGES * STAGE;
    const STORED *const now = tiles + (stage < 0 ? 0 : stage) % STAGES * STAGE;
    if (stage >= 0) {
        FLOW_AWAIT_COPIES(STAGES - 2);
        FLOW_SYNC();
    }
    if (depth < last_depth) {
        FLOW_BRING(A, a, next)
        FLOW_BRING(B, b, next + TILE_ROWS * DEEP)
    }
    FLOW_END_COPIES();
    FLOW_UNROLL for (int k = 0; k < (stage < 0 ? 0 : DEEP); k += AT_ONCE) {
        uint32_t left[DOWN][4], right[ACROSS / 2][4];
        FLOW_UNROLL for (int m = 0; m < DOWN; m++)
            FLOW_GET_FRAGMENTS(A, left[m], now, warp_row + m * 16, k);
        FLOW_UNROLL for (int n = 0; n < ACROSS / 2; n++)
            FLOW_GET_FRAGMENTS(B, right[n], now + TILE_ROWS * DEEP, warp_column + n * 16, k);
        FLOW_UNROLL for (int m = 0; m < DOWN; m++) FLOW_UNROLL for (int n = 0; n < ACROSS; n++)
            MULTIPLY(sums + (m * ACROSS + n) * 4, left[m], right[n / 2][n % 2 * 2],
                     right[n / 2][n % 2 * 2 + 1]);
    }
}
