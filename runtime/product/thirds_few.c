/* Few rows by thirds: one group, or two. Sums of a panel are added up over the tiles in depth of a
 * chunk, while tiles of b are made that are wanted two steps later: one in each step of one group,
 * half of it in each step of two. So each tile of b is made once, and never leaves the nearest
 * cache. */
#include "runtime/product/thirds_work.h"

#ifdef FLOW_HAS_THIRDS

enum { LOOKAHEAD = 2 }; /* tiles of b that are ready before the one that is used */

/* Of one group a chunk has NEAR tiles in depth, each used once while the one after the next is
 * made; of two groups half as many, all in use until those of the next chunk are made. */
_Static_assert((int)RING > LOOKAHEAD && (int)RING >= NEAR / 2 + LOOKAHEAD, "no place in the ring");

static int64_t near_of(const Work *work) {
    return work->rows > WIDTH ? NEAR / 2 : NEAR;
}

/* Tiles of b in the order in which they are wanted: chunk by chunk, panel by panel. */
typedef struct Stream {
    int64_t k, tiles; /* the chunk, in tiles in depth */
    int64_t column;   /* the panel's first of the block */
    int64_t at;       /* in the chunk */
    int64_t number;   /* of all, by which it has its place */
} Stream;

static void start_chunk(const Work *work, Stream *stream, int64_t k) {
    stream->k = k, stream->column = stream->at = 0;
    stream->tiles = smaller(work->tiles - k, near_of(work));
}

static void go_on(const Work *work, Stream *stream) {
    stream->number++;
    if (++stream->at < stream->tiles) return;
    stream->at = 0;
    stream->column += WIDTH;
    if (stream->column >= work->columns) start_chunk(work, stream, stream->k + stream->tiles);
}

static Thirds *place_in_ring(const Work *work, int64_t number) {
    return work->right + number % RING * 2;
}

static void set_tile(const Work *work, const Stream *stream, Packing *packing) {
    const int64_t first = work->column + stream->column;
    flow_thirds_set(work, true, first, smaller(first + WIDTH, work->column + work->columns),
                    (stream->k + stream->at) * FLOW_DEPTH, 1, place_in_ring(work, stream->number),
                    NULL, packing);
}

static void set_rows(Work *work, int64_t group, int64_t k, Packing *rows) {
    const int64_t first = work->row + group * WIDTH;
    flow_thirds_set(work, false, first, smaller(first + WIDTH, work->row + work->rows),
                    k * FLOW_DEPTH, smaller(work->tiles - k, near_of(work)), work->left[group],
                    &work->whole[group], rows);
}

/* Two tiles of adjacent columns, whose lines are made one by one between products; `to` NULL: there
 * are none. */
typedef struct Beside {
    Packing packing;
    const float *low, *high; /* of the next line */
    int64_t next;            /* from line to line */
    Thirds *to;
    VECTOR doubt; /* put_line */
} Beside;

/* Those of the stream. If they have to be made otherwise, or alone, it is done at once. */
static void begin_beside(Work *work, Stream *stream, bool alone, Beside *beside) {
    beside->to = NULL;
    if (stream->k >= work->tiles) return;
    Packing *packing = &beside->packing;
    set_tile(work, stream, packing);
    go_on(work, stream);
    if (alone || packing->turned || packing->sides < WIDTH || packing->depths < FLOW_DEPTH) {
        flow_thirds_make_all(work, packing);
        return;
    }
    beside->low = packing->from;
    beside->high = packing->from + FLOW_SIDE * packing->by_depth;
    beside->next = packing->by_depth;
    beside->to = packing->to;
    beside->doubt = (VECTOR){0};
}

static void end_beside(Work *work, const Beside *beside) {
    if (beside->to && !thirds_is_finite(beside->doubt))
        flow_thirds_make_all(work, &beside->packing);
}

FLOW_TILE void make_beside(Beside *beside, const int first, const int last) {
#pragma GCC unroll 16
    for (int i = first; i < last; i++, beside->low += beside->next, beside->high += beside->next)
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++)
            beside->doubt = put_line(*(const VECTOR *)(beside->low + half * FLOW_SIDE),
                                     *(const VECTOR *)(beside->high + half * FLOW_SIDE),
                                     beside->to + half, i, beside->doubt);
}

