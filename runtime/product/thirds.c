/* Product by thirds.
 *
 * Of each 32 depths number i and number i + 16 are a pair: so whole vectors become lines of tiles,
 * with no shuffle but where an operand has to be turned. A block of columns of b, in thirds, stays
 * in the second cache while the rows go by in groups of two tiles. For a few tiles in depth at a
 * time, a chunk, a group's are kept in the nearest cache, and all panels of b go by; sums go on in
 * memory. While tiles are multiplied, vectors do the chores: the next chunk, and the results of the
 * group before. What has few rows is thirds_few.c's.
 * A sum depends on nothing but its row, its column and the depth, whatever the blocks. */
#include "runtime/product/thirds_work.h"

#ifdef FLOW_HAS_THIRDS

enum {
    MOST_PART = 8,         /* of the parts of a product that is cut into some */
    MANY_GROUPS = 12,      /* of rows whose sums wait for the next part */
    SCRATCH = 1152 * 1024, /* bytes of tiles of b, and of sums that wait */
};

/* How much is worked on at a time: depths of a part, columns, rows; bytes of those columns of b. */
typedef struct Blocks {
    int64_t part, wide, high, right;
} Blocks;

/* Chores: those that were noted are done in so many turns. */
static void begin_chores(Work *work, int64_t turns) {
    Chores *chores = &work->chores;
    chores->units = chores->packing.units + flow_thirds_pieces(&chores->finishing);
    chores->turns = turns;
    chores->credit = chores->done = 0;
}

static __attribute__((noinline)) void do_chore(Work *work) {
    Chores *chores = &work->chores;
    const int64_t unit = chores->done++, made = chores->packing.units;
    if (unit < made) flow_thirds_make(work, &chores->packing, unit);
    else flow_thirds_finish_piece(work, &chores->finishing, unit - made);
}

FLOW_TILE void take_turn(Work *work) {
    Chores *chores = &work->chores;
    for (chores->credit += chores->units; chores->credit >= chores->turns;
         chores->credit -= chores->turns)
        do_chore(work);
}

static void end_chores(Work *work) {
    work->chores.packing.units = work->chores.finishing.rows = 0;
}

/* Of tiles in depth, with chores between their products. */
FLOW_TILE void multiply_with_chores(Work *work, const Thirds *a, const Thirds *b, int64_t depth,
                                    const int first, const bool below, const bool right) {
    for (int64_t k = 0; k < depth; k++, a += 2, b += 2)
#pragma GCC unroll 6
        for (int i = first; i < PRODUCTS; i++) {
            multiply_thirds(a, b, i, first, below, right);
            take_turn(work);
        }
}

FLOW_TILE void multiply_from(Work *work, const Thirds *a, const Thirds *b, int64_t depth,
                             const int first, bool below, bool right) {
    if (below && right) multiply_with_chores(work, a, b, depth, first, true, true);
    else if (below) multiply_with_chores(work, a, b, depth, first, true, false);
    else if (right) multiply_with_chores(work, a, b, depth, first, false, true);
    else multiply_with_chores(work, a, b, depth, first, false, false);
}

/* Sums of so many tiles in depth; `more`: added to those that are there. */
static void multiply_panel(Work *work, const Thirds *a, const Thirds *b, int64_t depth, float *sums,
                           int64_t stride, bool more, bool whole, bool below, bool right) {
    begin_sums(sums, stride, more, below, right);
    if (whole) multiply_from(work, a, b, depth, OF_WHOLE, below, right);
    else multiply_from(work, a, b, depth, 0, below, right);
    end_sums(sums, stride, below, right);
}

static void set_chunk(Work *work, int64_t row, int64_t end, int64_t k, int place, Packing *chunk) {
    flow_thirds_set(work, false, row, smaller(row + WIDTH, end), k * FLOW_DEPTH,
                    smaller(work->tiles - k, NEAR), work->left[place], &work->whole[place], chunk);
}

/* A group of rows by the panels of the block, over the tiles in depth of a chunk that begins with
 * number k. */
static void multiply_chunk(Work *work, int place, int64_t k, bool below, float *sums,
                           int64_t stride) {
    const int64_t tiles = smaller(work->tiles - k, NEAR), panels = parts_of(work->columns, WIDTH);
    const bool whole = work->whole[place];
    begin_chores(work, panels * tiles * (PRODUCTS - (whole ? OF_WHOLE : 0)));
    for (int64_t n = 0; n < work->columns; n += WIDTH)
        multiply_panel(work, work->left[place], right_of(work, n, k), tiles, sums + n, stride,
                       work->k + k, whole, below, work->columns - n > FLOW_SIDE);
    end_chores(work);
}

/* Rows [start, end) of one part of the depth. Whole tiles of a single part that nobody goes on with
 * are added up where they are wanted; other groups of a single part wait in turn in two places. */
