/* winograd.c: the results of a convolution, with the parameters of winograd.h: rows are the places
 * of images, depth is windows of 3 x 3 places, columns are the results of a place.
 *
 * The weights of a panel of columns are transformed first. Then of a group of tiles, which the
 * nearest caches hold, what they see is transformed, multiplied, and their results are made of the
 * products. Each result is the same whatever rows are asked for; a tile that has others, too, is
 * made all the same. */
#define FEATURE_BLOCK LANES
#include "winograd.h"

#define HIGH FLOW_GROUP_ROWS(GROUP, ROWS_MOST)
#define PIECES ((GROUP - 1) / HIGH + 1)
/* Of a point: what is seen, which its sums of the next one overwrite, and the weights. */
#define POINT APART(PIECES *HIGH *(FEATURES_WIDE < WIDE ? WIDE : FEATURES_WIDE))
#define WEIGHTS APART((FEATURES)*WIDE)
#define GROUP_ROWS (GROUP_LINES * 2 * (SEGMENT < LINE_TILES ? 2 * SEGMENT : (IMAGE_PLACES)))

typedef struct FLOW_JOIN(KERNEL, _work) {
    const CONTEXT *context;
    int64_t first, last; /* rows that are asked for */
    int64_t column, columns;
    ELEMENT *weights, *seen, *sums, *waiting; /* sums: a point before what is seen */
} FLOW_JOIN(KERNEL, _work);

/* G g of three values. */
FLOW_TILE void FLOW_JOIN(KERNEL, _weigh)(const VECTOR g[3], VECTOR to[4]) {
    const VECTOR sides = (g[0] + g[2]) * (ELEMENT)0.5, middle = g[1] * (ELEMENT)0.5;
    to[0] = g[0], to[1] = sides + middle;
    to[2] = sides - middle, to[3] = g[2];
}

/* The panel's weights at each point: G g G'. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _weigh_all)(WORK) {
    WITH_SIZES;
    const int whole = WHOLE_PANELS;
    const ELEMENT *from = (const ELEMENT *)work->context->b + work->column;
    for (int64_t c = 0; c < (FEATURES); c++)
        for (int64_t n = 0; n < WIDE; n += LANES) {
            const int64_t lanes = work->columns - n;
            ELEMENT *to = work->weights + n / WIDTH * WIDTH * (FEATURES) + c * WIDTH + n % WIDTH;
            VECTOR down[3][4];
#pragma GCC unroll 3
            for (int j = 0; j < 3; j++) {
                VECTOR g[3];
#pragma GCC unroll 3
                for (int i = 0; i < 3; i++)
                    g[i] = FLOW_GET(from + ((3 * i + j) * (FEATURES) + c) * (B_DEPTH) + n);
                FLOW_JOIN(KERNEL, _weigh)(g, down[j]);
            }
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                const VECTOR g[3] = {down[0][i], down[1][i], down[2][i]};
                VECTOR weight[4];
                FLOW_JOIN(KERNEL, _weigh)(g, weight);
                FLOW_JOIN(KERNEL, _put_points)(weight, i, to, WEIGHTS);
            }
        }
}

/* The products of so many tiles at each point. What is past the last tile, up to whole tiles of
 * sums, is 0. */
FLOW_TILE void FLOW_JOIN(KERNEL, _multiply_all)(WORK, int64_t tiles) {
    const int64_t pieces = (tiles - 1) / HIGH + 1, more = pieces * HIGH - tiles;
    for (int p = 0; p < POINTS; p++) {
        ELEMENT *seen = work->seen + p * POINT, *sums = work->sums + p * POINT;
        if (more)
            __builtin_memset(seen + tiles * FEATURES_WIDE, 0,
                             (size_t)(more * FEATURES_WIDE) * sizeof(ELEMENT));
        for (int64_t n = 0; n < WIDE; n += WIDTH)
            for (int64_t i = 0; i < pieces; i++) FLOW_JOIN(KERNEL, _multiply)
        (seen + i * HIGH * FEATURES_WIDE, FEATURES_WIDE, 1,
         work->weights + p * WEIGHTS + n * (FEATURES), FEATURES, sums + i * HIGH * WIDE + n, HIGH,
         0);
    }
}

/* A' of four values. */
FLOW_TILE void FLOW_JOIN(KERNEL, _give)(const VECTOR m[4], VECTOR to[2]) {
    to[0] = m[0] + m[1] + m[2];
    to[1] = m[1] - m[2] - m[3];
}

/* The results of tiles of a line, whose sums begin at `sums`: of `places` places in two lines, or
 * of one, which both then are. What lies past the end is overwritten by what does not. */
FLOW_TILE void FLOW_JOIN(KERNEL, _give_all)(WORK, const ELEMENT *sums, int64_t places,
                                            ELEMENT *above, ELEMENT *below, int64_t stride,
                                            const int whole) {
    for (int64_t n = 0; n < work->columns; n += LANES)
        for (int64_t t = 0; 2 * t < places; t++) {
            const int64_t left = 2 * t * stride + n, lanes = work->columns - n;
            const int64_t right = flow_smaller(2 * t + 1, places - 1) * stride + n;
            VECTOR down[4][2], line[2][2];
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                VECTOR m[4];
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++)
                    m[i] = *(const VECTOR *)(sums + (4 * i + j) * POINT + t * WIDE + n);
                FLOW_JOIN(KERNEL, _give)(m, down[j]);
            }
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                const VECTOR m[4] = {down[0][i], down[1][i], down[2][i], down[3][i]};
                FLOW_JOIN(KERNEL, _give)(m, line[i]);
            }
            FLOW_PUT(below + right, line[1][1]);
            FLOW_PUT(below + left, line[1][0]);
            FLOW_PUT(above + right, line[0][1]);
            FLOW_PUT(above + left, line[0][0]);
        }
}

