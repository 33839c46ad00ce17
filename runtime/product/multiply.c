/* Product by vectors, or by thirds.
 *
 * Each sum is taken in the order of depth, in parts that the most depth and the processor decide,
 * whatever the tiles and threads. A tile of sums is kept in registers. A block of columns of b, as
 * deep as one part, fits half of the second cache (a deep one may take more), and all rows use it
 * before the next one. A panel of it is as wide as a tile, and read where it lies unless that is
 * too scattered for so many rows: then the first tile that reads it copies it by the way, while
 * there is arithmetic to do, if it sees all of it. Rows of a are copied where they are in runs,
 * would fall on the same lines of the nearest cache, or are adjacent: then side by side for each
 * depth, by the way as well where they can be. */
#include "runtime/flow.h"
#include "runtime/product/place.h"
#include "runtime/product/thirds.h"
#include "runtime/product/turned.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define KERNEL product
#define ELEMENT float
#include "runtime/product/lanes.h"

enum {
    TILE_VECTORS = FLOW_PRODUCT_VECTORS,
    TILE_ROWS = FLOW_SUMS / TILE_VECTORS,
    MIDDLE_ROWS = TILE_ROWS / 3 * 2, /* of a tile where fewer are left, */
    LOW_ROWS = 4,                    /* and where still fewer are */
    WIDTH = TILE_VECTORS * LANES,
    ROWS_AHEAD = 4, /* of b, while it is copied */
    ROWS_NEAR = 8,  /* of b, while a tile copies it: rows may fall on the same lines of the cache */
    ROWS_PAY = 1024,                       /* for a copy of b, wherever it lies */
    ABREAST = FLOW_OF_VECTORS(3, 1, 1, 1), /* rows of a that are loaded before their products */
    LINE = 64 / sizeof(float),             /* elements of a line of the caches */
    PAGE = 4096 / sizeof(float),           /* and of the smallest pages of memory */
    SUM_LINES = FLOW_OF_VECTORS(WIDTH / LINE, 0, 0, 0), /* of a row of sums that a tile asks for */
    NEAR = FLOW_OF_VECTORS(3, 2, 2, 2),   /* 3: what a tile asks for comes to the nearest cache */
    NARROW = FLOW_OF_VECTORS(0, 1, 0, 0), /* a panel's row is one line: no tile copies b */
    FAR_RIGHT = 1 << 18,                  /* that has so many elements and comes from memory */
    LARGE_NEAREST = 48 << 10, /* bytes of a nearest cache that holds a panel of 256 depths, and a */
    APART = 3, /* rows of a tile that one pointer serves: it, once and twice their distance on */
    MIDDLE_APART = 2, /* the same of a middle tile */
    /* What is worked on at a time: so much of the depth, a block of b in half of the second cache,
     * a group of rows of a, and sums that wait for the rest of their depth. */
    MOST_PART = 1024,
    BLOCK = FLOW_BLOCK / sizeof(float),
    DEEP = FLOW_OF_VECTORS(512, 1024, 1024, 1024), /* of what is deeper blocks may be larger */
    DEEP_BLOCK = FLOW_OF_VECTORS(3, 4, 2, 2) * BLOCK / 2,
    GROUP = 2 * TILE_ROWS,
    WAITING = FLOW_WAITING / sizeof(float),
};

/* The rows of a product that are worked on, and what of them at the moment. */
typedef struct Work {
    const FlowProduct *product; /* whose operands are those of one slice */
    int64_t named;              /* what its first row is called */
    int64_t row, rows;
    int64_t column, columns;  /* of the block */
    int64_t k, depth;         /* of the part */
    int64_t most, part;       /* the most of any product's depth at a time, and of this one's */
    int64_t wide;             /* the most columns of a block */
    int64_t start;            /* the row whose sums are the first that wait */
    int64_t next_row, next_k; /* of the group of rows that comes next */
    bool packs;               /* a group's first tiles copy its rows of a by the way */
    bool across;              /* adjacent rows of a are adjacent in memory, and not its depths */
    bool copies_a, copies_b, asks_results, asks_rows, asks_pages;
    bool passes_on; /* whole panels of b are copied by the first tiles that read them */
    int64_t left_row, left_depth; /* what the next one adds, where a tile reads a */
    int64_t stride;               /* from row to row of sums */
    float *right, *left, *waiting;
    int64_t *depth_at;
} Work;

/* A tile: where its operands begin, and what it asks for on its way: from `ahead` on a step for
 * each k; after `ahead_depth` of them the next of so many rows. */
