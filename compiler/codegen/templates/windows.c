/* windows.c: as matmul.c, with the same parameters, where a is seen through windows.
 *
 * Rows of a are in runs, and so are depths; a run's length and its step are numbers. A tile has
 * rows whose distances are numbers therefore: a part of a run, or whole runs, and reads a where it
 * lies, run after run of depths. Nothing is copied: an element of a is used for few columns only.
 * b lies in order, one row of columns after the other.
 *
 * The depth may be cut up, so that threads read what is theirs of both operands: parts.h.
 *
 * Besides, A_ROW_RUNS runs of rows are evenly spaced. What of an image's lines is padding adds
 * nothing: it is left out; so is what lies beside a line, where a tile is one. */
#include "product/lanes.h"

/* Where sums are stored at once, and do not wait for what becomes of them. */
#define STORES (PLAIN || PARTS > 1)
#if PARTS > 1
#define SUMS context.parts
#else
#define SUMS RESULT
#endif

#define ACROSS FLOW_JOIN(KERNEL, _ACROSS)
#define TILE_VECTORS FLOW_JOIN(KERNEL, _TILE_VECTORS)
#define WIDTH FLOW_JOIN(KERNEL, _WIDTH)
#define ALL_WIDE FLOW_JOIN(KERNEL, _ALL_WIDE)
#define PARTIAL FLOW_JOIN(KERNEL, _PARTIAL)
#define TILE_MOST FLOW_JOIN(KERNEL, _TILE_MOST)
#define RUNS FLOW_JOIN(KERNEL, _RUNS)
#define PERIOD FLOW_JOIN(KERNEL, _PERIOD)
#define PIECES FLOW_JOIN(KERNEL, _PIECES)
#define HIGH FLOW_JOIN(KERNEL, _HIGH)
#define LAST FLOW_JOIN(KERNEL, _LAST)
#define LOW FLOW_JOIN(KERNEL, _LOW)
#define SIDES FLOW_JOIN(KERNEL, _SIDES)
#define TAPS_MOST FLOW_JOIN(KERNEL, _TAPS_MOST)
#define SPLITS FLOW_JOIN(KERNEL, _SPLITS)
#define NEAREST FLOW_JOIN(KERNEL, _NEAREST)
#define DEPTH_APART FLOW_JOIN(KERNEL, _DEPTH_APART)
#define PART_LEAST FLOW_JOIN(KERNEL, _PART_LEAST)
#define PART_RUNS FLOW_JOIN(KERNEL, _PART_RUNS)
#define ONE_PART FLOW_JOIN(KERNEL, _ONE_PART)
#define MANY_RUNS FLOW_JOIN(KERNEL, _MANY_RUNS)
#define PART FLOW_JOIN(KERNEL, _PART)
#define WAITING FLOW_JOIN(KERNEL, _WAITING)
#define FEW FLOW_JOIN(KERNEL, _FEW)
#define FINISH_ROWS FLOW_JOIN(KERNEL, _FINISH_ROWS)
#define FAR_RESULTS FLOW_JOIN(KERNEL, _FAR_RESULTS)
#define FAR_ROWS FLOW_JOIN(KERNEL, _FAR_ROWS)
#define FAR_DEPTHS FLOW_JOIN(KERNEL, _FAR_DEPTHS)
#define LINE FLOW_JOIN(KERNEL, _LINE)
#define COPIES_B FLOW_JOIN(KERNEL, _COPIES_B)
#define REGISTERS FLOW_JOIN(KERNEL, _REGISTERS)
/* Numbers, not macros of macros, whose text would take long to read. */
enum {
    /* The tile of sums. */
    ACROSS = FLOW_ACROSS(MOST_COLUMNS, LANES),
    TILE_VECTORS = FLOW_WINDOW_VECTORS(ACROSS),
    WIDTH = TILE_VECTORS * LANES,
    ALL_WIDE = ((MOST_COLUMNS - 1) / WIDTH + 1) * WIDTH,
    PARTIAL = MOST_COLUMNS % WIDTH != 0 || (BY_COLUMNS && FLOW_COLUMN_BLOCK % WIDTH != 0),
    TILE_MOST = FLOW_WINDOW_MOST(FLOW_SUMS, TILE_VECTORS),
    RUNS = FLOW_WINDOW_RUNS(A_ROW_RUN, A_ROW_RUNS, TILE_MOST),
    PERIOD = RUNS * (A_ROW_RUN),
    PIECES = FLOW_WINDOW_PIECES(A_ROW_RUN, TILE_MOST),
    HIGH = FLOW_WINDOW_ROWS(A_ROW_RUN, RUNS, TILE_MOST),
    LAST = RUNS > 1 ? PERIOD : (A_ROW_RUN) - (PIECES - 1) * HIGH,
    LOW = FLOW_LEAST(TILE_MOST, TILE_VECTORS == 1 ? 8 : 4),
    REGISTERS = FLOW_OF_VECTORS(32, 16, 16, 32),
    TAPS_MOST = 5,
    /* Is a tile a line, of windows of few places? */
    SIDES = A_SIDE > 0 && RUNS == 1 && HIGH == (A_ROW_RUN) && A_SIDE_TAPS <= TAPS_MOST,
    /* Are all rows one tile, which two threads split after 16? */
    SPLITS = RUNS > 1 && PERIOD > 16 && MOST_ROWS == PERIOD,
    /* The depth is taken in parts of whole runs, of which a panel of b, or what a tile reads of
     * both where depths lie apart in a, about fits the nearest cache. So many sums at most wait for
     * the next part. */
    NEAREST = 32768 / sizeof(ELEMENT),
    DEPTH_APART = (A_DEPTH) < 0 ? -(A_DEPTH) : (A_DEPTH),
    PART_LEAST = NEAREST / (A_DEPTH == 1 ? WIDTH : DEPTH_APART + MOST_COLUMNS),
    PART_RUNS = PART_LEAST < (A_DEPTH_RUN) ? 1 : (PART_LEAST + (A_DEPTH_RUN) / 2) / (A_DEPTH_RUN),
    ONE_PART = MOST_DEPTH <= PART_RUNS * (int64_t)(A_DEPTH_RUN),
    PART = ONE_PART ? (int64_t)(MOST_DEPTH) : PART_RUNS * (int64_t)(A_DEPTH_RUN),
    WAITING = 65536,
    /* Is a run found by a table of the part's? The operations that find few are not many. */
    MANY_RUNS = !ONE_PART && PART_RUNS > 4,
    /* Results are made of so many rows at a time, at most: of several tiles where those are small,
     * as FINISH takes a while to begin. The sums lie in an eighth of the nearest cache
     * meanwhile. */
    FEW = 4096 / sizeof(ELEMENT),
    FINISH_ROWS = TILE_MOST * ALL_WIDE < FEW ? FEW / ALL_WIDE : TILE_MOST,
    /* Are results asked for before a tile, which is deep enough, since the second cache does not
     * hold them? */
    FAR_RESULTS =
        !STORES && MOST_DEPTH > 64 &&
        MOST_ROWS > 2 * FLOW_BLOCK / (int)sizeof(ELEMENT) / FLOW_LEAST(MOST_COLUMNS, 65536),
    /* Are rows of a asked for two tiles ahead, since the second cache does not hold a, and few
     * products are made of each? */
    FAR_ROWS = TILE_VECTORS == 1 && A_DEPTH == 1 && RUNS == 1 && (A_ROW) > 0 &&
               MOST_ROWS > 2 * FLOW_BLOCK / (int)sizeof(ELEMENT) / ((A_ROW) > 0 ? (A_ROW) : 1),
    /* Are operands asked for a part ahead, where depths lie apart in a? All tiles of a part then
     * use them before the next one's. */
    FAR_DEPTHS = !ONE_PART && A_DEPTH != 1 && A_ROW == 1,
    LINE = 64 / sizeof(ELEMENT), /* elements of a line of the caches */
    /* Panels that are not whole are copied where a part of a vector can't be loaded. */
    COPIES_B = PARTIAL && !FLOW_MASKS
};