static void add_part(Work *work, int64_t start, int64_t end) {
    const FlowProduct *product = work->product;
    const bool last = work->k + work->depth == product->depth, only = last && !work->k;
    const bool fits = product->sums && only && work->columns % WIDTH == 0;
    Finishing done = {0};
    Packing chunk;
    int place = 0;
    set_chunk(work, start, end, 0, place, &chunk);
    flow_thirds_make_all(work, &chunk);
    for (int64_t m = start; m < end; m += WIDTH) {
        const int64_t rows = smaller(end - m, WIDTH);
        const bool in_place = fits && rows == WIDTH;
        const int64_t wait = only ? (m - start) % (2 * WIDTH) : m - start;
        float *sums = in_place ? product->sums + m * product->columns + work->column
                               : work->sums + wait * work->wide;
        for (int64_t k = 0; k < work->tiles; k += NEAR) {
            const bool goes_on = k + NEAR < work->tiles;
            if (goes_on || m + WIDTH < end)
                set_chunk(work, goes_on ? m : m + WIDTH, end, goes_on ? k + NEAR : 0, !place,
                          &work->chores.packing);
            if (!k) work->chores.finishing = done;
            multiply_chunk(work, place, k, rows > FLOW_SIDE, sums,
                           in_place ? product->columns : work->wide);
            place = !place;
        }
        done = (Finishing){sums,         work->wide,   m, last && !in_place ? rows : 0,
                           work->column, work->columns};
    }
    flow_thirds_finish(work, &done);
}

static void find_depths(Work *work) {
    for (int64_t k = 0; work->product->in_runs && k < work->depth; k++)
        work->depth_at[k] = depth_at(work->product, work->k + k);
}

/* All rows of a block of columns. */
static void add_columns(Work *work, const Blocks *blocks) {
    const int64_t depth = work->product->depth, last = work->row + work->rows;
    for (int64_t start = work->row; start < last; start += blocks->high)
        for (work->k = 0; work->k < depth; work->k += blocks->part) {
            work->depth = smaller(depth - work->k, blocks->part);
            work->tiles = parts_of(work->depth, FLOW_DEPTH);
            if (start == work->row || blocks->part < depth) {
                find_depths(work);
                flow_thirds_make_right(work);
            }
            add_part(work, start, smaller(start + blocks->high, last));
        }
}

/* A column takes its share of tiles of b, and sums: of two groups of rows, or of many. */
static Blocks choose_blocks(int64_t depth, int64_t rows, int64_t columns) {
    const int64_t tiles = parts_of(depth, FLOW_DEPTH), size = sizeof(float);
    const bool one_part = tiles <= ONE_PART;
    const int64_t part = one_part ? tiles : parts_of(tiles, parts_of(tiles, MOST_PART));
    const int64_t of_b = part * (int64_t)sizeof(Thirds) / FLOW_SIDE;
    const int64_t waits = WIDTH * size * (one_part ? 2 : MANY_GROUPS);
    const int64_t most = SCRATCH / (of_b + waits) / WIDTH * WIDTH;
    const int64_t share = parts_of(columns, parts_of(columns, most));
    const int64_t wide = parts_of(share, WIDTH) * WIDTH;
    const int64_t room = (SCRATCH - wide * of_b) / (wide * size) / WIDTH * WIDTH;
    return (Blocks){part * FLOW_DEPTH, wide, one_part ? rows : room, wide * of_b};
}

/* Sums take all of the room but that of the ring. */
static Blocks choose_few(int64_t columns) {
    const int64_t right = RING * 2 * (int64_t)sizeof(Thirds);
    const int64_t each = FEW_GROUPS * WIDTH * (int64_t)sizeof(float);
    const int64_t most = (SCRATCH - right) / each / WIDTH * WIDTH;
    const int64_t share = parts_of(columns, parts_of(columns, most));
    return (Blocks){.wide = parts_of(share, WIDTH) * WIDTH, .right = right};
}

FLOW_WIDE void flow_multiply_thirds(const FlowProduct *all, int64_t slice, int64_t row,
                                    int64_t rows, int64_t first, int64_t last) {
    Thirds left[2][2 * NEAR];
    _Alignas(64) char scratch[SCRATCH];
    const FlowProduct product = product_of_slice(all, slice);
    const bool few = rows <= FEW_GROUPS * WIDTH && !product.in_runs;
    const Blocks blocks =
        few ? choose_few(last - first) : choose_blocks(product.depth, rows, last - first);
    Work work = {.product = &product,
                 .named = slice * product.rows,
                 .row = row,
                 .rows = rows,
                 .wide = blocks.wide,
                 .found = -1,
                 .left = {left[0], left[1]},
                 .right = (Thirds *)scratch,
                 .sums = (float *)(scratch + blocks.right)};
    flow_matrix_begin();
    for (work.column = first; work.column < last; work.column += blocks.wide) {
        work.columns = smaller(last - work.column, blocks.wide);
        if (few) flow_thirds_few(&work);
        else add_columns(&work, &blocks);
    }
    flow_matrix_end();
}

#endif
