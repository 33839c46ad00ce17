/* matmul_zeros.h: of matmul.c, behind its types: which depths a tile adds up. With LEAVES_ZEROS it
 * leaves out those at which all its rows of a are zero: what they add are zeros, so that sums have
 * the same bits but for the sign of a zero, if b is finite. The others are listed once for all
 * panels of a tile, and for the tiles of a group at a time: a tile that waited for its list would
 * leave the units that multiply idle meanwhile. */
#if LEAVES_ZEROS /* which is of floats alone */
typedef int32_t FLOW_JOIN(KERNEL, _lanes) __attribute__((vector_size(FLOW_VECTOR)));

/* Lists at `to` those of `lanes` depths from k on whose bit is set; where the next ones go. */
FLOW_TILE uint16_t *FLOW_JOIN(KERNEL, _list)(uint16_t *to, int64_t k, const int lanes,
                                             uint32_t bits) {
    (void)lanes;
#ifdef FLOW_LIST_LANES
    for (int done = 0; done < lanes; done += FLOW_LIST_LANES) {
        const uint32_t some = FLOW_LIST_LANES < lanes ? bits >> done & 0xffff : bits;
        flow_list(to, (int32_t)k + done, some);
        to += __builtin_popcount(some);
    }
#else
    for (; bits; bits &= bits - 1) *to++ = (uint16_t)(k + __builtin_ctz(bits));
#endif
    return to;
}

/* Where depths are adjacent: at which of a vector of them one of the rows is not zero. */
FLOW_TILE uint32_t FLOW_JOIN(KERNEL, _look_along)(const ELEMENT *a, int64_t apart, const int height,
                                                  const int whole, int64_t lanes) {
    FLOW_JOIN(KERNEL, _lanes) any = {0};
#pragma GCC unroll 16
    for (int m = 0; m < height; m++)
        any |= (FLOW_JOIN(KERNEL, _lanes))FLOW_JOIN(KERNEL, _get)(a + m * apart, whole, lanes);
    return FLOW_JOIN(KERNEL, _not_zero)((VECTOR)any);
}

FLOW_TILE uint16_t *FLOW_JOIN(KERNEL, _list_along)(WORK, int64_t row, const int height,
                                                   uint16_t *to) {
    WITH_SIZES;
    (void)row;
    const ELEMENT *a = (const ELEMENT *)work->a + (A_ROW_AT(row)) + (A_DEPTH_AT(work->k));
    const int64_t depth = work->depth;
    int64_t k = 0;
    for (; k + LANES <= depth; k += LANES)
        to = FLOW_JOIN(KERNEL, _list)(
            to, k, LANES, FLOW_JOIN(KERNEL, _look_along)(a + k, A_ROW, height, 1, LANES));
    return k == depth ? to
                      : FLOW_JOIN(KERNEL, _list)(
                            to, k, LANES,
                            FLOW_JOIN(KERNEL, _look_along)(a + k, A_ROW, height, 0, depth - k));
}

/* Where rows are: at which of up to LOOK_DEPTHS each of LOOK_VECTORS of them is not zero. */
FLOW_TILE void FLOW_JOIN(KERNEL, _look_across)(const ELEMENT *a, int64_t apart, int64_t depths,
                                               const int whole, int64_t rows, int32_t *to) {
    FLOW_JOIN(KERNEL, _lanes) seen[LOOK_VECTORS] = {{0}}, bit = seen[0] + 1;
    for (int64_t k = 0; k < depths; k++, bit <<= 1)
#pragma GCC unroll 8
        for (int v = 0; v < LOOK_VECTORS; v++)
            seen[v] |= bit & (FLOW_JOIN(KERNEL, _lanes))(
                                 FLOW_JOIN(KERNEL, _get)(a + k * apart + v * LANES, whole,
                                                         rows - v * LANES) != 0);
#pragma GCC unroll 8
    for (int v = 0; v < LOOK_VECTORS; v++) /* all at once they would not be in registers */
        __builtin_memcpy(to + v * LANES, &seen[v], sizeof seen[v]);
}

/* The same of all rows of a group, and all depths. */
FLOW_TILE void FLOW_JOIN(KERNEL, _look)(WORK, int64_t row, int64_t rows, int32_t *to) {
    WITH_SIZES;
    (void)row;
    const ELEMENT *a = (const ELEMENT *)work->a + (A_ROW_AT(row)) + (A_DEPTH_AT(work->k));
    const int together = LOOK_VECTORS * LANES;
    for (int64_t k = 0; k < work->depth; k += LOOK_DEPTHS, to += LOOK_ROWS)
        for (int64_t m = 0; m < rows; m += together) {
            const int64_t depths = flow_smaller(work->depth - k, LOOK_DEPTHS);
            const ELEMENT *from = a + k * (A_DEPTH) + m;
            if (rows - m >= together)
                FLOW_JOIN(KERNEL, _look_across)(from, A_DEPTH, depths, 1, together, to + m);
            else FLOW_JOIN(KERNEL, _look_across)(from, A_DEPTH, depths, 0, rows - m, to + m);
        }
}