/* Do registers hold two depths of so many rows? */
#define PAIRS(rows) (((rows) + 2) * TILE_VECTORS + 1 <= REGISTERS)

typedef struct FLOW_JOIN(KERNEL, _work) {
    const CONTEXT *context;
    const ELEMENT *a, *b; /* of the slice */
    int64_t slice, start; /* the first row of those that are worked on */
    int64_t column, columns;
    int64_t first, last; /* of the depth, what is added up */
    int64_t k, end;      /* of the part */
    int64_t ask, asks;   /* FAR_DEPTHS: what of each run of depths a tile asks for, and its end */
    int64_t *runs_at;    /* what each run of depths of the part adds to where a row of a begins */
    ELEMENT *right, *waiting;
} FLOW_JOIN(KERNEL, _work);

/* The depths from *first to *end of the part that `rows` rows from `row` on, a tile, see more than
 * padding of. */
FLOW_TILE void FLOW_JOIN(KERNEL, _inside)(WORK, int64_t row, int64_t rows, int64_t *first,
                                          int64_t *end) {
    const int64_t by_row = A_INSIDE_BY_ROW, by_depth = A_INSIDE_BY_DEPTH;
    const int64_t line = row / A_INSIDE_LINE % A_INSIDE_LINES,
                  more = (row % A_INSIDE_LINE + rows - 1) / A_INSIDE_LINE;
    *first = work->k, *end = work->end;
    if (!A_INSIDE || line + more >= A_INSIDE_LINES) return; /* not known, or of several images */
    const int64_t before = A_INSIDE_FIRST - (line + more) * by_row;
    const int64_t last = A_INSIDE_FIRST + A_INSIDE - 1 - line * by_row;
    const int64_t least = before > 0 ? (before - 1) / by_depth + 1 : 0;
    const int64_t most = last >= 0 ? last / by_depth + 1 : 0;
    if (*first < least * (A_DEPTH_RUN)) *first = least * (A_DEPTH_RUN);
    *end = flow_smaller(*end, most * (A_DEPTH_RUN));
}

