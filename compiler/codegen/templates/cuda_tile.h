/* cuda_tile.h: how tiles of both operands of a product come to shared memory. S, s: of operand a, A
 * and a; of b, B and b. An operand has lines, the rows of a and the columns of b, which go along
 * the depth; in memory its elements follow each other by depth or by lines (S_BY_DEPTH), and so do
 * the threads that load S_VECTOR of them each. */
#ifndef FLOW_CUDA_TILE_H
#define FLOW_CUDA_TILE_H

#define A_LINES ROWS
#define A_LINE_AT(l) A_ROW_AT(l)
#define A_TILE TILE_ROWS
#define A_FIRST first_row
#define B_LINES COLUMNS
#define B_LINE_AT(l) B_COLUMN_AT(l)
#define B_TILE TILE_COLUMNS
#define B_FIRST first_column

/* The n-th group of a tile: the line and the depth of its first element within the tile. */
#define FLOW_TILE_LINE(S, n) \
    (int)(S##_BY_DEPTH ? (n) / (DEEP / S##_VECTOR) : (n) % (S##_TILE / S##_VECTOR) * S##_VECTOR)
#define FLOW_TILE_DEPTH(S, n) \
    (int)(S##_BY_DEPTH ? (n) % (DEEP / S##_VECTOR) * S##_VECTOR : (n) / (S##_TILE / S##_VECTOR))

/* Declares `at`, where it lies, and whether it is inside of the operand. */
#define FLOW_TILE_AT(S, line, k)                                                                  \
    const INDEX flow_line = (INDEX)(S##_FIRST) + (line), flow_depth = (INDEX)depth + (k);         \
    const bool is_inside = flow_line < S##_LINES && flow_depth < last_depth;                      \
    const INDEX at =                                                                              \
        is_inside ? (INDEX)(S##_OUTER(slice) + S##_LINE_AT(flow_line) + S##_DEPTH_AT(flow_depth)) \
                  : 0

/* Among which eight halves of a tile of halves one is: they change places, so that the eight rows
 * of a matrix lie in different banks. */
static inline int flow_swizzled(int row, int column, int width) {
    const int turn = width >= 64 ? row & 7 : row >> 1 & 3;
    return row * (width / 8) + (column >> 3 ^ turn);
}
/* Which they are in a tile that has its lines next to each other: of up to 64 of them. */
static inline int flow_in_panels(int line, int k, int lines, int deep) {
    const int wide = lines < 64 ? lines : 64;
    return line / wide * (wide * deep / 8) + flow_swizzled(k, line % wide, wide);
}
#define FLOW_EIGHT_AT(S, line, k) \
    (S##_BY_DEPTH ? flow_swizzled(line, k, DEEP) : flow_in_panels(line, k, S##_TILE, DEEP))
#define FLOW_HALF_AT(S, line, k) (FLOW_EIGHT_AT(S, line, k) * 8 + (S##_BY_DEPTH ? (k) : (line)) % 8)

/* Where a float lies in a tile of floats: groups of four change places, so that what a warp takes
 * at once, eight lines of four depths, lies in different banks. */
#define FLOW_FLOAT_AT(S, line, k)                                        \
    (S##_BY_DEPTH ? flow_swizzled(line, 2 * (k), 2 * DEEP) * 4 + (k) % 4 \
                  : (k)*S##_TILE + ((line) ^ ((k)&3) << 3))
#define FLOW_ELEMENT_AT(S, line, k) \
    (sizeof(STORED) == 4 ? FLOW_FLOAT_AT(S, line, k) : FLOW_HALF_AT(S, line, k))

/* Begins to bring a tile of halves or floats to shared memory. */
#define FLOW_BRING(S, s, to)                                                                      \
    FLOW_UNROLL for (unsigned first = 0; first < S##_TILE * DEEP / S##_VECTOR; first += 256) {    \
        const unsigned n = first + (unsigned)FLOW_THREAD;                                         \
        const int line = FLOW_TILE_LINE(S, n), k = FLOW_TILE_DEPTH(S, n);                         \
        const int place = FLOW_ELEMENT_AT(S, line, k);                                            \
        if (S##_TILE * DEEP / S##_VECTOR % 256 && n >= S##_TILE * DEEP / S##_VECTOR) break;       \
        FLOW_TILE_AT(S, line, k);                                                                 \
        if (S##_VECTOR > 1)                                                                       \
            FLOW_COPY((FlowQuad *)(to), place / S##_VECTOR, (const FlowQuad *)s, at / S##_VECTOR, \
                      is_inside);                                                                 \
        else FLOW_PUT(to, place, (STORED)(is_inside ? FLOW_LOAD(s, at) : 0));                     \
    }

/* Which eight lines and which half of the depths the n-th of four matrices has: what a product
 * takes, all four of a, two of b, lies in neighbouring registers. */
#define A_MATRIX_LINES(n) ((n) % 2)
#define A_MATRIX_DEPTHS(n) ((n) / 2)
#define B_MATRIX_LINES(n) ((n) / 2)
#define B_MATRIX_DEPTHS(n) ((n) % 2)

/* The matrices of 16 lines and 16 depths from (first, k) on. */
#define FLOW_GET_LINES(S, y, tile, first, k)                                                    \
    do {                                                                                        \
        const int flow_line =                                                                   \
            (first) + (S##_BY_DEPTH ? lane % 8 : 0) + S##_MATRIX_LINES(lane / 8) * 8;           \
        const int flow_depth =                                                                  \
            (k) + (S##_BY_DEPTH ? 0 : lane % 8) + S##_MATRIX_DEPTHS(lane / 8) * 8;              \
        FLOW_GET_MATRICES(y, (const FlowQuad *)(tile), FLOW_EIGHT_AT(S, flow_line, flow_depth), \
                          !S##_BY_DEPTH);                                                       \
    } while (0)

/* The same of floats and of eight depths, rounded. */
#define FLOW_GET_FLOATS(S, y, tile, first, k)                                                     \
    do {                                                                                          \
        const int flow_line =                                                                     \
            (first) + (S##_BY_DEPTH ? lane % 8 + S##_MATRIX_LINES(lane / 8) * 8 : lane / 4);      \
        const int flow_depth = (k) + (S##_BY_DEPTH ? S##_MATRIX_DEPTHS(lane / 8) * 4 : lane % 4); \
        if (S##_BY_DEPTH)                                                                         \
            FLOW_GET_MATRICES(y, (const FlowQuad *)(tile),                                        \
                              flow_swizzled(flow_line, 2 * flow_depth, 2 * DEEP), false);         \
        else                                                                                      \
            FLOW_UNROLL for (int i = 0; i < 4; i++)(y)[i] = FLOW_GET(                             \
                (const uint32_t *)(tile), FLOW_FLOAT_AT(S, flow_line + S##_MATRIX_LINES(i) * 8,   \
                                                        flow_depth + S##_MATRIX_DEPTHS(i) * 4));  \
        FLOW_UNROLL for (int i = 0; i < 4; i++)(y)[i] = FLOW_ROUND_tf32((y)[i]);                  \
    } while (0)

#define FLOW_GET_FRAGMENTS(S, y, tile, first, k)                        \
    do {                                                                \
        if (sizeof(STORED) == 4) FLOW_GET_FLOATS(S, y, tile, first, k); \
        else FLOW_GET_LINES(S, y, tile, first, k);                      \
    } while (0)

/* Loads a thread's share of a tile into registers, and puts it into shared memory by depths. */
#define FLOW_TAKE(S, s)                                                                          \
    FLOW_UNROLL for (unsigned t = 0; t < S##_TAKEN; t++) {                                       \
        const unsigned n = t * 256 + (unsigned)FLOW_THREAD;                                      \
        const int line = FLOW_TILE_LINE(S, n), k = FLOW_TILE_DEPTH(S, n);                        \
        FLOW_TILE_AT(S, line, k);                                                                \
        const S##_Vector none = {{0}};                                                           \
        if (n < S##_TILE * DEEP / S##_VECTOR)                                                    \
            taken_##s[t] = is_inside ? FLOW_LOAD((const S##_Vector *)s, at / S##_VECTOR) : none; \
    }
#define FLOW_PUT_TAKEN(S, s, to)                                                         \
    FLOW_UNROLL for (unsigned t = 0; t < S##_TAKEN; t++) {                               \
        const unsigned n = t * 256 + (unsigned)FLOW_THREAD;                              \
        const int place = FLOW_TILE_DEPTH(S, n) * S##_PITCH + FLOW_TILE_LINE(S, n);      \
        S##_Elements elements;                                                           \
        if (n >= S##_TILE * DEEP / S##_VECTOR) break;                                    \
        FLOW_UNROLL for (int v = 0; v < S##_VECTOR; v++) elements.at[v] =                \
            (ELEMENT)LOAD(taken_##s[t].at[v]);                                           \
        if (!S##_BY_DEPTH) FLOW_PUT((S##_Elements *)(to), place / S##_VECTOR, elements); \
        else                                                                             \
            FLOW_UNROLL for (int v = 0; v < S##_VECTOR; v++)                             \
                FLOW_PUT(to, place + v * S##_PITCH, elements.at[v]);                     \
    }

/* Elements of shared memory: for tiles, and later for the sums that are handed over. */
#define TILES_COUNT(type, count)                                                  \
    ((count) * (int)sizeof(type) > PIECE_ROWS * SUMS_PITCH * (int)sizeof(ELEMENT) \
         ? (count)                                                                \
         : PIECE_ROWS * SUMS_PITCH * (int)sizeof(ELEMENT) / (int)sizeof(type))
/* Not more than each GPU gives a block without being asked: else there is no such constant. */
#define TILES(type, count)                              \
    FLOW_SHARED(type, tiles, TILES_COUNT(type, count)); \
    enum { TILES_FIT = 1 / (TILES_COUNT(type, count) * (int)sizeof(type) <= 48 << 10) }

/* `count` of them, as the memory has them at once. */
#define FLOW_VECTOR(name, type, count)                                                       \
    typedef struct FLOW_ALIGNED((count) * sizeof(type) < 16 ? (count) * sizeof(type) : 16) { \
        type at[count];                                                                      \
    } name
#endif
