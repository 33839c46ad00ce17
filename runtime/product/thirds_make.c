/* Tiles of thirds, made of floats wherever these lie. */
#include "runtime/product/thirds_work.h"

#ifdef FLOW_HAS_THIRDS

enum {
    QUARTERS = 4,                /* of a tile, which are made one by one, */
    EACH = FLOW_SIDE / QUARTERS, /* of so many lines */
    ROWS_AHEAD = 4,              /* of b, while they are made */
};

#include "runtime/product/turn.h"

/* Of numbers, the bits of a first third; of what is not finite none. */
FLOW_TILE FlowPairs bits_to_keep(VECTOR of) {
    return (FlowPairs)(((FlowPairs)of & 0x7f800000u) != 0x7f800000u) & third_bits;
}

/* As put_line where some may not be finite: these are their own last thirds, which meet only the
 * largest of the other operand. */
static FLOW_WIDE __attribute__((noinline, cold)) void put_any_line(VECTOR low, VECTOR high,
                                                                   Thirds *tile, int64_t i) {
    const FlowPairs keep_low = bits_to_keep(low), keep_high = bits_to_keep(high);
    for (int third = 0; third < 2; third++) {
        const FlowPairs a = (FlowPairs)low & keep_low, b = (FlowPairs)high & keep_high;
        tile->of[third].lines[i] = a >> 16 | b;
        low -= (VECTOR)a, high -= (VECTOR)b;
    }
    tile->of[2].lines[i] = (FlowPairs)low >> 16 | ((FlowPairs)high & third_bits);
}

void flow_thirds_set(const Work *work, bool of_b, int64_t first, int64_t last, int64_t k,
                     int64_t tiles, Thirds *to, bool *whole, Packing *restrict packing) {
    const FlowProduct *product = work->product;
    const int64_t by_side = of_b ? product->b_column : product->a_row;
    const int64_t by_depth = of_b ? product->b_depth : product->a_depth;
    const bool depths_lie = by_side == 1 && (of_b || by_depth != 1);
    const int64_t halves = last - first > FLOW_SIDE ? 2 : 1;
    *packing = (Packing){.from = (of_b ? product->b : product->a) + (work->k + k) * by_depth +
                                 first * by_side,
                         .by_side = by_side,
                         .by_depth = by_depth,
                         .sides = last - first,
                         .depths = work->depth - k,
                         .row = first,
                         .k = k,
                         .depths_lie = depths_lie,
                         .turned = depths_lie != of_b,
                         .in_runs = !of_b && product->in_runs,
                         .halves = halves,
                         .units = tiles * halves * QUARTERS,
                         .to = to,
                         .whole = whole};
    if (whole) *whole = true;
}

/* The low or high half of a tile in memory: lines `next` apart of elements `step` apart. Lines from
 * `lines` on and lanes from `lanes` on are 0. */
typedef struct Half {
    const float *from;
    int64_t next, step, lines, lanes;
} Half;

FLOW_TILE Half half_of(const Packing *packing, int64_t tile, int high) {
    const int64_t depth = tile / 2 * FLOW_DEPTH + high * FLOW_SIDE, side = tile % 2 * FLOW_SIDE;
    const int64_t depths = packing->depths - depth, sides = packing->sides - side;
    const float *from = packing->from + depth * packing->by_depth + side * packing->by_side;
    return packing->depths_lie ? (Half){from, packing->by_depth, packing->by_side, depths, sides}
                               : (Half){from, packing->by_side, packing->by_depth, sides, depths};
}

FLOW_TILE bool has_whole_lines(const Half *half) {
    return half->step == 1 && half->lanes >= FLOW_SIDE;
}

FLOW_TILE VECTOR line_of(const Half *half, int64_t i) {
    if (i >= half->lines || half->lanes <= 0) return (VECTOR){0};
    const float *from = half->from + i * half->next;
    if (half->step == 1) return thirds_load(from, half->lanes);
    VECTOR line = {0};
    for (int64_t n = 0; n < half->lanes && n < LANES; n++) line[n] = from[n * half->step];
    return line;
}