/* Adds the products of one depth or two to the tile y. Two of a row come one after the other: rows
 * may be so far apart that they lie in the same bank of the nearest cache, which gives one of them
 * at a time. */
FLOW_TILE void FLOW_JOIN(KERNEL, _add)(const ELEMENT *restrict left, const int64_t *row_at,
                                       const ELEMENT *restrict b, int64_t b_depth, int64_t columns,
                                       const int skip, const int rows, const int in_run,
                                       const int depths, VECTOR y[TILE_MOST][TILE_VECTORS]) {
    VECTOR right[2][TILE_VECTORS];
    /* or gcc carries values from turn to turn in more registers than there are */
    __asm__("" : "+r"(left));
#pragma GCC unroll 2
    for (int i = 0; i < depths; i++)
#pragma GCC unroll 4
        for (int v = 0; v < TILE_VECTORS; v++) {
            const ELEMENT *from = b + i * b_depth + v * LANES;
            VECTOR factor = !PARTIAL || COPIES_B
                                ? *(const VECTOR *)from
                                : FLOW_JOIN(KERNEL, _load)(from, columns - v * LANES);
            FLOW_IN_REGISTER(factor);
            right[i][v] = factor;
        }
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 2
        for (int i = 0; i < depths; i++) {
            const int64_t at =
                in_run ? row_at[m] * (A_ROW) : (A_ROW_AT(skip + m)) - (A_ROW_AT(skip));
            const VECTOR value = left[at + i * (A_DEPTH)] - (VECTOR){0};
#pragma GCC unroll 4
            for (int v = 0; v < TILE_VECTORS; v++)
                y[m][v] = FLOW_JOIN(KERNEL, _add_product)(y[m][v], value, right[i][v]);
            FLOW_STAYS(value);
        }
#pragma GCC unroll 2
    for (int i = 0; i < depths; i++)
#pragma GCC unroll 4
        for (int v = 0; v < TILE_VECTORS; v++) FLOW_STAYS(right[i][v]);
}

