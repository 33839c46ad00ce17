/* cuda_ring.h: the tile of cuda_matmul.h by two warpgroups, as cuda_wgmma.h has it, and by one
 * thread more, which has boxes of both operands brought into a ring of stages: the GPU copies them
 * while products go on. A stage's gate `full` opens when its boxes have landed, `empty` when all
 * warps have multiplied what they held. Threads divided so: M. Bauer et
 * al., "CudaDMA: optimizing GPU memory bandwidth via warp specialization", 2011. */
enum {
    DEEP = 64,
    STAGES = TENSOR_RING,
    STAGE = (TILE_ROWS + TILE_COLUMNS) * DEEP,
    PANEL = 64 * DEEP, /* halves, of 64 lines */
    MULTIPLYING = 8,   /* warps */
    GROUP_COLUMNS = TILE_ROWS > 64 ? TILE_COLUMNS : TILE_COLUMNS / 2,
};
#define ROW_OF(n) (down * 64 + warp % 4 * 16 + lane / 4 + (n) % 4 / 2 * 8)
#define COLUMN_OF(n) (across * GROUP_COLUMNS + (n) / 4 * 8 + lane % 4 * 2 + (n) % 2)
/* By depth, a line has 128 bytes; else a depth of a panel of 64 lines has. */
#define FLOW_LINES(S, place, k)                                                                  \
    FLOW_MATRIX((place) + (S##_BY_DEPTH ? (k) : (k)*64), S##_BY_DEPTH ? 16 : PANEL * 2, 8 * 128, \
                FLOW_SWIZZLE_128)
#define FLOW_BRING_TILE(S, to)                                                     \
    if (S##_BY_DEPTH) S##_BOX(to, full, slot, (int32_t)depth, (int32_t)S##_FIRST); \
    else                                                                           \
        FLOW_UNROLL for (int panel = 0; panel < S##_TILE / 64; panel++) S##_BOX(   \
            (to) + panel * PANEL, full, slot, (int32_t)S##_FIRST + panel * 64, (int32_t)depth);
FLOW_SHARED_MORE(uint16_t, tiles, RING_BYTES / 2);
uint64_t *const full = (uint64_t *)(tiles + STAGES * STAGE), *const empty = full + STAGES;
const int lane = (int)FLOW_THREAD % 32, warp = (int)FLOW_THREAD / 32;
int slot = 0, odd = 0;
if (FLOW_THREAD == 0) {
    for (int i = 0; i < STAGES; i++) {
        FLOW_GATE(full, i, 1);
        FLOW_GATE(empty, i, MULTIPLYING);
    }
    FLOW_SHOW_WRITES();
}
FLOW_SYNC();
if (warp >= MULTIPLYING) {
    if (lane) return;
    for (int64_t depth = first_depth; depth < last_depth; depth += DEEP) {
        uint16_t *const next = tiles + slot * STAGE;
        FLOW_AWAIT(empty, slot, !odd);
        FLOW_EXPECT(full, slot, STAGE * 2);
        FLOW_BRING_TILE(A, next)
        FLOW_BRING_TILE(B, next + TILE_ROWS * DEEP)
        if (++slot == STAGES) slot = 0, odd = !odd;
    }
    return;
}
const int down = TILE_ROWS > 64 ? warp / 4 : 0, across = TILE_ROWS > 64 ? 0 : warp / 4;
float sums[SUMS] = {0};
FLOW_HOLD(sums, SUMS);
for (int64_t depth = first_depth; depth < last_depth; depth += DEEP) {
    const uint16_t *const now = tiles + slot * STAGE;
    FLOW_AWAIT(full, slot, odd);
    FLOW_BEGIN_PRODUCTS();
    FLOW_UNROLL for (int k = 0; k < DEEP; k += 16)
        MULTIPLY_RING(sums, FLOW_LINES(A, now + down * PANEL, k),
                      FLOW_LINES(B, now + TILE_ROWS * DEEP + across * GROUP_COLUMNS * DEEP, k),
                      A_BY_DEPTH, B_BY_DEPTH);
    FLOW_END_PRODUCTS();
    FLOW_AWAIT_PRODUCTS(1);
    if (depth > first_depth && lane == 0) FLOW_ARRIVE(empty, slot ? slot - 1 : STAGES - 1);
    if (++slot == STAGES) slot = 0, odd = !odd;
}
FLOW_AWAIT_PRODUCTS(0);
FLOW_HOLD(sums, SUMS);
#undef FLOW_LINES
#undef FLOW_BRING_TILE
