/* Product by thirds.
 *
 * Of each 32 depths number i and number i + 16 are a pair: so whole vectors become lines of tiles,
 * with no shuffle but where an operand has to be turned. A block of columns of b, in thirds, stays
 * in the second cache while the rows go by in groups of two tiles. For a few tiles in depth at a
 * time a group's are kept in the nearest cache, and all panels of b go by; sums go on in memory.
 * A sum depends on nothing but its row, its column and the depth, whatever the blocks. */
#include "runtime/product/thirds.h"

#ifdef FLOW_HAS_THIRDS

#include "runtime/product/matrix.h"
#include "runtime/product/place.h"

#include <stdbool.h>

#define KERNEL thirds
#define ELEMENT float
#include "runtime/product/lanes.h"

enum {
    WIDTH = FLOW_THIRDS_SIDE, /* rows of a group, columns of a panel: two tiles */
    NEAR = 4,              /* tiles in depth at a time: a group's take half of the nearest cache */
    ONE_PART = 16,         /* tiles in depth of a product that is not cut into parts, */
    MOST_PART = 8,         /* and of the parts of others */
    MANY_GROUPS = 12,      /* of rows whose sums wait for the next part */
    ROWS_AHEAD = 4,        /* of b, while it is packed */
    SCRATCH = 1152 * 1024, /* bytes of a block of b, and of sums that wait */
};

#include "runtime/product/turn.h"

typedef struct Thirds {
    FlowTile of[3];
} Thirds;

/* How much is worked on at a time: depths of a part, columns, rows; bytes of those columns of b. */
typedef struct Blocks {
    int64_t part, wide, high, right;
} Blocks;

typedef struct Work {
    const FlowProduct *product; /* whose operands are those of one slice */
    int64_t named;              /* what its first row is called */
    int64_t row, rows;
    int64_t column, columns; /* of the block */
    int64_t wide;            /* the most of them */
    int64_t k, depth;        /* of the part */
    int64_t tiles;           /* the part's, in depth */
    bool across;             /* adjacent rows of a are adjacent in memory, and not its depths */
    int64_t depth_at[ONE_PART * FLOW_DEPTH]; /* where those of the part lie */
    Thirds *left, *right;
    float *sums; /* a row every `wide` */
} Work;

/* Of numbers, the bits that a third has; of what is not finite none. */
FLOW_TILE FlowPairs bits_to_keep(VECTOR of) {
    return (FlowPairs)(((FlowPairs)of & 0x7f800000u) != 0x7f800000u) & 0xffff0000u;
}

/* Line i of the thirds of a tile: the elements of `low` are the low halves of its pairs. Those that
 * are not finite are their own last thirds, which meet only the largest of the other operand. */
FLOW_TILE void put_line(VECTOR low, VECTOR high, Thirds *tile, int i) {
    const FlowPairs keep_low = bits_to_keep(low), keep_high = bits_to_keep(high);
#pragma GCC unroll 2
    for (int third = 0; third < 2; third++) {
        const FlowPairs a = (FlowPairs)low & keep_low, b = (FlowPairs)high & keep_high;
        tile->of[third].lines[i] = a >> 16 | b;
        low -= (VECTOR)a, high -= (VECTOR)b;
    }
    tile->of[2].lines[i] = (FlowPairs)low >> 16 | ((FlowPairs)high & 0xffff0000u);
}

static FLOW_WIDE void put_lines(const VECTOR *low, const VECTOR *high, Thirds *tile) {
#pragma GCC unroll 16
    for (int i = 0; i < FLOW_SIDE; i++) put_line(low[i], high[i], tile, i);
}

/* Lines that are lanes of the tile's. */
static FLOW_WIDE void put_turned(VECTOR *low, VECTOR *high, Thirds *tile) {
    thirds_turn_lanes(low);
    thirds_turn_lanes(high);
    put_lines(low, high, tile);
}

/* Lines at places, with elements at places; those that are not there are 0. */
static FLOW_WIDE void load_lines(const float *from, const int64_t *line, int64_t lines,
                                 const int64_t *at, int64_t count, VECTOR *to) {
    bool adjacent = true;
    for (int64_t i = 1; i < count; i++) adjacent &= at[i] == at[0] + i;
    for (int n = 0; n < FLOW_SIDE; n++) {
        to[n] = (VECTOR){0};
        if (n >= lines || count <= 0) continue;
        if (adjacent) to[n] = thirds_load(from + line[n] + at[0], count);
        else
            for (int64_t i = 0; i < count && i < LANES; i++) to[n][i] = from[line[n] + at[i]];
    }
}