typedef struct Place {
    const float *a, *b;
    int64_t a_row, a_depth, b_depth, depth;
    float *sums;
    int64_t stride, columns;
    int64_t sum_lines; /* of each row of sums so many are asked for at the end: see ask_next */
    bool adds;         /* to the sums of the parts before */
    bool exact;        /* nothing is stored past the last column */
    const char *ahead;
    int64_t ahead_step, ahead_row, ahead_rows, ahead_depth;
    float *copy; /* where b is left for the tiles below, or NULL */
    float *pack; /* and adjacent rows of a for those beside */
} Place;

/* Lanes of a panel of b. mask: of those that are columns, if not `whole`, where a part of a vector
 * can be loaded; elsewhere, what is not whole is a copy. */
FLOW_TILE VECTOR load_right(const float *from, const bool whole, int mask) {
#if FLOW_MASKS
    if (!whole) return (VECTOR)FLOW_LOAD_float(from, mask);
#endif
    (void)whole, (void)mask;
    return *(const VECTOR *)from;
}

/* Stores a tile of sums up to row `last`, added to those of the parts before if `adds`. */
FLOW_TILE void store_sums(const Place *tile, VECTOR y[][TILE_VECTORS], const int rows,
                          const int last, const bool whole, const bool adds) {
    const int64_t columns = whole || !tile->exact ? WIDTH : tile->columns, stride = tile->stride;
    float *to = tile->sums;
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++) {
        if (m > last) break;
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) {
            const int64_t lanes = columns - v * LANES;
            if (adds) y[m][v] += product_load(to + v * LANES, lanes);
            product_store(to + v * LANES, y[m][v], lanes);
        }
        to += stride;
        __asm__("" : "+r"(to)); /* or gcc takes a register for each row */
    }
}

/* Asks for rows of b that come, since they may be what other threads have written: near ones, and
 * those of the next panel, which lies beside this one where it is not a copy. */
FLOW_TILE void ask_right(const float *b, int64_t b_depth, const bool copies) {
#pragma GCC unroll 8
    for (int n = 0; n < WIDTH; n += LINE) {
        __builtin_prefetch(b + (copies ? ROWS_NEAR : 16) * b_depth + n);
        if (copies) __builtin_prefetch(b + WIDTH + n, 0, 2);
    }
}

/* How a tile is added up: numbers that are constants where one is compiled. */
typedef struct Form {
    int rows, last;         /* rows past the last, if that is less than all, are it once more */
    int apart;              /* rows of a that one pointer serves */
    int64_t a_row, a_depth; /* what the next one adds, where the tile reads a */
    bool twice;  /* a turn of the loop is two depths: what counts up takes units that multiply */
    bool whole;  /* all columns are wanted */
    bool asks;   /* for what comes: */
    bool copied; /* not for a copy of b, which the processor brings by itself */
    bool copies; /* leaves a copy of b */
    bool packs;  /* and of adjacent rows of a */
} Form;

/* Adds the products of one depth: of a, so far from where its pointers are. */
FLOW_TILE void add_products(const Form form, const float *const *a, int64_t at, const float *b,
                            const int *mask, float *copy, VECTOR y[][TILE_VECTORS]) {
    VECTOR right[TILE_VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; v++) {
        right[v] = load_right(b + v * LANES, form.whole, mask[v]);
        if (form.copies) *(VECTOR *)(copy + v * LANES) = right[v];
    }
#pragma GCC unroll 32
    for (int first = 0; first < form.rows; first += ABREAST) {
        const int rows = form.rows - first < ABREAST ? form.rows - first : ABREAST;
        VECTOR left[ABREAST];
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const int m = first + i;
            left[i] = a[m / form.apart][m % form.apart * form.a_row + at] - (VECTOR){0};
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++)
                y[first + i][v] = product_add_product(y[first + i][v], left[i], right[v]);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) /* or sums change registers between two depths of a turn */
            FLOW_STAYS_IF(at > 0, left[i]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; v++) FLOW_STAYS(right[v]);
}

/* What a tile asks for, turn by turn. */
typedef struct Asking {
    const char *ahead, *row;
    int64_t step;
    int64_t until;       /* this goes on while so many depths are left */
    int64_t rows, lines; /* that come: rows, and lines of each row of sums */
} Asking;

/* How many depths are left when what is asked for now ends. */
FLOW_TILE int64_t end_of_row(const Place *tile, const Form form, const Asking *asking) {
    if (asking->rows > 0) return asking->until - tile->ahead_depth;
    return (asking->lines * form.rows + 1) * (form.twice ? 2 : 1);
}