/* Adds the products of a run of depths to the tile of a line, at place `tap` of the windows: to the
 * rows alone that see more than padding there. */
FLOW_TILE void FLOW_JOIN(KERNEL, _add_tap)(const ELEMENT *left, const int64_t *row_at,
                                           const ELEMENT *b, int64_t b_depth, int64_t columns,
                                           const int tap, VECTOR y[TILE_MOST][TILE_VECTORS]) {
    const int before = (A_SIDE_FIRST)-tap, behind = before + (A_SIDE), by_row = A_SIDE_BY_ROW;
    const int first = before > 0 ? (before - 1) / by_row + 1 : 0;
    const int end = behind > 0 ? FLOW_LEAST(((behind - 1) / by_row + 1), HIGH) : 0;
    const int rows = end > first ? end - first : 0;
    const int64_t run = (A_DEPTH_RUN) / (A_SIDE_TAPS);
    if (tap >= (A_SIDE_TAPS) || !rows) return;
    left += tap * run, b += tap * run * b_depth;
    const int64_t together = PAIRS(rows) ? run / 2 * 2 : 0;
    for (int64_t i = 0; i < together; i += 2, left += 2, b += 2 * b_depth) FLOW_JOIN(KERNEL, _add)
    (left, row_at + first, b, b_depth, columns, 0, rows, 1, 2, y + first);
    for (int64_t i = together; i < run; i++, left++, b += b_depth) FLOW_JOIN(KERNEL, _add)
    (left, row_at + first, b, b_depth, columns, 0, rows, 1, 1, y + first);
}

/* Of the run of depths a part behind k, the tile's share: what the windows see last of a, and b. */
FLOW_TILE void FLOW_JOIN(KERNEL, _ask_depths)(WORK, int64_t k) {
    WITH_SIZES;
    const ELEMENT *left = work->a + (A_DEPTH_AT(k + PART)) + (A_ROW_AT((ROWS)-1));
    const ELEMENT *right = work->b + (k + PART) * (B_DEPTH) + work->column;
    for (int64_t i = work->ask; i < work->asks; i++) {
        for (int at = 0; at < DEPTH_APART; at += LINE)
            __builtin_prefetch(left + i * (A_DEPTH)-at, 0, 2);
        for (int at = 0; at < MOST_COLUMNS; at += LINE)
            __builtin_prefetch(right + i * (B_DEPTH) + at, 0, 2);
    }
}

/* A tile of `rows` rows; in_run: of one run; else the first is the one at `skip` of a period. a is
 * at its first row; columns: that are left; first, end: the depths that count. Rows past the last,
 * if that is less than all, are the last once more. line: the tile is a line of the image
 * (SIDES). */