/* The products of a step, with lines [first, last) made between them. */
FLOW_TILE void multiply_beside(const Thirds *a, const Thirds *b, Beside *of, const int from,
                               const bool below, const int first, const int last) {
    const int turns = PRODUCTS - from;
    Beside beside = *of;
#pragma GCC unroll 6
    for (int i = 0; i < turns; i++) {
        multiply_thirds(a, b, from + i, from, below, true);
        make_beside(&beside, first + (last - first) * i / turns,
                    first + (last - first) * (i + 1) / turns);
    }
    of->low = beside.low, of->high = beside.high, of->doubt = beside.doubt;
}

FLOW_TILE void multiply_alone(const Thirds *a, const Thirds *b, const int from, const bool below,
                              const bool right) {
#pragma GCC unroll 6
    for (int i = from; i < PRODUCTS; i++) multiply_thirds(a, b, i, from, below, right);
}

/* One step of a group, of so many. */
FLOW_TILE void take_step_from(const Thirds *a, const Thirds *b, Beside *beside, const int from,
                              int64_t group, int64_t groups, bool below, bool right) {
    enum { ALL = FLOW_SIDE, SOME = FLOW_SIDE / 2 };
    if (beside->to) {
        if (groups == 1 && below) multiply_beside(a, b, beside, from, true, 0, ALL);
        else if (groups == 1) multiply_beside(a, b, beside, from, false, 0, ALL);
        else if (!group) multiply_beside(a, b, beside, from, true, 0, SOME);
        else if (below) multiply_beside(a, b, beside, from, true, SOME, ALL);
        else multiply_beside(a, b, beside, from, false, SOME, ALL);
        return;
    }
    if (below && right) multiply_alone(a, b, from, true, true);
    else if (below) multiply_alone(a, b, from, true, false);
    else if (right) multiply_alone(a, b, from, false, true);
    else multiply_alone(a, b, from, false, false);
}

static FLOW_WIDE void take_step(const Thirds *a, const Thirds *b, Beside *beside, bool whole,
                                int64_t group, int64_t groups, bool below, bool right) {
    if (whole) take_step_from(a, b, beside, OF_WHOLE, group, groups, below, right);
    else take_step_from(a, b, beside, 0, group, groups, below, right);
}

/* The panel of the stream. */
static void add_few_panel(Work *work, const Stream *stream, Stream *made, float *sums,
                          int64_t stride) {
    const int64_t groups = parts_of(work->rows, WIDTH);
    const bool right = work->columns - stream->column > FLOW_SIDE;
    Beside beside[NEAR];
    for (int64_t group = 0; group < groups; group++) {
        const bool below = work->rows - group * WIDTH > FLOW_SIDE;
        float *to = sums + group * WIDTH * stride + stream->column;
        begin_sums(to, stride, stream->k, below, right);
        for (int64_t at = 0; at < stream->tiles; at++) {
            if (!group) begin_beside(work, made, !right, &beside[at]);
            take_step(work->left[group] + 2 * at, place_in_ring(work, stream->number + at),
                      &beside[at], work->whole[group], group, groups, below, right);
            if (group + 1 == groups) end_beside(work, &beside[at]);
        }
        end_sums(to, stride, below, right);
    }
}

/* All rows of the block. */
void flow_thirds_few(Work *work) {
    const FlowProduct *product = work->product;
    const int64_t groups = parts_of(work->rows, WIDTH);
    const bool fits = product->sums && work->rows % WIDTH == 0 && work->columns % WIDTH == 0;
    float *sums = fits ? product->sums + work->row * product->columns + work->column : work->sums;
    const int64_t stride = fits ? product->columns : work->wide;
    Stream stream = {0}, made = {0};
    Beside made_at_once;
    work->depth = product->depth;
    work->tiles = parts_of(work->depth, FLOW_DEPTH);
    start_chunk(work, &stream, 0);
    start_chunk(work, &made, 0);
    for (int i = 0; i < LOOKAHEAD; i++) begin_beside(work, &made, true, &made_at_once);
    while (stream.k < work->tiles) {
        for (int64_t group = 0; !stream.column && group < groups; group++) {
            Packing rows;
            set_rows(work, group, stream.k, &rows);
            flow_thirds_make_all(work, &rows);
        }
        add_few_panel(work, &stream, &made, sums, stride);
        for (int64_t tiles = stream.tiles; tiles; tiles--) go_on(work, &stream);
    }
    const Finishing all = {sums, stride, work->row, work->rows, work->column, work->columns};
    if (!fits) flow_thirds_finish(work, &all);
}

#endif
