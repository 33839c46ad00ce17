/* cuda_attention_fma.h: the products of cuda_attention.h by multiplying and adding one by one. A
 * tile is in shared memory as floats; rows of one's own are read where they are. The four threads
 * that have a row's weights hand them round. */
enum {
    PITCH_0 = DEEP_0 + 4,
    PITCH_1 = SECOND ? DEEP_1 + 4 : 0,
    PITCH_2 = WEIGHED == 2 ? DEEP_2 + 4 : 0,
    SIDE = PITCH_0 + PITCH_1 + PITCH_2,
    ACROSS = SIDE <= 360 ? 32 : 16, /* 3 KiB of a block are left for what queries have */
    STAGE = ACROSS * SIDE,
};
FLOW_VECTOR(FlowTwo, float, 2);
FLOW_VECTOR(FlowFour, float, 4);
TILES(float, STAGE);
/* y: four elements of a line from depth k on, or zeros. */
#define FLOW_FOUR(n, y, values, is_line, vector, place)                            \
    if (sizeof(STORED) == 4 && (vector) == 4) {                                    \
        const FlowFour none = {{0}};                                               \
        y = (is_line) && k < DEPTH_##n                                             \
                ? FLOW_LOAD((const FlowFour *)(values), place(slice, line, k) / 4) \
                : none;                                                            \
    } else {                                                                       \
        FLOW_UNROLL for (int v = 0; v < 4; v++)(y).at[v] =                         \
            (is_line) && k + v < DEPTH_##n                                         \
                ? (float)LOAD(FLOW_LOAD(values, place(slice, line, k + v)))        \
                : 0;                                                               \
    }
#define FLOW_COME(n, to, coming)                                             \
    for (int at = (int)FLOW_THREAD; at < ACROSS * DEEP_##n / 4; at += 256) { \
        const int k = at % (DEEP_##n / 4) * 4, place = at / (DEEP_##n / 4);  \
        const int64_t line = (coming) + place;                               \
        FlowFour four;                                                       \
        FLOW_FOUR(n, four, come_##n, line < COMING, VECTOR_##n, COME_##n)    \
        FLOW_PUT((FlowFour *)(to), (place * PITCH_##n + k) / 4, four);       \
    }
#define FLOW_SCORE(n, y, tile_of_n)                                                          \
    FLOW_UNROLL_TWICE for (int k = 0; k < DEEP_##n; k += 4) {                                \
        FlowFour left[2];                                                                    \
        FLOW_UNROLL for (int h = 0; h < 2; h++) {                                            \
            const int64_t line = first_row + own_row + h * 8;                                \
            FLOW_FOUR(n, left[h], own_##n, line < ROWS, OWN_VECTOR_##n, OWN_##n)             \
        }                                                                                    \
        FLOW_UNROLL for (int e = 0; e < SCORES; e++) {                                       \
            if (e % 4 >= 2) continue;                                                        \
            const FlowFour right =                                                           \
                FLOW_GET((const FlowFour *)(tile_of_n), (COLUMN_OF(e) * PITCH_##n + k) / 4); \
            FLOW_UNROLL for (int v = 0; v < 4; v++) {                                        \
                (y)[e] += left[0].at[v] * right.at[v];                                       \
                (y)[e + 2] += left[1].at[v] * right.at[v];                                   \
            }                                                                                \
        }                                                                                    \
    }
#define FLOW_WEIGH(n, weights, tile_of_n)                                                      \
    FLOW_UNROLL_TWICE for (int mask = 0; mask < 4; mask++)                                     \
        FLOW_UNROLL for (int e = 0; e < SCORES; e++) {                                         \
        if (e % 4 >= 2) continue;                                                              \
        const float upper = flow_shuffle_xor_f32((weights)[e], mask);                          \
        const float lower = flow_shuffle_xor_f32((weights)[e + 2], mask);                      \
        const int line = e / 4 * 8 + (lane % 4 ^ mask) * 2 + e % 2;                            \
        FLOW_UNROLL for (int s = 0; s < SUMS; s += 4) {                                        \
            const FlowTwo right =                                                              \
                FLOW_GET((const FlowTwo *)(tile_of_n), (line * PITCH_##n + COLUMN_OF(s)) / 2); \
            FLOW_UNROLL for (int v = 0; v < 2; v++) {                                          \
                sums[s + v] += upper * right.at[v];                                            \
                sums[s + 2 + v] += lower * right.at[v];                                        \
            }                                                                                  \
        }                                                                                      \
    }
