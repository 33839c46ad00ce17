/* matmul_zeros.h: of matmul.c, behind its types: which depths a tile adds up. With LEAVES_ZEROS it
 * leaves out those at which all its rows of a are zero: what they add are zeros, so that sums have
 * the same bits but for the sign of a zero, if b is finite. The others are listed once for all
 * panels of a tile. */
#if LEAVES_ZEROS /* which is of floats alone */
typedef int32_t FLOW_JOIN(KERNEL, _lanes) __attribute__((vector_size(FLOW_VECTOR)));

/* Lists those of `lanes` depths from k on whose bit is set. */
FLOW_TILE void FLOW_JOIN(KERNEL, _list)(FLOW_JOIN(KERNEL, _work) * work, int64_t k, const int lanes,
                                        uint32_t bits) {
    (void)lanes;
#ifdef FLOW_LIST_LANES
    for (int done = 0; done < lanes; done += FLOW_LIST_LANES, bits >>= FLOW_LIST_LANES) {
        flow_list(work->listed + work->listed_count, (int32_t)k + done, bits);
        work->listed_count += __builtin_popcount(bits & ((1u << FLOW_LIST_LANES) - 1));
    }
#else
    for (; bits; bits &= bits - 1)
        work->listed[work->listed_count++] = (int32_t)k + __builtin_ctz(bits);
#endif
}

/* Where depths are adjacent: of a vector of them. */
FLOW_TILE void FLOW_JOIN(KERNEL, _list_along)(FLOW_JOIN(KERNEL, _work) * work, const ELEMENT *a,
                                              int height, int64_t k, const int whole) {
    WITH_SIZES;
    FLOW_JOIN(KERNEL, _lanes) any = {0};
    for (int m = 0; m < height; m++)
        any |= (FLOW_JOIN(KERNEL, _lanes))FLOW_JOIN(KERNEL, _get)(a + m * (A_ROW) + k, whole,
                                                                  work->depth - k);
    FLOW_JOIN(KERNEL, _list)(work, k, LANES, FLOW_JOIN(KERNEL, _not_zero)((VECTOR)any));
}

/* Where rows are: at which of LOOK_DEPTHS each of the rows from this one on is not zero. */
FLOW_TILE void FLOW_JOIN(KERNEL, _look)(FLOW_JOIN(KERNEL, _work) * work, int64_t row) {
    WITH_SIZES;
    const int64_t rows = flow_smaller(work->end - row, LOOK_ROWS);
    const ELEMENT *a = (const ELEMENT *)work->a + (A_ROW_AT(row)) + (A_DEPTH_AT(work->k));
    int32_t *to = work->seen;
    for (int64_t k = 0; k < work->depth; k += LOOK_DEPTHS, to += LOOK_ROWS) {
        const int64_t end = flow_smaller(work->depth, k + LOOK_DEPTHS);
        for (int64_t n = 0; n < rows; n += LANES) {
            FLOW_JOIN(KERNEL, _lanes) seen = {0}, bit = seen + 1;
            for (int64_t i = k; i < end; i++, bit <<= 1)
                seen |= bit & (FLOW_JOIN(KERNEL, _lanes))(
                                  FLOW_JOIN(KERNEL, _load)(a + i * (A_DEPTH) + n, rows - n) != 0);
            __builtin_memcpy(to + n, &seen, sizeof seen);
        }
    }
    work->looked = row, work->look_end = row + rows;
}

FLOW_TILE void FLOW_JOIN(KERNEL, _list_across)(FLOW_JOIN(KERNEL, _work) * work, int64_t row,
                                               const int height) {
    const int32_t *seen = work->seen + (row - work->looked);
    for (int64_t k = 0; k < work->depth; k += LOOK_DEPTHS, seen += LOOK_ROWS) {
        int32_t bits = 0;
        for (int m = 0; m < height; m++) bits |= seen[m];
        FLOW_JOIN(KERNEL, _list)(work, k, LOOK_DEPTHS, (uint32_t)bits);
    }
}

/* Of a tile of so many rows, which begin at `a`. */
FLOW_TILE void FLOW_JOIN(KERNEL, _list_depths)(FLOW_JOIN(KERNEL, _work) * work, const ELEMENT *a,
                                               int64_t row, int height) {
    WITH_SIZES;
    const int64_t depth = work->depth;
    int64_t k = 0;
    work->listed_count = 0;
    if (!ZEROS_ALONG) {
        if (row + height > work->look_end) FLOW_JOIN(KERNEL, _look)(work, row);
        if (height == TILE_ROWS) FLOW_JOIN(KERNEL, _list_across)(work, row, TILE_ROWS);
        else FLOW_JOIN(KERNEL, _list_across)(work, row, height);
        return;
    }
    for (; k + LANES <= depth; k += LANES) FLOW_JOIN(KERNEL, _list_along)(work, a, height, k, 1);
    if (k < depth) FLOW_JOIN(KERNEL, _list_along)(work, a, height, k, 0);
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
    const int64_t run = !ZEROS_ALONG ? (ROWS) : (DEPTH), last = flow_larger(run - LANES, 0);
    const int64_t runs = !ZEROS_ALONG ? (DEPTH) : (ROWS), next = !ZEROS_ALONG ? (A_DEPTH) : (A_ROW);
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