FLOW_TILE void FLOW_JOIN(KERNEL, _tile)(WORK, const ELEMENT *restrict a, const ELEMENT *restrict b,
                                        ELEMENT *restrict sums, int64_t stride, int64_t columns,
                                        int64_t first, int64_t end, const int skip, const int rows,
                                        const int last, const int in_run, const int line) {
    WITH_SIZES;
    const int64_t b_depth = COPIES_B ? ALL_WIDE : (B_DEPTH);
    /* A number that gcc does not know: where it does, it may leave it out and round either of the
     * first two products of a sum, in each copy of this another one. volatile: each tile makes its
     * own, which else would keep a register all the time. */
    int64_t nothing = 0;
    __asm__ volatile("" : "+r"(nothing));
    const VECTOR zero = (VECTOR){0} + (ELEMENT)nothing;
    int64_t row_at[TILE_MOST];
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++) row_at[m] = flow_smaller(m, last);
    VECTOR y[TILE_MOST][TILE_VECTORS];
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int v = 0; v < TILE_VECTORS; v++) {
            const ELEMENT *from = sums + row_at[m] * stride + v * LANES;
            if (work->k == work->first) y[m][v] = zero;
            else if (!STORES || !PARTIAL) y[m][v] = *(const VECTOR *)from;
            else y[m][v] = FLOW_JOIN(KERNEL, _load)(from, columns - v * LANES);
        }
    /* depths of a run that are added two at a time */
    const int64_t together = A_DEPTH == 1 && A_ROW != 1 && PAIRS(rows) ? (A_DEPTH_RUN) / 2 * 2 : 0;
    b += (first - work->k) * b_depth;
    const int64_t *run_at = work->runs_at + (first - work->k) / (A_DEPTH_RUN);
    for (int64_t k = first; k < end; k += (A_DEPTH_RUN)) {
        /* first, or gcc keeps `left` in memory from here on, even in the loops */
        if (FAR_DEPTHS) FLOW_JOIN(KERNEL, _ask_depths)(work, k);
        const ELEMENT *left = a + (MANY_RUNS ? *run_at++ : (A_DEPTH_AT(k)));
        if (line) {
            /* As many as TAPS_MOST: calls and no loop, so that the rows of each are a number. */
            _Static_assert(TAPS_MOST == 5, "a call for each");
            FLOW_JOIN(KERNEL, _add_tap)(left, row_at, b, b_depth, columns, 0, y);
            FLOW_JOIN(KERNEL, _add_tap)(left, row_at, b, b_depth, columns, 1, y);
            FLOW_JOIN(KERNEL, _add_tap)(left, row_at, b, b_depth, columns, 2, y);
            FLOW_JOIN(KERNEL, _add_tap)(left, row_at, b, b_depth, columns, 3, y);
            FLOW_JOIN(KERNEL, _add_tap)(left, row_at, b, b_depth, columns, 4, y);
            b += (A_DEPTH_RUN)*b_depth;
            continue;
        }
        for (int64_t i = 0; i < together; i += 2, left += 2 * (A_DEPTH), b += 2 * b_depth)
            FLOW_JOIN(KERNEL, _add)(left, row_at, b, b_depth, columns, skip, rows, in_run, 2, y);
        for (int64_t i = together; i < (A_DEPTH_RUN); i++, left += (A_DEPTH), b += b_depth)
            FLOW_JOIN(KERNEL, _add)(left, row_at, b, b_depth, columns, skip, rows, in_run, 1, y);
    }
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int v = 0; v < TILE_VECTORS; v++) {
            ELEMENT *to = sums + row_at[m] * stride + v * LANES;
            if (!STORES || !PARTIAL) *(VECTOR *)to = y[m][v];
            else FLOW_JOIN(KERNEL, _store)(to, y[m][v], columns - v * LANES);
        }
}

/* How high the tile at that row is, of the rows that are left. */
FLOW_TILE int FLOW_JOIN(KERNEL, _height)(int64_t row, int64_t left) {
    const int64_t in_run = flow_smaller(left, (A_ROW_RUN)-row % (A_ROW_RUN));
    if (RUNS > 1 && row % PERIOD == 0 && left >= PERIOD) return PERIOD;
    if (SPLITS && row == 0 && left >= 16) return 16;
    if (SPLITS && row == 16 && left == PERIOD - 16) return PERIOD - 16;
    if (RUNS == 1 && in_run >= HIGH) return HIGH;
    if (RUNS == 1 && in_run == LAST) return LAST;
    return (int)flow_smaller(in_run, LOW);
}