FLOW_TILE Asking begin_asking(const Place *tile, const Form form) {
    Asking asking = {.ahead = tile->ahead,
                     .row = tile->ahead,
                     .step = (form.twice ? 2 : 1) * tile->ahead_step,
                     .until = tile->depth + 1,
                     .rows = tile->ahead_rows - 1,
                     .lines = tile->sum_lines};
    asking.until = end_of_row(tile, form, &asking);
    return asking;
}

/* Row by row; then the last turns ask for the sums, which the tile changes: a line of one row in
 * each, so that all lines are asked for once. Few can be on their way at a time, and what else is
 * loaded would wait behind them. Elsewhere than on AVX-512 the test would take longer: there it is
 * one row, and what lies behind it. */
FLOW_TILE void ask_next(const Place *tile, const Form form, int64_t left, Asking *asking) {
    /* From memory where b_depth has a register, or gcc has too few. */
    const volatile int64_t *const kept = &asking->until;
    const int64_t until = !SUM_LINES ? 0 : form.copied ? asking->until : *kept;
    if (__builtin_expect(left >= until, 1)) return;
    if (asking->rows > 0) {
        asking->rows--;
        asking->ahead = asking->row += tile->ahead_row;
    } else {
        asking->ahead = (const char *)(tile->sums + (tile->sum_lines - asking->lines) * LINE);
        asking->step = tile->stride * (int64_t)sizeof(float);
        asking->lines--;
    }
    asking->until = end_of_row(tile, form, asking);
}

/* Copies the rows of a tile at one depth; returns where those of the next one go. */
FLOW_TILE float *pack_rows(float *to, const float *rows) {
    __builtin_memcpy(to, rows, sizeof(float[TILE_ROWS]));
    return to + TILE_ROWS;
}

FLOW_TILE void add_up(const Place *tile, const Form form) {
    const int64_t b_depth = form.copied ? WIDTH : tile->b_depth;
    const float *b = tile->b, *a[TILE_ROWS];
    float *copy = tile->copy, *pack = tile->pack;
    int mask[TILE_VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; v++) {
        mask[v] = product_mask(tile->columns - v * LANES);
        __asm__("" : "+r"(mask[v])); /* or gcc makes two loops in one of them */
    }
    VECTOR y[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 32
    for (int m = 0; m < form.rows; m++) {
        if (m % form.apart == 0) a[m / form.apart] = tile->a + smaller(m, form.last) * form.a_row;
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) y[m][v] = (VECTOR){0};
    }
    const int turn = form.twice ? 2 : 1;
    Asking asking = begin_asking(tile, form);
    int64_t left = tile->depth;
    for (; left >= turn; left -= turn) {
        if (form.asks && !form.copies) {
            ask_next(tile, form, left, &asking);
            __builtin_prefetch(asking.ahead, 0, NEAR);
        }
#pragma GCC unroll 2
        for (int k = 0; k < turn; k++) {
            if (form.asks && !form.copied) ask_right(b + k * b_depth, b_depth, form.copies);
            add_products(form, a, k * form.a_depth, b + k * b_depth, mask, copy, y);
            if (form.copies) copy += WIDTH;
            if (form.packs) pack = pack_rows(pack, a[0] + k * form.a_depth);
        }
        b += turn * b_depth, asking.ahead += asking.step;
#pragma GCC unroll 32
        for (int m = 0; m < form.rows; m += form.apart) {
            a[m / form.apart] += turn * form.a_depth;
            /* or gcc makes them one pointer and more distances than there are registers */
            __asm__("" : "+r"(a[m / form.apart]));
        }
    }
    for (; form.twice && left > 0; left--) { /* one at most; with `if` gcc moves sums in the loop */
        add_products(form, a, 0, b, mask, copy, y);
        if (form.packs) pack_rows(pack, a[0]);
    }
    if (tile->adds) store_sums(tile, y, form.rows, form.last, form.whole, true);
    else store_sums(tile, y, form.rows, form.last, form.whole, false);
}

/* What is compiled: each in a function of its own, or gcc moves sums from register to register. */
#define TILE(name, ...)                                                       \
    static FLOW_WIDE __attribute__((noinline)) void name(const Place *tile) { \
        add_up(tile, (Form){__VA_ARGS__});                                    \
    }
#define WHOLE .rows = TILE_ROWS, .last = TILE_ROWS - 1, .whole = true, .asks = true
#define IN_PLACE(each) .apart = (each), .a_row = tile->a_row, .a_depth = tile->a_depth
#define ALONG .apart = APART, .a_row = tile->a_row, .a_depth = 1, .twice = true
#define PACKED .apart = TILE_ROWS, .a_row = 1, .a_depth = TILE_ROWS, .twice = true
#define PACKS .apart = TILE_ROWS, .a_row = 1, .a_depth = tile->a_depth, .twice = true, .packs = true