/* A tile of a, of up to 16 rows at places and the depths from number k of the part on. */
static void pack_left_tile(const Work *work, const int64_t *row, int64_t rows, int64_t k,
                           Thirds *tile) {
    const float *a = work->product->a;
    const int64_t *at = work->depth_at + k, *later = at + FLOW_SIDE;
    const int64_t first = smaller(work->depth - k, FLOW_SIDE);
    const int64_t second = smaller(work->depth - k - FLOW_SIDE, FLOW_SIDE);
    VECTOR low[FLOW_SIDE], high[FLOW_SIDE];
    if (work->across) {
        load_lines(a, at, first, row, rows, low);
        load_lines(a, later, second, row, rows, high);
        put_turned(low, high, tile);
    } else {
        load_lines(a, row, rows, at, first, low);
        load_lines(a, row, rows, later, second, high);
        put_lines(low, high, tile);
    }
}

/* Rows whose depths are adjacent: row by row, which the processor then brings by itself. */
static FLOW_WIDE void pack_rows(const Work *work, int64_t first, int64_t rows) {
    const int64_t whole = work->depth / FLOW_DEPTH, a_row = work->product->a_row;
    const float *row = work->product->a + first * a_row + work->k;
    for (int64_t m = 0; m < WIDTH; m++, row += a_row) {
        Thirds *tile = work->left + m / FLOW_SIDE;
        const float *from = row;
        const int line = (int)(m % FLOW_SIDE);
        int64_t k = 0;
        if (m >= rows && m % FLOW_SIDE == 0) break;
        for (; m < rows && k < whole; k++, from += FLOW_DEPTH, tile += 2)
            put_line(*(const VECTOR *)from, *(const VECTOR *)(from + FLOW_SIDE), tile, line);
        for (; k < work->tiles; k++, tile += 2) {
            const int64_t left = m < rows ? work->depth - k * FLOW_DEPTH : 0;
            put_line(thirds_load(from, left), thirds_load(from + FLOW_SIDE, left - FLOW_SIDE), tile,
                     line);
        }
    }
}

/* A group of rows, all depths of the part. */
static void pack_left(const Work *work, int64_t first, int64_t rows) {
    const FlowProduct *product = work->product;
    if (!product->in_runs && product->a_depth == 1) {
        pack_rows(work, first, rows);
        return;
    }
    for (int64_t m = 0; m < rows; m += FLOW_SIDE) {
        const int64_t count = smaller(rows - m, FLOW_SIDE);
        int64_t row[FLOW_SIDE];
        for (int64_t i = 0; i < count; i++) row[i] = row_at(product, first + m + i);
        for (int64_t k = 0; k < work->tiles; k++)
            pack_left_tile(work, row, count, k * FLOW_DEPTH, work->left + 2 * k + m / FLOW_SIDE);
    }
}

/* Where the tile of b lies that begins with a column of the block. */
static Thirds *right_of(const Work *work, int64_t column, int64_t k) {
    return work->right + (column / WIDTH * work->tiles + k) * 2 + column % WIDTH / FLOW_SIDE;
}

/* Depths of b that are rows of adjacent columns: row by row, so that what is read is adjacent. */
static FLOW_WIDE void pack_rows_of_b(const Work *work) {
    const FlowProduct *product = work->product;
    const int64_t next = product->b_depth, columns = work->columns;
    for (int64_t k = 0; k < work->tiles; k++)
        for (int i = 0; i < FLOW_SIDE; i++) {
            const int64_t left = work->depth - k * FLOW_DEPTH - i;
            const float *row = product->b + (work->k + k * FLOW_DEPTH + i) * next + work->column;
            const float *other = row + FLOW_SIDE * next;
            const int64_t in_row = left > 0 ? columns : 0,
                          in_other = left > FLOW_SIDE ? columns : 0;
            for (int64_t n = 0; n < columns; n += FLOW_SIDE) {
                __builtin_prefetch(row + ROWS_AHEAD * next + n, 0, 2);
                __builtin_prefetch(other + ROWS_AHEAD * next + n, 0, 2);
                put_line(thirds_load(row + n, in_row - n), thirds_load(other + n, in_other - n),
                         right_of(work, n, k), i);
            }
        }
}