FLOW_TILE void FLOW_JOIN(KERNEL, _any_tile)(WORK, int64_t row, const ELEMENT *b, ELEMENT *sums,
                                            int64_t stride, int64_t columns, int height) {
    WITH_SIZES;
    const ELEMENT *a = work->a + (A_ROW_AT(row));
    int64_t first, end;
    FLOW_JOIN(KERNEL, _inside)(work, row, height, &first, &end);
#define TILE_OF(condition, skip, rows, in_run, line)                                         \
    if ((rows) <= TILE_MOST && height == (rows) && (condition)) {                            \
        const int high = (rows) <= TILE_MOST ? (rows) : 1;                                   \
        FLOW_JOIN(KERNEL, _tile)                                                             \
        (work, a, b, sums, stride, columns, first, end, skip, high, high - 1, in_run, line); \
        return;                                                                              \
    }
    TILE_OF(1, 0, HIGH, RUNS == 1, SIDES)
    TILE_OF(SPLITS, 0, 16, 0, 0)
    TILE_OF(SPLITS && row == 16, 16, SPLITS ? PERIOD - 16 : 1, 0, 0)
    TILE_OF(RUNS == 1 && LAST != HIGH && LAST > LOW, 0, LAST, 1, 0)
    FLOW_JOIN(KERNEL, _tile)
    (work, a, b, sums, stride, columns, first, end, 0, LOW, height - 1, 1, 0);
#undef TILE_OF
}

/* Of the tile after the next, what the windows see last: the others saw the rest. */
FLOW_TILE void FLOW_JOIN(KERNEL, _ask_rows)(WORK, int64_t row, int64_t height) {
    WITH_SIZES;
    if (row + 3 * height > (ROWS)) return;
    const ELEMENT *next = work->a + (A_ROW_AT(row + 2 * height)) + (A_DEPTH_AT(work->end - 1));
    for (int64_t i = 0; i < height * (A_ROW); i += LINE) __builtin_prefetch(next + i);
}

/* Where sums of the row wait: for the next part with all others, or for results only. */
FLOW_TILE ELEMENT *FLOW_JOIN(KERNEL, _waiting_at)(WORK, int64_t row, int64_t unfinished) {
    return work->waiting + (row - (ONE_PART ? unfinished : work->start)) * ALL_WIDE;
}

/* Rows [work->start, end) of one part of the depth. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _part)(FLOW_JOIN(KERNEL, _work) *restrict work,
                                                      int64_t end) {
    WITH_SIZES;
    const CONTEXT context = *work->context;
    const int64_t stride = STORES ? (COLUMNS) : ALL_WIDE;
    const int64_t columns = BY_COLUMNS ? work->columns : (COLUMNS);
    const int64_t tiles = ((end - work->start - 1) / HIGH + 1) * ((columns - 1) / WIDTH + 1);
    int64_t tile = 0, unfinished = work->start; /* the first row without results */
    for (int64_t row = work->start, height; row < end; row += height) {
        height = FLOW_JOIN(KERNEL, _height)(row, end - row);
        if (FAR_ROWS) FLOW_JOIN(KERNEL, _ask_rows)(work, row, height);
        for (int64_t i = 0; FAR_RESULTS && work->end == work->last && i < height; i++)
            for (int64_t n = 0; n < columns; n += LANES)
                ASK((work->slice * (ROWS) + row + i) * (COLUMNS) + work->column + n);
        ELEMENT *sums =
            STORES ? (ELEMENT *)SUMS + (work->slice * (ROWS) + row) * (COLUMNS) + work->column
                   : FLOW_JOIN(KERNEL, _waiting_at)(work, row, unfinished);
        for (int64_t n = 0; n < columns; n += WIDTH) {
            if (FAR_DEPTHS) {
                work->ask = flow_smaller(tile * (A_DEPTH_RUN) / tiles, A_DEPTH_RUN);
                work->asks = flow_smaller(++tile * (A_DEPTH_RUN) / tiles, A_DEPTH_RUN);
                if (work->end == work->last) work->asks = work->ask;
            }
            FLOW_JOIN(KERNEL, _any_tile)
            (work, row,
             COPIES_B ? work->right + n : work->b + work->k * (B_DEPTH) + work->column + n,
             sums + n, stride, flow_smaller(columns - n, WIDTH), (int)height);
        }
        const int64_t rows = row + height - unfinished;
        const int is_full = row + height == end || rows + TILE_MOST > FINISH_ROWS;
        if (!STORES && work->end == work->last && is_full) {
            FINISH(&context, FLOW_JOIN(KERNEL, _waiting_at)(work, unfinished, unfinished), stride,
                   work->slice * (ROWS) + unfinished, work->column, rows, columns);
            unfinished += rows;
        }
    }
}

