/* matmul_zeros.h: of matmul.c, behind its types: which depths a tile adds up. With LEAVES_ZEROS it
 * leaves out those at which all its rows of a are zero: what they add are zeros, so that sums have
 * the same bits, if b is finite. The others are listed once for all panels of a tile; all are where
 * a sample of a has too few zeros for looking for them. */
#if LEAVES_ZEROS /* which is of floats alone */
typedef int32_t FLOW_JOIN(KERNEL, _lanes) __attribute__((vector_size(FLOW_VECTOR)));

/* Is a quarter of a zero? Some vectors tell, of the rows that are worked on and of depths, both far
 * apart. */
FLOW_TILE int FLOW_JOIN(KERNEL, _has_zeros)(WORK) {
    WITH_SIZES;
    enum { SAMPLES = 8 };
    const ELEMENT *a = (const ELEMENT *)work->a + (A_ROW_AT(work->row));
    const int64_t rows = work->end - work->row, run = A_ACROSS ? rows : (DEPTH),
                  runs = A_ACROSS ? (DEPTH) : rows;
    const int64_t last = flow_larger(run - LANES, 0), next = A_ACROSS ? (A_DEPTH) : (A_ROW);
    int most = 0, others = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        const ELEMENT *from = a + (runs - 1) * i / (SAMPLES - 1) * next + last * i / (SAMPLES - 1);
        const VECTOR sample = FLOW_JOIN(KERNEL, _load)(from, run);
        most += (int)flow_smaller(run, LANES);
        others += __builtin_popcount(FLOW_JOIN(KERNEL, _not_zero)(sample));
    }
    return 4 * (most - others) >= most;
}

/* Lists those of `lanes` depths from k on whose bit is set. */
FLOW_TILE void FLOW_JOIN(KERNEL, _list)(FLOW_JOIN(KERNEL, _work) * work, int64_t k, const int lanes,
                                        uint32_t bits) {
    (void)lanes;
#ifdef FLOW_LIST
    for (int done = 0; done < lanes; done += FLOW_LIST_LANES, bits >>= FLOW_LIST_LANES) {
        FLOW_LIST(work->listed + work->listed_count, (int32_t)k + done, bits);
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
    const int64_t next = COPIES_A ? COPY_ROW : (A_ROW);
    FLOW_JOIN(KERNEL, _lanes) any = {0};
    for (int m = 0; m < height; m++)
        any |= (FLOW_JOIN(KERNEL, _lanes))FLOW_JOIN(KERNEL, _get)(a + m * next + k, whole,
                                                                  work->depth - k);
    FLOW_JOIN(KERNEL, _list)(work, k, LANES, FLOW_JOIN(KERNEL, _not_zero)((VECTOR)any));
}

/* Where rows are: at which of SEEN_DEPTHS each of the rows from this one on is not zero. */
FLOW_TILE void FLOW_JOIN(KERNEL, _see)(FLOW_JOIN(KERNEL, _work) * work, int64_t row) {
    WITH_SIZES;
    const int64_t rows = flow_smaller(work->end - row, SEEN_ROWS);
    const ELEMENT *a = (const ELEMENT *)work->a + (A_ROW_AT(row)) + (A_DEPTH_AT(work->k));
    int32_t *to = work->seen;
    for (int64_t k = 0; k < work->depth; k += SEEN_DEPTHS, to += SEEN_ROWS) {
        const int64_t end = flow_smaller(work->depth, k + SEEN_DEPTHS);
        for (int64_t n = 0; n < rows; n += LANES) {
            FLOW_JOIN(KERNEL, _lanes) seen = {0}, bit = seen + 1;
            for (int64_t i = k; i < end; i++, bit <<= 1)
                seen |= bit & (FLOW_JOIN(KERNEL, _lanes))(
                                  FLOW_JOIN(KERNEL, _load)(a + i * (A_DEPTH) + n, rows - n) != 0);
            __builtin_memcpy(to + n, &seen, sizeof seen);
        }
    }
    work->seen_row = row, work->seen_end = row + rows;
}

FLOW_TILE void FLOW_JOIN(KERNEL, _list_across)(FLOW_JOIN(KERNEL, _work) * work, int64_t row,
                                               const int height) {
    const int32_t *seen = work->seen + (row - work->seen_row);
    for (int64_t k = 0; k < work->depth; k += SEEN_DEPTHS, seen += SEEN_ROWS) {
        int32_t bits = 0;
        for (int m = 0; m < height; m++) bits |= seen[m];
        FLOW_JOIN(KERNEL, _list)(work, k, SEEN_DEPTHS, (uint32_t)bits);
    }
}

/* Of a tile of so many rows, which begin at `a`. */
FLOW_TILE void FLOW_JOIN(KERNEL, _list_depths)(FLOW_JOIN(KERNEL, _work) * work, const ELEMENT *a,
                                               int64_t row, int height) {
    WITH_SIZES;
    const int64_t depth = work->depth;
    int64_t k = 0;
    work->listed_count = depth;
    if (!work->has_zeros) return; /* all are listed */
    work->listed_count = 0;
    if (A_ACROSS) {
        if (row + height > work->seen_end) FLOW_JOIN(KERNEL, _see)(work, row);
        if (height == TILE_ROWS) FLOW_JOIN(KERNEL, _list_across)(work, row, TILE_ROWS);
        else FLOW_JOIN(KERNEL, _list_across)(work, row, height);
        return;
    }
    for (; k + LANES <= depth; k += LANES) FLOW_JOIN(KERNEL, _list_along)(work, a, height, k, 1);
    if (k < depth) FLOW_JOIN(KERNEL, _list_along)(work, a, height, k, 0);
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