/* Columns of b anyhow; those whose depths are adjacent are read so. */
static void pack_columns_of_b(const Work *work) {
    const FlowProduct *product = work->product;
    for (int64_t n = 0; n < work->columns; n += FLOW_SIDE)
        for (int64_t k = 0; k < work->tiles; k++) {
            const int64_t columns = smaller(work->columns - n, FLOW_SIDE);
            const int64_t depths = work->depth - k * FLOW_DEPTH;
            int64_t column[FLOW_SIDE], at[FLOW_DEPTH];
            VECTOR low[FLOW_SIDE], high[FLOW_SIDE];
            for (int i = 0; i < FLOW_SIDE; i++)
                column[i] = (work->column + n + i) * product->b_column;
            for (int i = 0; i < FLOW_DEPTH; i++)
                at[i] = (work->k + k * FLOW_DEPTH + i) * product->b_depth;
            load_lines(product->b, column, columns, at, smaller(depths, FLOW_SIDE), low);
            load_lines(product->b, column, columns, at + FLOW_SIDE,
                       smaller(depths - FLOW_SIDE, FLOW_SIDE), high);
            put_turned(low, high, right_of(work, n, k));
        }
}

/* The six products of thirds: of two rows of tiles by two columns, where there are as many. */

static const int64_t line_bytes = sizeof(FlowPairs);

FLOW_TILE void load_left(const Thirds *a, int third, const bool below) {
    FLOW_LOAD_TILE(4, &a[0].of[third], line_bytes);
    if (below) FLOW_LOAD_TILE(5, &a[1].of[third], line_bytes);
}

FLOW_TILE void load_right(const Thirds *b, int third, const bool right) {
    FLOW_LOAD_TILE(6, &b[0].of[third], line_bytes);
    if (right) FLOW_LOAD_TILE(7, &b[1].of[third], line_bytes);
}

FLOW_TILE void multiply(const bool below, const bool right) {
    FLOW_MULTIPLY_TILES(0, 4, 6);
    if (right) FLOW_MULTIPLY_TILES(1, 4, 7);
    if (below) FLOW_MULTIPLY_TILES(2, 5, 6);
    if (below && right) FLOW_MULTIPLY_TILES(3, 5, 7);
}

FLOW_TILE void multiply_thirds(const Thirds *a, const Thirds *b, const bool below,
                               const bool right) {
    load_left(a, 2, below);
    load_right(b, 0, right);
    multiply(below, right);
    load_left(a, 1, below);
    multiply(below, right);
    load_right(b, 1, right);
    multiply(below, right);
    load_left(a, 0, below);
    multiply(below, right);
    load_right(b, 2, right);
    multiply(below, right);
    load_right(b, 0, right);
    multiply(below, right);
}

/* Sums of so many tiles in depth; `more`: added to those that are there. */
FLOW_TILE void multiply_four(const Thirds *a, const Thirds *b, int64_t depth, float *sums,
                             int64_t stride, bool more, const bool below, const bool right) {
    const int64_t row = stride * (int64_t)sizeof(float);
    float *sums_below = sums + FLOW_SIDE * stride;
    if (more) {
        FLOW_LOAD_TILE(0, sums, row);
        if (right) FLOW_LOAD_TILE(1, sums + FLOW_SIDE, row);
        if (below) FLOW_LOAD_TILE(2, sums_below, row);
        if (below && right) FLOW_LOAD_TILE(3, sums_below + FLOW_SIDE, row);
    } else {
        FLOW_ZERO_TILE(0);
        FLOW_ZERO_TILE(1);
        FLOW_ZERO_TILE(2);
        FLOW_ZERO_TILE(3);
    }
    for (int64_t k = 0; k < depth; k++) multiply_thirds(a + 2 * k, b + 2 * k, below, right);
    FLOW_STORE_TILE(0, sums, row);
    if (right) FLOW_STORE_TILE(1, sums + FLOW_SIDE, row);
    if (below) FLOW_STORE_TILE(2, sums_below, row);
    if (below && right) FLOW_STORE_TILE(3, sums_below + FLOW_SIDE, row);
}

/* A group of rows by the panels of the block, for a few tiles in depth. */
static void multiply_near(const Work *work, int64_t k, int64_t columns, float *sums, int64_t stride,
                          const bool below) {
    const int64_t depth = smaller(work->tiles - k, NEAR);
    const bool more = work->k + k;
    for (int64_t n = 0; n < columns; n += WIDTH) {
        const Thirds *a = work->left + 2 * k, *b = right_of(work, n, k);
        if (columns - n > FLOW_SIDE)
            multiply_four(a, b, depth, sums + n, stride, more, below, true);
        else multiply_four(a, b, depth, sums + n, stride, more, below, false);
    }
}

static void multiply_group(const Work *work, int64_t rows, int64_t columns, float *sums,
                           int64_t stride) {
    for (int64_t k = 0; k < work->tiles; k += NEAR)
        if (rows > FLOW_SIDE) multiply_near(work, k, columns, sums, stride, true);
        else multiply_near(work, k, columns, sums, stride, false);
}

