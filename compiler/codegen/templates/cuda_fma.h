/* cuda_fma.h: the tile of cuda_matmul.h by multiplying and adding one by one. Threads, 16 x 16,
 * have up to 8 x 8 results each, in groups of four rows and columns. While one tile of both
 * operands is added up, the next is on its way to registers. */
enum {
    DEEP = (TILE_ROWS + TILE_COLUMNS) * (int)sizeof(ELEMENT) <= 512 ? 32 : 16,
    DOWN = TILE_ROWS / 16,
    ACROSS = TILE_COLUMNS / 16,
    DOWN_GROUP = DOWN < 4 ? DOWN : 4,
    ACROSS_GROUP = ACROSS < 4 ? ACROSS : 4,
    A_TAKEN = (TILE_ROWS * DEEP / A_VECTOR + 255) / 256,
    B_TAKEN = (TILE_COLUMNS * DEEP / B_VECTOR + 255) / 256,
    A_PITCH = TILE_ROWS + (A_VECTOR < 4 ? 4 : A_VECTOR),
    B_PITCH = TILE_COLUMNS + (B_VECTOR < 4 ? 4 : B_VECTOR),
    STAGE = DEEP * (A_PITCH + B_PITCH),
};
FLOW_VECTOR(A_Vector, STORED, A_VECTOR);
FLOW_VECTOR(B_Vector, STORED, B_VECTOR);
FLOW_VECTOR(A_Elements, ELEMENT, A_VECTOR);
FLOW_VECTOR(B_Elements, ELEMENT, B_VECTOR);
FLOW_VECTOR(DownGroup, ELEMENT, DOWN_GROUP);
FLOW_VECTOR(AcrossGroup, ELEMENT, ACROSS_GROUP);
#define ROW_OF(n) \
    ((n) / ACROSS / DOWN_GROUP * 16 * DOWN_GROUP + down * DOWN_GROUP + (n) / ACROSS % DOWN_GROUP)
#define COLUMN_OF(n) \
    ((n) % ACROSS / ACROSS_GROUP * 16 * ACROSS_GROUP + across * ACROSS_GROUP + (n) % ACROSS_GROUP)
TILES(ELEMENT, 2 * STAGE);
const int down = (int)FLOW_THREAD / 16, across = (int)FLOW_THREAD % 16;
ELEMENT sums[SUMS] = {0};
A_Vector taken_a[A_TAKEN];
B_Vector taken_b[B_TAKEN];
for (int64_t depth = first_depth, stage = -1; depth < last_depth + DEEP; depth += DEEP, stage++) {
    ELEMENT *const now = tiles + (stage & 1) * STAGE, *const next = tiles + (~stage & 1) * STAGE;
    if (depth < last_depth) {
        FLOW_TAKE(A, a)
        FLOW_TAKE(B, b)
    }
    if (stage >= 0) {
        FLOW_UNROLL_EIGHT for (int k = 0; k < DEEP; k++) {
            DownGroup left[DOWN / DOWN_GROUP];
            AcrossGroup right[ACROSS / ACROSS_GROUP];
            FLOW_UNROLL for (int g = 0; g < DOWN / DOWN_GROUP; g++) left[g] =
                FLOW_GET((const DownGroup *)now, k * A_PITCH / DOWN_GROUP + g * 16 + down);
            FLOW_UNROLL for (int g = 0; g < ACROSS / ACROSS_GROUP; g++) right[g] =
                FLOW_GET((const AcrossGroup *)(now + DEEP * A_PITCH),
                         k * B_PITCH / ACROSS_GROUP + g * 16 + across);
            FLOW_UNROLL for (int n = 0; n < SUMS; n++) sums[n] +=
                left[n / ACROSS / DOWN_GROUP].at[n / ACROSS % DOWN_GROUP] *
                right[n % ACROSS / ACROSS_GROUP].at[n % ACROSS_GROUP];
        }
    }
    if (depth < last_depth) {
        FLOW_PUT_TAKEN(A, a, next)
        FLOW_PUT_TAKEN(B, b, next + DEEP * A_PITCH)
    }
    FLOW_SYNC();
}