TILE(full_tile, WHOLE, IN_PLACE(APART))
TILE(full_copying_tile, WHOLE, IN_PLACE(APART), .copies = true)
TILE(along_tile, WHOLE, ALONG)
TILE(along_copied_tile, WHOLE, ALONG, .copied = true)
TILE(along_copying_tile, WHOLE, ALONG, .copies = true)
TILE(packed_tile, WHOLE, PACKED)
TILE(packed_copied_tile, WHOLE, PACKED, .copied = true)
TILE(packed_copying_tile, WHOLE, PACKED, .copies = true)
TILE(packing_tile, WHOLE, PACKS)
TILE(packing_copied_tile, WHOLE, PACKS, .copied = true)
TILE(packing_copying_tile, WHOLE, PACKS, .copies = true)
TILE(part_tile, TILE_ROWS, TILE_ROWS - 1, IN_PLACE(APART))
TILE(middle_tile, MIDDLE_ROWS, MIDDLE_ROWS - 1, IN_PLACE(MIDDLE_APART))

static FLOW_WIDE __attribute__((noinline)) void low_tile(const Place *tile, int height) {
    add_up(tile, (Form){LOW_ROWS, height - 1, IN_PLACE(1)});
}

/* A tile of all columns and as many rows as fit: a where it lies anyhow, with adjacent depths, or
 * packed, or packed by the way; b where it lies, copied, or copied by the way. */
static void add_whole(const Place *tile, bool packed) {
    static void (*const tiles[4][3])(const Place *) = {
        {full_tile, full_tile, full_copying_tile},
        {along_tile, along_copied_tile, along_copying_tile},
        {packed_tile, packed_copied_tile, packed_copying_tile},
        {packing_tile, packing_copied_tile, packing_copying_tile},
    };
    const int a = !packed ? tile->a_depth == 1 : tile->pack ? 3 : 2;
    const int b = tile->copy ? 2 : tile->b_depth == WIDTH;
    tiles[a][b](tile);
}

/* Copies one panel of b, columns past `columns` as zero. */
static FLOW_WIDE void copy_panel(const Work *work, int64_t first, int64_t columns, float *panel) {
    const FlowProduct *product = work->product;
    const int64_t b_depth = product->b_depth, b_column = product->b_column;
    const float *from = product->b + work->k * b_depth + first * b_column;
    if (b_depth == 1) {
        for (int v = 0; v < TILE_VECTORS; v++)
            for (int64_t k = 0; k < work->depth; k += LANES)
                flow_turn_float(from + v * LANES * b_column + k, b_column,
                                smaller(work->depth - k, LANES), columns - v * LANES,
                                panel + k * WIDTH + v * LANES, WIDTH);
        return;
    }
    for (int64_t k = 0; k < work->depth; k++)
        for (int64_t n = 0; n < WIDTH; n++)
            panel[k * WIDTH + n] = n < columns ? from[k * b_depth + n * b_column] : 0;
}

/* Row by row, so that what is read is adjacent, panels of b that are rows of columns but scattered,
 * or not whole. Rows are asked for ahead: the processor goes on with none of them by itself. */
static FLOW_WIDE void copy_rows_of_b(const Work *work, int64_t first) {
    const FlowProduct *product = work->product;
    const int64_t columns = work->columns, part = work->part, depth = work->depth;
    const float *row = product->b + work->k * product->b_depth + work->column;
    float *copy = work->right;
    for (int64_t k = 0; k < depth; k++, row += product->b_depth, copy += WIDTH) {
        int64_t n = first;
        for (int64_t i = n; i < columns; i += LINE)
            __builtin_prefetch(row + ROWS_AHEAD * product->b_depth + i, 0, 2);
        for (; n + WIDTH <= columns; n += WIDTH)
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++)
                *(VECTOR *)(copy + n * part + v * LANES) = *(const VECTOR *)(row + n + v * LANES);
        for (int v = 0; n < columns && v < TILE_VECTORS; v++)
            *(VECTOR *)(copy + n * part + v * LANES) =
                product_load(row + n + v * LANES, columns - n - v * LANES);
    }
}

/* Is the panel at `n` of the block read from a copy? */
static bool is_copied(const Work *work, int64_t n) {
    return work->copies_b || (!FLOW_MASKS && work->columns - n < WIDTH);
}

