/* winograd_weights.c: what flows back to the weights of a convolution, with the parameters of
 * winograd.h: depth is the places of an image's results, which b has, rows are windows of 3 x 3
 * places of a. With d and y as there, y being what flows back,
 *
 *     g = G' (B' d B * A y A') G
 *
 * summed over all tiles. Each part of the depth, which is whole images, has its own sums, and
 * threads share the features of all parts. */
#define HIGH FLOW_FEATURE_ROWS(ROWS_MOST)
#define FEATURE_BLOCK (HIGH > LANES ? HIGH : LANES)
#include "winograd.h"

#define SEEN APART(GROUP *FEATURES_WIDE)
#define SHOWN APART(GROUP *WIDE)
#define SUMS APART(FEATURES_WIDE *WIDE)

typedef struct FLOW_JOIN(KERNEL, _work) {
    const CONTEXT *context;
    int64_t feature, end; /* of a, whole blocks */
    int64_t column, columns;
    ELEMENT *seen, *shown, *sums;
} FLOW_JOIN(KERNEL, _work);

/* A y of two values. */
FLOW_TILE void FLOW_JOIN(KERNEL, _shown)(VECTOR y0, VECTOR y1, VECTOR to[4]) {
    to[0] = y0, to[1] = y0 + y1;
    to[2] = y0 - y1, to[3] = -y1;
}

/* What tiles of a line show of b: A y A'. Past an image's end there is nothing. */
FLOW_TILE void FLOW_JOIN(KERNEL, _show)(WORK, int64_t line, int64_t tile, int64_t tiles,
                                        ELEMENT *to) {
    WITH_SIZES;
    const int whole = WHOLE_PANELS;
    const int two = line % TILE_LINES * 2 + 1 < (IMAGE_LINES);
    const ELEMENT *above = (const ELEMENT *)work->context->b + work->column +
                           FLOW_JOIN(KERNEL, _row)(line) * (B_DEPTH);
    const ELEMENT *below = above + (two ? (IMAGE_PLACES) * (B_DEPTH) : 0);
    for (int64_t n = 0; n < WIDE; n += LANES)
        for (int64_t t = 0; t < tiles; t++) {
            const int64_t place = 2 * (tile + t), lanes = work->columns - n;
            const int both = place + 1 < (IMAGE_PLACES);
            const int64_t left = place * (B_DEPTH) + n, right = left + (both ? (B_DEPTH) : 0);
            ELEMENT *at = to + n / WIDTH * WIDTH * GROUP + t * WIDTH + n % WIDTH;
            const VECTOR none = {0};
            VECTOR y[2][2] = {{FLOW_GET(above + left), FLOW_GET(above + right)},
                              {FLOW_GET(below + left), FLOW_GET(below + right)}};
            if (!both) y[0][1] = y[1][1] = none;
            if (!two) y[1][0] = y[1][1] = none;
            VECTOR down[2][4];
#pragma GCC unroll 2
            for (int j = 0; j < 2; j++) FLOW_JOIN(KERNEL, _shown)(y[0][j], y[1][j], down[j]);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                VECTOR shown[4];
                FLOW_JOIN(KERNEL, _shown)(down[0][i], down[1][i], shown);
                FLOW_JOIN(KERNEL, _put_points)(shown, i, at, SHOWN);
            }
        }
}

/* Asks for a point's share of `elements` of each of the lines of a group, `step` apart: while one
 * group is multiplied, for what the next one sees first, since that comes in bursts which are too
 * short for the processor to foresee. */
FLOW_TILE void FLOW_JOIN(KERNEL, _ask)(const ELEMENT *from, int64_t step, const int elements,
                                       int point) {
    const int line = 64 / (int)sizeof(ELEMENT), each = (elements - 1) / line + 1;
    const int all = 2 * GROUP_LINES * each;
    for (int i = point * all / POINTS; i < (point + 1) * all / POINTS; i++)
        __builtin_prefetch(from + i / each * step + i % each * line, 0, 2);
}

/* Of a, what tiles from number `tile` on of a line see that those of the line before did not. */
FLOW_TILE void FLOW_JOIN(KERNEL, _ask_a)(const ELEMENT *a, int64_t line, int64_t tile, int point) {
    const int64_t place = flow_larger(2 * tile - (A_PLACES_BEFORE), 0);
    FLOW_JOIN(KERNEL, _ask)
    (a + line / TILE_LINES * (A_IMAGE) + (line % TILE_LINES * 2 + 2 - (A_LINES_BEFORE)) * (A_LINE) +
         place * (FEATURES),
     A_LINE, 2 * SEGMENT * (FEATURES), point);
}