/* Sums become results. */
static FLOW_WIDE void finish(const Work *work, const float *sums, int64_t row, int64_t rows,
                             int64_t columns) {
    const FlowProduct *product = work->product;
    if (product->finish) {
        product->finish(product->context, sums, work->wide, work->named + row, work->column, rows,
                        columns);
        return;
    }
    float *to = product->sums + row * product->columns + work->column;
    for (int64_t m = 0; m < rows; m++, to += product->columns, sums += work->wide)
        for (int64_t n = 0; n < columns; n += LANES)
            thirds_store(to + n, *(const VECTOR *)(sums + n), columns - n);
}

/* Rows [start, end) of one part of the depth. Whole tiles of a single part that nobody goes on with
 * are added up where they are wanted. */
static void add_part(const Work *work, int64_t start, int64_t end) {
    const FlowProduct *product = work->product;
    const bool last = work->k + work->depth == product->depth;
    const bool fits = product->sums && last && !work->k && work->columns % WIDTH == 0;
    for (int64_t m = start; m < end; m += WIDTH) {
        const int64_t row = work->row + m, rows = smaller(end - m, WIDTH);
        float *sums = work->sums + (m - start) * work->wide;
        pack_left(work, row, rows);
        if (fits && rows == WIDTH) {
            multiply_group(work, rows, work->columns,
                           product->sums + row * product->columns + work->column, product->columns);
            continue;
        }
        multiply_group(work, rows, work->columns, sums, work->wide);
        if (last) finish(work, sums, row, rows, work->columns);
    }
}

static void find_depths(Work *work) {
    for (int64_t k = 0; k < work->depth; k++)
        work->depth_at[k] = depth_at(work->product, work->k + k);
}

/* All rows of a block of columns. */
static void add_columns(Work *work, const Blocks *blocks) {
    const int64_t depth = work->product->depth;
    for (int64_t start = 0; start < work->rows; start += blocks->high)
        for (work->k = 0; work->k < depth; work->k += blocks->part) {
            work->depth = smaller(depth - work->k, blocks->part);
            work->tiles = parts_of(work->depth, FLOW_DEPTH);
            if (!start || blocks->part < depth) {
                find_depths(work);
                (work->product->b_column == 1 ? pack_rows_of_b : pack_columns_of_b)(work);
            }
            add_part(work, start, smaller(start + blocks->high, work->rows));
        }
}

/* A column takes its share of tiles of b, and sums: of a group of rows, or of several. */
static Blocks choose_blocks(int64_t depth, int64_t columns) {
    const int64_t tiles = parts_of(depth, FLOW_DEPTH), size = sizeof(float);
    const bool one_part = tiles <= ONE_PART;
    const int64_t part = one_part ? tiles : parts_of(tiles, parts_of(tiles, MOST_PART));
    const int64_t of_b = part * (int64_t)sizeof(Thirds) / FLOW_SIDE;
    const int64_t waits = WIDTH * size * (one_part ? 1 : MANY_GROUPS);
    const int64_t most = SCRATCH / (of_b + waits) / WIDTH * WIDTH;
    const int64_t share = parts_of(columns, parts_of(columns, most));
    const int64_t wide = parts_of(share, WIDTH) * WIDTH;
    const int64_t room = (SCRATCH - wide * of_b) / (wide * size) / WIDTH * WIDTH;
    return (Blocks){part * FLOW_DEPTH, wide, one_part ? WIDTH : room, wide * of_b};
}

FLOW_WIDE void flow_multiply_thirds(const FlowProduct *all, int64_t slice, int64_t row,
                                    int64_t rows, int64_t first, int64_t last) {
    Thirds left[2 * ONE_PART];
    _Alignas(64) char scratch[SCRATCH];
    const FlowProduct product = product_of_slice(all, slice);
    const Blocks blocks = choose_blocks(product.depth, last - first);
    Work work = {.product = &product,
                 .named = slice * product.rows,
                 .row = row,
                 .rows = rows,
                 .wide = blocks.wide,
                 .across = product.a_depth != 1 && product.a_row == 1,
                 .left = left,
                 .right = (Thirds *)scratch,
                 .sums = (float *)(scratch + blocks.right)};
    flow_matrix_begin();
    for (work.column = first; work.column < last; work.column += blocks.wide) {
        work.columns = smaller(last - work.column, blocks.wide);
        add_columns(&work, &blocks);
    }
    flow_matrix_end();
}

#endif