/* All panels that are read from copies, or those alone that tiles can't copy. */
static void copy_b(const Work *work) {
    int64_t n = work->passes_on ? work->columns / WIDTH * WIDTH : 0;
    while (n < work->columns && !is_copied(work, n)) n += WIDTH;
    if (work->product->b_column == 1) copy_rows_of_b(work, n);
    else
        for (; n < work->columns; n += WIDTH)
            copy_panel(work, work->column + n, smaller(work->columns - n, WIDTH),
                       work->right + n * work->part);
}

/* Where the copy of a row of a group begins. Rows that are copied one after another are an odd
 * number of lines apart, so that they fall on different ones of the nearest cache. */
static float *left_of(const Work *work, int64_t in_group) {
    const int64_t apart = work->most + LINE;
    if (!work->across) return work->left + in_group * apart;
    return work->left + in_group / TILE_ROWS * TILE_ROWS * apart + in_group % TILE_ROWS;
}

/* A group of adjacent rows: depth by depth, as each is a line of the caches or two of its own. */
static void copy_group_across(const Work *work, const float *a) {
    const int64_t apart = left_of(work, TILE_ROWS) - work->left;
    float *to = work->left;
    for (int64_t k = 0; k < work->depth; k++, to += TILE_ROWS)
#pragma GCC unroll 2
        for (int tile = 0; tile < GROUP / TILE_ROWS; tile++)
            __builtin_memcpy(to + tile * apart, a + work->depth_at[k] + tile * TILE_ROWS,
                             sizeof(float[TILE_ROWS]));
}

/* Where rows are adjacent: so they are in the copy of a tile. */
static void copy_across(const Work *work, int64_t first, int64_t rows) {
    const FlowProduct *product = work->product;
    const int64_t depth = work->depth, *at = work->depth_at;
    if (rows == GROUP && first % product->a_row_run + rows <= product->a_row_run) {
        copy_group_across(work, product->a + row_at(product, first));
        return;
    }
    for (int64_t m = 0, run; m < rows; m += run) {
        run = smaller(product->a_row_run - (first + m) % product->a_row_run, rows - m);
        run = smaller(run, TILE_ROWS - m % TILE_ROWS);
        const float *a = product->a + row_at(product, first + m);
        float *to = left_of(work, m);
        for (int64_t k = 0; k < depth; k++, to += TILE_ROWS) {
            const float *from = a + at[k];
            if (run == TILE_ROWS) __builtin_memcpy(to, from, sizeof(float[TILE_ROWS]));
            else
                for (int64_t i = 0; i < run; i++) to[i] = from[i];
        }
    }
}

FLOW_TILE void copy_run(float *to, const float *from, int64_t count) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) *(VECTOR *)(to + i) = *(const VECTOR *)(from + i);
    if (i < count) product_store(to + i, product_load(from + i, count - i), count - i);
}

/* Where they are not: row by row, and run by run of the depth. */
static FLOW_WIDE void copy_along(const Work *work, int64_t first, int64_t rows) {
    const FlowProduct *product = work->product;
    const int64_t step = product->a_depth;
    for (int64_t m = 0; m < rows; m++) {
        const float *row = product->a + row_at(product, first + m);
        float *to = left_of(work, m);
        for (int64_t k = 0, run; k < work->depth; k += run, to += run) {
            const float *from = row + work->depth_at[k];
            run = product->a_depth_run - (work->k + k) % product->a_depth_run;
            run = smaller(run, work->depth - k);
            if (step == 1) copy_run(to, from, run);
            else
                for (int64_t i = 0; i < run; i++) to[i] = from[i * step];
        }
    }
}

/* What each of so many tiles asks for of the rows that come next; sums: turns at its end that are
 * for sums. */
static void choose_steps(const Work *work, int64_t calls, int64_t sums, Place *tile) {
    const FlowProduct *product = work->product;
    tile->ahead_row = product->a_row * (int64_t)sizeof(float);
    tile->ahead_rows = parts_of(GROUP, calls);
    tile->ahead_depth = parts_of(work->depth - 2 * sums, tile->ahead_rows);
    tile->ahead_step = (work->depth + tile->ahead_depth / 2) / tile->ahead_depth;
    tile->ahead_step *= (int64_t)sizeof(float);
}

/* Where tile `call` of `calls` begins to ask. Across it asks for a line of one depth of each turn
 * that the group before had not. */