static FLOW_WIDE void load_half(const Half *half, VECTOR *to) {
    if (has_whole_lines(half) && half->lines >= FLOW_SIDE)
#pragma GCC unroll 16
        for (int i = 0; i < FLOW_SIDE; i++) to[i] = *(const VECTOR *)(half->from + i * half->next);
    else
        for (int i = 0; i < FLOW_SIDE; i++) to[i] = line_of(half, i);
}

/* The same of rows and depths that are in runs; adjacent elements are read as such. */
static FLOW_WIDE void load_runs(Work *work, const Packing *packing, int64_t tile, int high,
                                VECTOR *to) {
    const FlowProduct *product = work->product;
    const int64_t k = packing->k + tile / 2 * FLOW_DEPTH + high * FLOW_SIDE;
    const int64_t row = packing->row + tile % 2 * FLOW_SIDE;
    const int64_t rows = smaller(packing->row + packing->sides - row, FLOW_SIDE);
    const int64_t depths = smaller(work->depth - k, FLOW_SIDE);
    for (int64_t i = 0; work->found != row && i < rows; i++)
        work->row_at[i] = row_at(product, row + i);
    work->found = row;
    const int64_t *line = packing->depths_lie ? work->depth_at + k : work->row_at;
    const int64_t *at = packing->depths_lie ? work->row_at : work->depth_at + k;
    const int64_t lines = packing->depths_lie ? depths : rows;
    const int64_t lanes = packing->depths_lie ? rows : depths;
    bool adjacent = true;
    for (int64_t n = 1; n < lanes; n++) adjacent &= at[n] == at[0] + n;
    for (int i = 0; i < FLOW_SIDE; i++) {
        to[i] = (VECTOR){0};
        if (i >= lines || lanes <= 0) continue;
        if (adjacent) to[i] = thirds_load(product->a + line[i] + at[0], lanes);
        else
            for (int64_t n = 0; n < lanes; n++) to[i][n] = product->a[line[i] + at[n]];
    }
}

/* Of lines with that doubt (put_line) and all of those bits: have elements more than their first
 * thirds, or other ones? */
FLOW_TILE void note_whole(const Packing *packing, FlowPairs all, VECTOR doubt) {
    uint32_t any = 0;
    for (int i = 0; i < FLOW_SIDE; i++) any |= all[i];
    if (packing->whole && ((any & ~third_bits) || !thirds_is_finite(doubt)))
        *packing->whole = false;
}

/* Some lines of a tile that can be read one by one. */
static FLOW_WIDE void make_lines(const Packing *packing, int64_t tile, int64_t first,
                                 int64_t last) {
    Thirds *to = packing->to + tile;
    const Half low = half_of(packing, tile, 0), high = half_of(packing, tile, 1);
    const float *from = low.from + first * low.next, *other = high.from + first * high.next;
    const bool whole_lines = has_whole_lines(&low) && has_whole_lines(&high);
    const VECTOR none = {0};
    VECTOR doubt = none;
    FlowPairs all = {0};
#pragma GCC unroll 4
    for (int64_t i = first; whole_lines && i < last; i++, from += low.next, other += high.next) {
        const VECTOR a = i < low.lines ? *(const VECTOR *)from : none;
        const VECTOR b = i < high.lines ? *(const VECTOR *)other : none;
        all |= (FlowPairs)a | (FlowPairs)b;
        doubt = put_line(a, b, to, i, doubt);
    }
    for (int64_t i = first; !whole_lines && i < last; i++) {
        const VECTOR a = line_of(&low, i), b = line_of(&high, i);
        all |= (FlowPairs)a | (FlowPairs)b;
        doubt = put_line(a, b, to, i, doubt);
    }
    note_whole(packing, all, doubt);
    for (int64_t i = first; !thirds_is_finite(doubt) && i < last; i++)
        put_any_line(line_of(&low, i), line_of(&high, i), to, i);
}