FLOW_TILE uint16_t *FLOW_JOIN(KERNEL, _list_across)(WORK, const int32_t *seen, const int height,
                                                    uint16_t *to) {
    for (int64_t k = 0; k < work->depth; k += LOOK_DEPTHS, seen += LOOK_ROWS) {
        int32_t bits = 0;
#pragma GCC unroll 16
        for (int m = 0; m < height; m++) bits |= seen[m];
        to = FLOW_JOIN(KERNEL, _list)(to, k, LOOK_DEPTHS, (uint32_t)bits);
    }
    return to;
}

FLOW_TILE const uint16_t *FLOW_JOIN(KERNEL, _list_tile)(WORK, int64_t row, const int32_t *seen,
                                                        const int height, uint16_t *to) {
    return ZEROS_ALONG ? FLOW_JOIN(KERNEL, _list_along)(work, row, height, to)
                       : FLOW_JOIN(KERNEL, _list_across)(work, seen, height, to);
}

FLOW_TILE int FLOW_JOIN(KERNEL, _height)(WORK, int64_t rows);

/* Lists the depths of each tile of a group, of the rows from this one on. */
static FLOW_WIDE __attribute__((noinline)) void
FLOW_JOIN(KERNEL, _list_group)(FLOW_JOIN(KERNEL, _work) * work, int64_t row, int64_t rows) {
    int32_t seen[!ZEROS_ALONG ? ((DEEP - 1) / LOOK_DEPTHS + 1) * LOOK_ROWS : 1];
    if (!ZEROS_ALONG) FLOW_JOIN(KERNEL, _look)(work, row, rows, seen);
    uint16_t *list = work->lists;
    int32_t *count = work->counts;
    for (int64_t m = 0, height; m < rows; m += height, list += LISTED) {
        height = FLOW_JOIN(KERNEL, _height)(work, rows - m);
        const int32_t *marks = seen + (ZEROS_ALONG ? 0 : m);
        const uint16_t *end =
            height == TILE_ROWS
                ? FLOW_JOIN(KERNEL, _list_tile)(work, row + m, marks, TILE_ROWS, list)
                : FLOW_JOIN(KERNEL, _list_tile)(work, row + m, marks, (int)height, list);
        *count++ = (int32_t)(end - list);
    }
    work->tiles = 0;
}

/* Takes the list of the next tile of the group. */
FLOW_TILE void FLOW_JOIN(KERNEL, _next_list)(FLOW_JOIN(KERNEL, _work) * work) {
    work->listed = work->lists + work->tiles * LISTED;
    work->listed_count = work->counts[work->tiles++];
}

/* Is a quarter of a zero, as far as some vectors tell, which lie far apart? Matrix tiles are not
 * left for vectors. */
FLOW_TILE int FLOW_JOIN(KERNEL, _has_zeros)(const CONTEXT *context) {
    enum { SAMPLES = 8, LAST = SAMPLES - 1 };
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    if ((OUTER) < 1 || (ROWS) < 1 || (DEPTH) < 1) return 0;
#if THIRDS && defined FLOW_HAS_THIRDS
    if (flow_fills_tiles(ROWS)) return 0;
#endif
    const int64_t run = ZEROS_ALONG ? (DEPTH) : (ROWS), last = flow_larger(run - LANES, 0);
    const int64_t runs = ZEROS_ALONG ? (ROWS) : (DEPTH), next = ZEROS_ALONG ? (A_ROW) : (A_DEPTH);
    int all = 0, others = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        const int64_t slice = ((OUTER)-1) * i / LAST;
        const ELEMENT *a = (const ELEMENT *)context->a + (A_OUTER(slice));
        const VECTOR sample =
            FLOW_JOIN(KERNEL, _load)(a + (runs - 1) * i / LAST * next + last * i / LAST, run);
        (void)slice;
        all += (int)flow_smaller(run, LANES);
        others += __builtin_popcount(FLOW_JOIN(KERNEL, _not_zero)(sample));
    }
    return 4 * (all - others) >= all;
}
#endif

/* How many depths a tile adds up, and number i of them. */
FLOW_TILE int64_t FLOW_JOIN(KERNEL, _depths)(WORK) {
#if LEAVES_ZEROS
    return work->listed_count;
#else
    return work->depth;
#endif
}

FLOW_TILE int64_t FLOW_JOIN(KERNEL, _depth)(WORK, int64_t i) {
#if LEAVES_ZEROS
    return work->listed[i];
#else
    (void)work;
    return i;
#endif
}