static void ask_ahead(const Work *work, int64_t call, int64_t calls, Place *tile) {
    const FlowProduct *product = work->product;
    const float *a = product->a + depth_at(product, work->next_k);
    if (work->across) {
        const int64_t turn = work->copies_a ? 2 : 1, from_end = call / turn * LINE;
        const bool asks = from_end < GROUP;
        a += row_at(product, work->next_row) + (asks ? GROUP - 1 - from_end : 0);
        tile->ahead = (const char *)(a + call % turn * product->a_depth);
        tile->ahead_step = asks ? product->a_depth * (int64_t)sizeof(float) : 0;
        tile->ahead_rows = 1;
    } else tile->ahead = (const char *)(a + row_at(product, work->next_row + call * GROUP / calls));
}

/* Asks for the line where the part of each row of a group begins. Rows are a page or more apart:
 * the processor then looks up several pages at a time, where tiles, which ask for the rest on their
 * way, would wait for one after the other. Inlined, since gcc drops a call that only asks. */
FLOW_TILE void ask_pages(const Work *work) {
    const FlowProduct *product = work->product;
    const float *a = product->a + work->next_row * product->a_row + work->next_k * product->a_depth;
    for (int64_t i = 0; i < GROUP; i++, a += product->a_row) __builtin_prefetch(a, 0, 2);
}

/* How many columns of the block are wanted of rows up to this one: those of whole panels. */
static int64_t columns_of(const Work *work, int64_t last) {
    const FlowProduct *product = work->product;
    if (!product->sees) return work->columns;
    const int64_t seen = product->sees(last, product->columns) - work->column;
    return seen > 0 ? smaller((seen + WIDTH - 1) / WIDTH * WIDTH, work->columns) : 0;
}

/* The tiles of `height` rows from row m on; in_group: those of the group before them. */
static FLOW_WIDE void add_tiles(const Work *work, int64_t m, int64_t in_group, int height) {
    const FlowProduct *product = work->product;
    const int64_t row = work->row + m, columns = columns_of(work, row + height - 1);
    const int64_t panels = parts_of(columns, WIDTH), calls = GROUP / TILE_ROWS * panels;
    const bool last = work->k + work->depth == product->depth, plain = product->sums;
    const bool full = height == TILE_ROWS;
    float *sums = plain ? product->sums + row * product->columns + work->column
                        : work->waiting + (m - work->start) * work->stride;
    const float *lies = product->a + row * product->a_row + work->k * product->a_depth;
    float *left = left_of(work, in_group);
    Place tile = {.a_row = work->left_row,
                  .depth = work->depth,
                  .stride = work->stride,
                  .adds = work->k,
                  .exact = plain};
    const bool deep = work->depth >= 4 * SUM_LINES * TILE_ROWS;
    const bool copies = work->passes_on && m == work->start, asks = work->asks_rows && full;
    if (asks) choose_steps(work, calls, plain && deep ? SUM_LINES * TILE_ROWS : 0, &tile);
    for (int64_t n = 0; n < columns; n += WIDTH) {
        const bool whole = work->columns - n >= WIDTH,
                   copied = is_copied(work, n) && !(copies && whole);
        const bool packs = work->packs && !n;
        float *copy = work->right + n * work->part;
        tile.a = work->copies_a && !packs ? left : lies;
        tile.a_depth = packs ? product->a_depth : work->left_depth;
        tile.pack = packs ? left : NULL;
        tile.copy = copies && whole ? copy : NULL;
        tile.b = copied ? copy : product->b + work->k * product->b_depth + work->column + n;
        tile.b_depth = copied ? WIDTH : product->b_depth;
        tile.sums = sums + n;
        tile.sum_lines = plain && deep && full && whole && !tile.copy ? SUM_LINES : 0;
        tile.columns = smaller(columns - n, WIDTH);
        tile.ahead = (const char *)tile.b;
        if (asks) ask_ahead(work, in_group / TILE_ROWS * panels + n / WIDTH, calls, &tile);
        if (work->asks_results && (plain ? !tile.sum_lines : last))
            product->ask(product->context,
                         (work->named + row) * product->columns + work->column + n, height, WIDTH);
        if (height == MIDDLE_ROWS) middle_tile(&tile);
        else if (!full) low_tile(&tile, height);
        else if (!whole) part_tile(&tile);
        else add_whole(&tile, work->copies_a && work->across);
    }
    if (last && product->finish && columns)
        product->finish(product->context, sums, work->stride, work->named + row, work->column,
                        height, columns);
}

/* Of the next tile, where `left` rows are left. Two low ones may have fewer rows than a full and a
 * low one. Copies of rows are laid out for full ones. */
