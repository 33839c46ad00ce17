/* cuda_attention_mma.h: the products of cuda_attention.h by tensor cores. What a thread has of its
 * own rows stays in its registers; two tiles are in shared memory, one on its way. Lines of a tile
 * are a power of two apart, as flow_swizzled wants them. */
#define FLOW_PITCH(depth) ((depth) <= 32 ? 32 : (depth) <= 64 ? 64 : 128)
enum {
    PITCH_0 = FLOW_PITCH(DEEP_0),
    PITCH_1 = SECOND ? FLOW_PITCH(DEEP_1) : 0,
    PITCH_2 = WEIGHED == 2 ? FLOW_PITCH(DEEP_2) : 0,
    SIDE = PITCH_0 + PITCH_1 + PITCH_2,
    ACROSS = (!SECOND || ABREAST == 1) && SIDE <= (TURNED ? 128 : 192) ? 64
             : SIDE <= (TURNED ? 256 : 384)                            ? 32
                                                                       : 16,
    STAGE = ACROSS * SIDE,
}; /* TURNED: of the 48 KiB of a block, 16 are left for what queries have. Two products of scores,
    * of two blocks abreast, leave registers for narrow tiles. */
TILES(uint16_t, 2 * STAGE);
#define FLOW_OWN_HALF(n, row, k)                                                            \
    (uint32_t)((row) < ROWS && (k) < DEPTH_##n ? FLOW_LOAD(own_##n, OWN_##n(slice, row, k)) \
                                               : (uint16_t)0)
#define FLOW_TAKE_OWN(n)                                                                          \
    uint32_t taken_##n[DEEP_##n / 16][4];                                                         \
    FLOW_UNROLL for (int d = 0; d < DEEP_##n / 16; d++) FLOW_UNROLL for (int w = 0; w < 4; w++) { \
        const int64_t row = first_row + own_row + w % 2 * 8;                                      \
        const int k = d * 16 + lane % 4 * 2 + w / 2 * 8;                                          \
        taken_##n[d][w] = FLOW_OWN_HALF(n, row, k) | FLOW_OWN_HALF(n, row, k + 1) << 16;          \
    }
FLOW_TAKE_OWN(0)
#if SECOND
FLOW_TAKE_OWN(1)
#endif
/* Begins to bring the lines from `coming` on of come_n. */
#define FLOW_COME(n, to, coming)                                                          \
    FLOW_UNROLL for (int first = 0; first < ACROSS * DEEP_##n / 8; first += 256) {        \
        const int at = first + (int)FLOW_THREAD;                                          \
        const int line = at / (DEEP_##n / 8), k = at % (DEEP_##n / 8) * 8;                \
        const int eight = flow_swizzled(line, k, PITCH_##n), from = (int)(coming) + line; \
        if (at >= ACROSS * DEEP_##n / 8) break;                                           \
        if (VECTOR_##n == 8) {                                                            \
            const bool is_inside = (is_whole || from < COMING) && k < DEPTH_##n;          \
            FLOW_COPY((FlowQuad *)(to), eight, (const FlowQuad *)come_##n,                \
                      is_inside ? COME_##n(slice, (int64_t)from, k) / 8 : 0, is_inside);  \
        } else {                                                                          \
            FLOW_UNROLL for (int v = 0; v < 8; v++)                                       \
                FLOW_PUT(to, eight * 8 + v,                                               \
                         from < COMING && k + v < DEPTH_##n                               \
                             ? FLOW_LOAD(come_##n, COME_##n(slice, (int64_t)from, k + v)) \
                             : (uint16_t)0);                                              \
        }                                                                                 \
    }
/* y += own_n come_n^T; what a product takes of four matrices lies in neighbouring registers. */
#define FLOW_SCORE(n, y, tile_of_n)                                                              \
    FLOW_UNROLL for (int d = 0; d < DEEP_##n / 16; d++)                                          \
        FLOW_UNROLL for (int a = 0; a < ACROSS; a += 16) {                                       \
        uint32_t right[4];                                                                       \
        FLOW_GET_MATRICES(right, (const FlowQuad *)(tile_of_n),                                  \
                          a *(PITCH_##n / 8) +                                                   \
                              flow_as_made(flow_swizzled(lane % 8 + lane / 16 * 8,               \
                                                         d * 16 + lane / 8 % 2 * 8, PITCH_##n)), \
                          false);                                                                \
        MULTIPLY((y) + a / 2, taken_##n[d], right[0], right[1]);                                 \
        MULTIPLY((y) + a / 2 + 4, taken_##n[d], right[2], right[3]);                             \
    }
/* sums += weights come_n: the sums that tensor cores leave are, rounded, what they take. */
#define FLOW_WEIGH(n, weights, tile_of_n)                                                         \
    FLOW_UNROLL for (int a = 0; a < ACROSS; a += 16) {                                            \
        const float *const w = (weights) + a / 2;                                                 \
        const uint32_t left[4] = {PACK(w[0], w[1]), PACK(w[2], w[3]), PACK(w[4], w[5]),           \
                                  PACK(w[6], w[7])};                                              \
        FLOW_UNROLL for (int c = 0; c < TILE_COLUMNS; c += 16) {                                  \
            uint32_t right[4];                                                                    \
            FLOW_GET_MATRICES(right, (const FlowQuad *)(tile_of_n),                               \
                              a *(PITCH_##n / 8) + flow_as_made(flow_swizzled(                    \
                                                       lane % 16, c + lane / 16 * 8, PITCH_##n)), \
                              true);                                                              \
            MULTIPLY(sums + c / 2, left, right[0], right[1]);                                     \
            MULTIPLY(sums + c / 2 + 4, left, right[2], right[3]);                                 \
        }                                                                                         \
    }