/* Adds the products of tiles of `lines` lines of them, all of each or a segment. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _group)(WORK, int64_t line, int64_t lines,
                                                       int64_t tile, int64_t tiles) {
    WITH_SIZES;
    const ELEMENT *a = work->context->a;
    for (int64_t i = 0; i < lines; i++) {
        FLOW_JOIN(KERNEL, _see)
        (a + (line + i) / TILE_LINES * (A_IMAGE), (line + i) % TILE_LINES, tile, tiles,
         work->feature, work->end, work->seen + i * tiles * FEATURES_WIDE, FEATURES_WIDE, SEEN);
        FLOW_JOIN(KERNEL, _show)(work, line + i, tile, tiles, work->shown + i * tiles * WIDTH);
    }
    const int64_t next = line + GROUP_LINES;
    const ELEMENT *b = (const ELEMENT *)work->context->b + work->column;
    for (int p = 0; p < POINTS; p++) {
        FLOW_JOIN(KERNEL, _ask_a)(a, next, tile, p);
        FLOW_JOIN(KERNEL, _ask)
        (b + (FLOW_JOIN(KERNEL, _row)(next) + 2 * tile) * (B_DEPTH), (IMAGE_PLACES) * (B_DEPTH),
         2 * SEGMENT * (B_DEPTH), p);
        for (int64_t n = 0; n < WIDE; n += WIDTH)
            for (int64_t c = 0; c < work->end - work->feature; c += HIGH)
                FLOW_JOIN(KERNEL, _multiply)
        (work->seen + p * SEEN + c, 1, FEATURES_WIDE, work->shown + p * SHOWN + n * GROUP,
         lines * tiles, work->sums + p * SUMS + c * WIDE + n, HIGH, 1);
    }
}

/* G' s of four values. */
FLOW_TILE void FLOW_JOIN(KERNEL, _weighed)(const VECTOR s[4], VECTOR to[3]) {
    const VECTOR sum = (s[1] + s[2]) * (ELEMENT)0.5;
    to[0] = s[0] + sum, to[1] = (s[1] - s[2]) * (ELEMENT)0.5, to[2] = sum + s[3];
}

/* The part's sums: G' s G. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _store_sums)(WORK, int64_t rows, ELEMENT *to) {
    WITH_SIZES;
    const int whole = WHOLE_VECTORS;
    for (int64_t c = work->feature; c < work->feature + rows; c++)
        for (int64_t n = 0; n < work->columns; n += LANES) {
            const int64_t lanes = work->columns - n;
            VECTOR down[4][3];
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                VECTOR s[4];
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++)
                    s[i] = *(const VECTOR *)(work->sums + (4 * i + j) * SUMS +
                                             (c - work->feature) * WIDE + n);
                FLOW_JOIN(KERNEL, _weighed)(s, down[j]);
            }
#pragma GCC unroll 3
            for (int i = 0; i < 3; i++) {
                const VECTOR s[4] = {down[0][i], down[1][i], down[2][i], down[3][i]};
                VECTOR weight[3];
                FLOW_JOIN(KERNEL, _weighed)(s, weight);
#pragma GCC unroll 3
                for (int j = 0; j < 3; j++)
                    FLOW_PUT(to + ((3 * i + j) * (FEATURES) + c) * (COLUMNS) + work->column + n,
                             weight[j]);
            }
        }
}

/* Features [row, row + rows) of a part. */
static FLOW_WIDE void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *restrict context, int64_t part,
                                                int64_t row, int64_t rows, int64_t first,
                                                int64_t last) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    _Static_assert(FLOW_LANES % FEATURE_BLOCK == 0, "threads begin with whole vectors");
    const int64_t high = ((rows - 1) / FEATURE_BLOCK + 1) * FEATURE_BLOCK;
    const int64_t image = (IMAGE_LINES) * (IMAGE_PLACES);
    const int64_t begin = flow_smaller(part * (PART_DEPTH), DEPTH) / image * TILE_LINES,
                  end = flow_smaller((part + 1) * (PART_DEPTH), DEPTH) / image * TILE_LINES;
    _Alignas(64) ELEMENT seen[POINTS * SEEN], shown[POINTS * SHOWN], sums[POINTS * SUMS];
    FLOW_JOIN(KERNEL, _work)
    work = {.context = context,
            .feature = row,
            .end = row + high,
            .seen = seen,
            .shown = shown,
            .sums = sums};
    for (work.column = first; work.column < last; work.column += PANEL) {
        work.columns = flow_smaller(last - work.column, PANEL);
        for (int p = 0; p < POINTS; p++)
            __builtin_memset(sums + p * SUMS, 0, (size_t)(high * WIDE) * sizeof(ELEMENT));
        for (int64_t line = begin; line < end; line += GROUP_LINES)
            for (int64_t tile = 0; tile < LINE_TILES; tile += SEGMENT) FLOW_JOIN(KERNEL, _group)
        (&work, line, flow_smaller(end - line, GROUP_LINES), tile,
         flow_smaller(LINE_TILES - tile, SEGMENT));
        FLOW_JOIN(KERNEL, _store_sums)
        (&work, rows, context->parts + part * (ROWS) * (COLUMNS));
    }
}

#undef HIGH
#undef SEEN
#undef SHOWN
#undef SUMS
/* The features of a part. */
#define PART_ROWS (FEATURES)
#define PART_BLOCK FLOW_LANES
#include "parts.h"