static int64_t height_of(const Work *work, int64_t left) {
    if (!work->copies_a && left > TILE_ROWS && left <= 2 * LOW_ROWS) return LOW_ROWS;
    return left >= TILE_ROWS     ? TILE_ROWS
           : left >= MIDDLE_ROWS ? MIDDLE_ROWS
                                 : smaller(left, LOW_ROWS);
}

/* Which rows come behind the group of row m: the next ones of this part of the depth, those of the
 * next part, or the first ones of what is worked on then. */
static void find_next(Work *work, int64_t m, int64_t end) {
    int64_t row = m + GROUP, k = work->k;
    if (row >= end && k + work->depth < work->product->depth) row = work->start, k += work->depth;
    else if (row >= end) row = end < work->rows ? end : 0, k = 0;
    work->next_row = work->row + row, work->next_k = k;
}

/* Can the first tiles of a group of so many rows copy them? */
static bool packs_rows(const Work *work, int64_t rows) {
    return work->copies_a && work->across && !work->product->in_runs && rows == GROUP &&
           work->columns >= WIDTH;
}

/* Rows [work->start, end) of one part of the depth. */
static void add_part(Work *work, int64_t end) {
    for (int64_t m = work->start, height; m < end; m += height) {
        const int64_t in_group = (m - work->start) % GROUP;
        const int64_t left = smaller(end - m, GROUP - in_group);
        if (!in_group) {
            find_next(work, m, end);
            work->packs = packs_rows(work, smaller(end - m, GROUP));
            if (work->copies_a && !work->packs)
                (work->across ? copy_across : copy_along)(work, work->row + m,
                                                          smaller(end - m, GROUP));
            if (work->asks_pages) ask_pages(work);
        }
        height = height_of(work, left);
        add_tiles(work, m, in_group, (int)height);
    }
}

/* Columns [work->column, work->column + work->columns) of all rows. */
static void add_columns(Work *work) {
    const int64_t depth = work->product->depth, rows = work->rows;
    const bool one_part = work->part >= depth;
    const int64_t high = one_part              ? GROUP
                         : work->product->sums ? rows
                                               : WAITING / work->wide / GROUP * GROUP;
    for (work->start = 0; work->start < rows; work->start += high)
        for (work->k = 0; work->k < depth; work->k += work->part) {
            const bool first = !work->start || !one_part;
            work->depth = smaller(depth - work->k, work->part);
            work->passes_on = first && work->copies_b && work->product->b_column == 1 &&
                              !work->product->sees &&
                              height_of(work, rows - work->start) == TILE_ROWS &&
                              !(NARROW && depth * work->product->columns >= FAR_RIGHT);
            if (first) copy_b(work);
            for (int64_t k = 0; work->copies_a && first && k < work->depth; k++)
                work->depth_at[k] = depth_at(work->product, work->k + k);
            add_part(work, smaller(work->start + high, rows));
        }
}

/* How a is read, and b. */
static void choose_copies(Work *work, int64_t rows) {
    const FlowProduct *product = work->product;
    work->across = product->a_depth != 1 && product->a_row == 1;
    work->copies_a =
        product->in_runs ||
        (product->columns > 2 * WIDTH &&
         (work->across || (TILE_ROWS > 8 && product->a_row * sizeof(float) % 2048 == 0)));
    work->copies_b =
        product->b_column != 1 || rows >= ROWS_PAY ||
        (rows >= FLOW_SCATTERED_ROWS && product->b_depth * sizeof(float) > FLOW_SCATTERED);
    const bool across = work->copies_a && work->across, along = work->copies_a && !across;
    work->left_row = across ? 1 : along ? left_of(work, 1) - work->left : product->a_row;
    work->left_depth = across ? TILE_ROWS : along ? 1 : product->a_depth;
}

/* Are results asked for before a tile that does not ask for them on its way, since they are more
 * than the second cache holds beside b? And is a so large that its rows are asked for ahead?
 * Are they so far apart that before that their pages are? */
static void choose_asking(Work *work) {
    const FlowProduct *product = work->product;
    work->asks_results =
        product->ask && product->most_rows > 2 * BLOCK / smaller(product->columns, 65536);
    work->asks_rows = product->most_rows > 131072 / 4 / smaller(product->most_depth, 65536);
    work->asks_pages = work->asks_rows && !product->in_runs && product->a_row >= PAGE;
}

#if FLOW_MASKS && defined _SC_LEVEL1_DCACHE_SIZE && defined _SC_LEVEL2_CACHE_SIZE
/* Has a core's cache, of that name of sysconf, so many bytes? Asked for once: that may take a
 * virtual machine microseconds. */
