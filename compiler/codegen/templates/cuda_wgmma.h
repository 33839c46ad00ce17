/* cuda_wgmma.h: the tile of cuda_matmul.h by two warpgroups, each of which has 64 rows: half of
 * 128, or all of them with half of the columns. Tiles of both operands are in shared memory as in
 * cuda_mma.h, whose loop this is but for the order: products go on while copies are asked for. */
enum {
    DEEP = 32,
    STAGES = 3,
    STAGE = (TILE_ROWS + TILE_COLUMNS) * DEEP,
    HALF_TILE = 64 * DEEP, /* halves, of 64 lines */
};
#define ROW_OF(n) (down * 64 + warp % 4 * 16 + lane / 4 + (n) % 4 / 2 * 8)
#define COLUMN_OF(n) (across * 64 + (n) / 4 * 8 + lane % 4 * 2 + (n) % 2)
/* By depth, lines of 64 bytes follow each other; else panels of 64 lines, each depth of which has
 * 128 bytes. */
#define FLOW_LINES(S, place, k)                                                   \
    (S##_BY_DEPTH ? FLOW_MATRIX((place) + (k), 16, 8 * DEEP * 2, FLOW_SWIZZLE_64) \
                  : FLOW_MATRIX((place) + (k)*64, HALF_TILE * 2, 8 * 128, FLOW_SWIZZLE_128))
FLOW_SHARED_TILES(uint16_t, tiles, TILES_COUNT(uint16_t, STAGES *STAGE));
const int lane = (int)FLOW_THREAD % 32, warp = (int)FLOW_THREAD / 32;
const int down = TILE_ROWS > 64 ? warp / 4 : 0, across = TILE_ROWS > 64 ? 0 : warp / 4;
float sums[SUMS] = {0};
FLOW_HOLD(sums, SUMS);
for (int64_t depth = first_depth, stage = 1 - STAGES; stage * DEEP < last_depth - first_depth;
     depth += DEEP, stage++) {
    uint16_t *const next = tiles + (stage + STAGES - 1) % STAGES * STAGE;
    const uint16_t *const now = tiles + (stage < 0 ? 0 : stage) % STAGES * STAGE;
    if (stage >= 0) {
        FLOW_AWAIT_PRODUCTS(0);
        FLOW_AWAIT_COPIES(STAGES - 2);
        FLOW_SHOW_WRITES();
        FLOW_SYNC();
        FLOW_BEGIN_PRODUCTS();
        FLOW_UNROLL for (int k = 0; k < DEEP; k += 16) MULTIPLY_GROUP(
            sums, FLOW_LINES(A, now + down * HALF_TILE, k),
            FLOW_LINES(B, now + TILE_ROWS * DEEP + across * HALF_TILE, k), A_BY_DEPTH, B_BY_DEPTH);
        FLOW_END_PRODUCTS();
    }
    if (depth < last_depth) {
        FLOW_BRING(A, a, next)
        FLOW_BRING(B, b, next + TILE_ROWS * DEEP)
    }
    FLOW_END_COPIES();
}
FLOW_AWAIT_PRODUCTS(0);
FLOW_HOLD(sums, SUMS);
#undef FLOW_LINES