/* The part of b, columns past the last as zero. */
static inline void FLOW_JOIN(KERNEL, _copy_b)(WORK) {
    const ELEMENT *from = work->b + work->k * (B_DEPTH) + work->column;
    for (int64_t k = 0; k < work->end - work->k; k++)
        for (int64_t n = 0; n < ALL_WIDE; n++)
            work->right[k * ALL_WIDE + n] = n < work->columns ? from[k * (B_DEPTH) + n] : 0;
}

static FLOW_WIDE void FLOW_JOIN(KERNEL, _slice)(const CONTEXT *restrict context, int64_t slice,
                                                int64_t row, int64_t rows, int64_t first,
                                                int64_t last) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    _Alignas(64) ELEMENT right[COPIES_B ? PART * ALL_WIDE : 1],
        waiting[STORES     ? 1
                : ONE_PART ? FINISH_ROWS * ALL_WIDE
                           : WAITING];
    int64_t runs_at[MANY_RUNS ? PART_RUNS : 1];
    FLOW_JOIN(KERNEL, _work)
    work = {.context = context,
            .a = (const ELEMENT *)context->a + (PARTS > 1 ? 0 : (A_OUTER(slice))),
            .b = (const ELEMENT *)context->b + (PARTS > 1 ? 0 : (B_OUTER(slice))),
            .slice = slice,
            .first = PARTS > 1 ? flow_smaller(slice * (PART_DEPTH), DEPTH) : 0,
            .last = PARTS > 1 ? flow_smaller((slice + 1) * (PART_DEPTH), DEPTH) : (DEPTH),
            .column = first,
            .columns = last - first,
            .runs_at = runs_at,
            .right = right,
            .waiting = waiting};
    const int64_t high = ONE_PART ? rows : WAITING / ALL_WIDE;
    for (work.start = row; work.start < row + rows; work.start += high) {
        work.k = work.first;
        do {
            work.end = flow_smaller(work.k + PART, work.last);
            if (COPIES_B) FLOW_JOIN(KERNEL, _copy_b)(&work);
            for (int64_t k = work.k, i = 0; MANY_RUNS && k < work.end; k += (A_DEPTH_RUN))
                runs_at[i++] = A_DEPTH_AT(k);
            FLOW_JOIN(KERNEL, _part)(&work, flow_smaller(work.start + high, row + rows));
            work.k = work.end;
        } while (work.k < work.last);
    }
}

#undef ACROSS
#undef TILE_VECTORS
#undef WIDTH
#undef ALL_WIDE
#undef PARTIAL
#undef TILE_MOST
#undef RUNS
#undef PERIOD
#undef PIECES
#undef HIGH
#undef LAST
#undef REGISTERS
#undef PAIRS
#undef LOW
#undef SIDES
#undef TAPS_MOST
#undef SPLITS
#undef ONE_PART
#undef NEAREST
#undef DEPTH_APART
#undef PART_LEAST
#undef PART_RUNS
#undef MANY_RUNS
#undef PART
#undef WAITING
#undef FEW
#undef FINISH_ROWS
#undef COPIES_B
#undef FAR_RESULTS
#undef FAR_ROWS
#undef FAR_DEPTHS
#undef LINE
#undef STORES
#undef SUMS
#if PARTS > 1
#define PART_ROWS (ROWS)
#define PART_BLOCK FLOW_SHARE_BLOCK
#include "parts.h"
#else
#include "split.h"
#endif