static bool has_cache(int name, int64_t least, _Atomic int64_t *known) {
    int64_t size = *known;
    if (!size) *known = size = sysconf(name) | 1;
    return size >= least;
}

static bool is_nearest_large(void) {
    static _Atomic int64_t known;
    return has_cache(_SC_LEVEL1_DCACHE_SIZE, LARGE_NEAREST, &known);
}

static bool is_second_large(void) {
    static _Atomic int64_t known;
    return has_cache(_SC_LEVEL2_CACHE_SIZE, 4 * FLOW_BLOCK, &known);
}
#else
static bool is_nearest_large(void) {
    return false;
}

static bool is_second_large(void) {
    return false;
}
#endif

/* Elements of a block. One that is read where it lies, not beside its copy, may be twice as large
 * where that is half of the second cache. A deep one is DEEP_BLOCK: else it would be so narrow that
 * rows of a come too often. */
static int64_t block_of(const Work *work, int64_t columns) {
    if (!work->copies_b && columns > BLOCK / work->most && is_second_large()) return 2 * BLOCK;
    return work->product->most_depth > DEEP ? DEEP_BLOCK : BLOCK;
}

/* How wide blocks are, and how far apart rows of sums lie. */
static void choose_block(Work *work, int64_t columns) {
    const FlowProduct *product = work->product;
    const int64_t block = block_of(work, columns);
    const int64_t most = smaller(block / work->part, 512) / WIDTH * WIDTH;
    const int64_t all = parts_of(columns, WIDTH) * WIDTH;
    const bool one_block = all <= block / work->most;
    const int64_t blocks = one_block ? 1 : parts_of(columns, most);
    work->wide = ((columns - 1) / blocks / WIDTH + 1) * WIDTH;
    work->stride = product->sums ? product->columns : work->wide;
}

/* The most of its depth at a time. A tile's rows of a should leave the nearest cache room; but of
 * each part more, sums that wait for the rest are stored and loaded. On AVX and AVX-512 deep blocks
 * are larger (DEEP_BLOCK). On AVX-512 parts of the deep ones are less where the nearest cache is
 * large, so that a panel of b may stay in it, too: on Zen 5 that is faster, on Zen 4, which has a
 * smaller one, it is not. */
static int64_t most_depth_of(const FlowProduct *product) {
    const int64_t depth = product->most_depth;
    if (product->sums && depth <= DEEP) return 512;
    if (product->sums) return is_nearest_large() ? 256 : FLOW_OF_VECTORS(384, 512, 256, 256);
    if (depth <= 1536) return MOST_PART;
    return is_nearest_large() ? 384 : MOST_PART / 2;
}

/* By itself, or a call would have its arrays on the stack beside those of thirds. */
static FLOW_WIDE __attribute__((noinline)) void multiply_by_vectors(const FlowProduct *all,
                                                                    int64_t slice, int64_t row,
                                                                    int64_t rows, int64_t first,
                                                                    int64_t last) {
    _Alignas(64) float right[DEEP_BLOCK], left[GROUP * (MOST_PART + LINE)], waiting[WAITING];
    int64_t depths[MOST_PART];
    const FlowProduct one = product_of_slice(all, slice), *product = &one;
    const int64_t most = most_depth_of(product), parts = parts_of(product->depth, most);
    Work work = {.product = product,
                 .named = slice * product->rows,
                 .row = row,
                 .rows = rows,
                 .most = most,
                 .part = parts_of(product->depth, parts),
                 .right = right,
                 .left = left,
                 .waiting = waiting,
                 .depth_at = depths};
    choose_copies(&work, rows);
    choose_asking(&work);
    choose_block(&work, last - first);
    for (work.column = first; work.column < last; work.column += work.wide) {
        work.columns = smaller(last - work.column, work.wide);
        add_columns(&work);
    }
}

void flow_read_product(FlowProduct *product, const int64_t *operands, int64_t batch) {
    char *numbers = (char *)product + offsetof(FlowProduct, outer);
    for (size_t i = 0; i < FLOW_PRODUCT_NUMBERS; i++) {
        const int64_t number = flow_size(operands[i], batch);
        memcpy(numbers + i * sizeof number, &number, sizeof number);
    }
}

void flow_multiply(const FlowProduct *product, int64_t slice, int64_t row, int64_t rows,
                   int64_t first, int64_t last) {
#ifdef FLOW_HAS_THIRDS
    if (product->thirds && flow_fills_tiles(product->rows)) {
        flow_multiply_thirds(product, slice, row, rows, first, last);
        return;
    }
#endif
    multiply_by_vectors(product, slice, row, rows, first, last);
}