/* Of rows that wait, those that are asked for become results. */
FLOW_TILE void FLOW_JOIN(KERNEL, _finish_rows)(WORK, const ELEMENT *waiting, int64_t row,
                                               int64_t rows) {
    WITH_SIZES;
    const CONTEXT context = *work->context;
    const int64_t first = flow_larger(row, work->first),
                  last = flow_smaller(row + rows, work->last);
    if (first >= last) return;
    waiting += (first - row) * WIDE;
#if PLAIN
    for (int64_t m = first; m < last; m++, waiting += WIDE)
        __builtin_memcpy((ELEMENT *)RESULT + m * (COLUMNS) + work->column, waiting,
                         (size_t)work->columns * sizeof(ELEMENT));
#else
    FINISH(&context, waiting, WIDE, first, work->column, last - first, work->columns);
#endif
}

/* Tiles of `lines` lines of them, all of each or a segment. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _group)(WORK, int64_t line, int64_t lines,
                                                       int64_t tile, int64_t tiles) {
    WITH_SIZES;
    const CONTEXT context = *work->context;
    const ELEMENT *a = context.a;
    for (int64_t i = 0; i < lines; i++) FLOW_JOIN(KERNEL, _see)
    (a + (line + i) / TILE_LINES * (A_IMAGE), (line + i) % TILE_LINES, tile, tiles, 0,
     FEATURES_WIDE, work->seen + i * tiles * FEATURES_WIDE, FEATURES_WIDE, POINT);
    FLOW_JOIN(KERNEL, _multiply_all)(work, lines * tiles);
    const int64_t places = flow_smaller(2 * tiles, (IMAGE_PLACES)-2 * tile);
    const int64_t first = FLOW_JOIN(KERNEL, _row)(line);
    int64_t row = first + 2 * tile, waiting = 0;
    for (int64_t i = 0; i < lines; i++) {
        const int two = (line + i) % TILE_LINES * 2 + 1 < (IMAGE_LINES);
        const int64_t next = two ? IMAGE_PLACES : 0, end = row + next + places;
        const ELEMENT *sums = work->sums + i * tiles * WIDE;
        if (PLAIN && row >= work->first && end <= work->last) {
            ELEMENT *to = (ELEMENT *)RESULT + row * (COLUMNS) + work->column;
            FLOW_JOIN(KERNEL, _give_all)
            (work, sums, places, to, to + next * (COLUMNS), COLUMNS, WHOLE_VECTORS);
        } else {
            ELEMENT *to = work->waiting + waiting * WIDE;
            FLOW_JOIN(KERNEL, _give_all)
            (work, sums, places, to, to + (two ? places : 0) * WIDE, WIDE, 1);
            if (PLAIN || SEGMENT < LINE_TILES) {
                FLOW_JOIN(KERNEL, _finish_rows)(work, to, row, places);
                if (two) FLOW_JOIN(KERNEL, _finish_rows)
                (work, to + places * WIDE, row + next, places);
            } else waiting += two ? 2 * places : places;
        }
        row += next + (IMAGE_PLACES);
    }
    if (waiting) FLOW_JOIN(KERNEL, _finish_rows)(work, work->waiting, first, waiting);
}

/* The line of tiles that a row is in. */
FLOW_TILE int64_t FLOW_JOIN(KERNEL, _line)(int64_t row) {
    const int64_t line = row / (IMAGE_PLACES);
    return line / (IMAGE_LINES)*TILE_LINES + line % (IMAGE_LINES) / 2;
}

static FLOW_WIDE void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *restrict context, int64_t slice,
                                                int64_t row, int64_t rows, int64_t first,
                                                int64_t last) {
    _Alignas(64) ELEMENT weights[POINTS * WEIGHTS], points[(POINTS + 1) * POINT],
        waiting[GROUP_ROWS * WIDE];
    FLOW_JOIN(KERNEL, _work)
    work = {.context = context,
            .first = row,
            .last = row + rows,
            .weights = weights,
            .seen = points + POINT,
            .sums = points,
            .waiting = waiting};
    const int64_t end = FLOW_JOIN(KERNEL, _line)(row + rows - 1) + 1;
    (void)slice;
    for (work.column = first; work.column < last; work.column += PANEL) {
        work.columns = flow_smaller(last - work.column, PANEL);
        FLOW_JOIN(KERNEL, _weigh_all)(&work);
        for (int64_t line = FLOW_JOIN(KERNEL, _line)(row); line < end; line += GROUP_LINES)
            for (int64_t tile = 0; tile < LINE_TILES; tile += SEGMENT) FLOW_JOIN(KERNEL, _group)
        (&work, line, flow_smaller(end - line, GROUP_LINES), tile,
         flow_smaller(LINE_TILES - tile, SEGMENT));
    }
}

#undef PIECES
#undef HIGH
#undef POINT
#undef WEIGHTS
#undef GROUP_ROWS
#include "split.h"