/* Asks for the same of the next group, which lies behind it, in lines far from each other. */
static void ask_for_next(const Half *half) {
    for (int64_t i = 0; i < FLOW_SIDE; i++)
        __builtin_prefetch(half->from + WIDTH + i * half->next, 0, 2);
}

static FLOW_WIDE void load_lines(const Packing *packing, int64_t tile, int high, VECTOR *to) {
    const Half half = half_of(packing, tile, high);
    load_half(&half, to);
    if (packing->depths_lie) ask_for_next(&half);
}

/* Of another tile first the halves, and then the lines. */
static FLOW_WIDE void make_halves(Work *work, const Packing *packing, int64_t tile, int quarter) {
    if (quarter < 2) {
        VECTOR half[FLOW_SIDE];
        if (packing->in_runs) load_runs(work, packing, tile, quarter, half);
        else load_lines(packing, tile, quarter, half);
        if (packing->turned) thirds_turn_lanes(half);
#pragma GCC unroll 16
        for (int i = 0; i < FLOW_SIDE; i++) work->half[quarter][i] = half[i];
        return;
    }
    Thirds *to = packing->to + tile;
    const int64_t first = (quarter - 2) * 2 * EACH;
    const VECTOR *low = work->half[0] + first, *high = work->half[1] + first;
    VECTOR doubt = {0};
    FlowPairs all = {0};
#pragma GCC unroll 8
    for (int i = 0; i < 2 * EACH; i++) {
        all |= (FlowPairs)low[i] | (FlowPairs)high[i];
        doubt = put_line(low[i], high[i], to, first + i, doubt);
    }
    note_whole(packing, all, doubt);
    for (int i = 0; !thirds_is_finite(doubt) && i < 2 * EACH; i++)
        put_any_line(low[i], high[i], to, first + i);
}

static int64_t tile_of(const Packing *packing, int64_t number) {
    return packing->halves == 2 ? number : 2 * number;
}

void flow_thirds_make(Work *work, const Packing *packing, int64_t unit) {
    const int64_t tile = tile_of(packing, unit / QUARTERS), quarter = unit % QUARTERS;
    if (packing->in_runs || packing->turned) make_halves(work, packing, tile, (int)quarter);
    else make_lines(packing, tile, quarter * EACH, (quarter + 1) * EACH);
}

void flow_thirds_make_all(Work *work, const Packing *packing) {
    const bool by_lines = !packing->in_runs && !packing->turned;
    for (int64_t i = 0; by_lines && i < packing->units / QUARTERS; i++)
        make_lines(packing, tile_of(packing, i), 0, FLOW_SIDE);
    for (int64_t unit = 0; !by_lines && unit < packing->units; unit++)
        flow_thirds_make(work, packing, unit);
}

/* A block of columns of b, panel by panel. */
static void make_panels(Work *work) {
    for (int64_t n = 0; n < work->columns; n += WIDTH) {
        Packing panel;
        flow_thirds_set(work, true, work->column + n,
                        work->column + smaller(n + WIDTH, work->columns), 0, work->tiles,
                        right_of(work, n, 0), NULL, &panel);
        flow_thirds_make_all(work, &panel);
    }
}

/* The same where depths of b are rows of adjacent columns: row by row, so that what is read is
 * adjacent. */
static FLOW_WIDE void make_rows(const Work *work) {
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
                Thirds *to = right_of(work, n, k) + n % WIDTH / FLOW_SIDE;
                const VECTOR low = thirds_load(row + n, in_row - n);
                const VECTOR high = thirds_load(other + n, in_other - n);
                __builtin_prefetch(row + ROWS_AHEAD * next + n, 0, 2);
                __builtin_prefetch(other + ROWS_AHEAD * next + n, 0, 2);
                if (!thirds_is_finite(put_line(low, high, to, i, (VECTOR){0})))
                    put_any_line(low, high, to, i);
            }
        }
}

void flow_thirds_make_right(Work *work) {
    if (work->product->b_column == 1) make_rows(work);
    else make_panels(work);
}

#endif
