/* matmul_results.h: of matmul.c, behind its types: what makes results of a tile's sums vector by
 * vector: of the late tile while the next one is added up (LATE), or of the sums in registers, all
 * before any is stored (AT_ONCE), or one by one. Where a result may not be finite, it or its tile
 * is settled apart, as what is kept is not stored then. */
#if APPLIES
/* Makes results of sums, vector v of row m of a tile whose first result is at `row` and `column`.
 * They are held where they are doubtful: `held`, with a bit for each vector, then has one more. */
FLOW_TILE uint64_t FLOW_JOIN(KERNEL, _apply_vector)(const CONTEXT *context, VECTOR sums,
                                                    FLOW_JOIN(KERNEL, _late) * late, int64_t row,
                                                    int64_t column, int64_t columns, int64_t m,
                                                    int v, const int closed, uint64_t held) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    const int64_t at = m * TILE_VECTORS + v, across = v * LANES;
    const int64_t first = row * (COLUMNS) + column, further = m * (COLUMNS) + across;
    if (PARTIAL && columns <= across) return held;
    VECTOR results[RESULTS];
    const VECTOR kept = FLOW_JOIN(KERNEL, _apply)(context, sums, results, first, further, row + m,
                                                  column + across, !PARTIAL, columns - across);
    if (KEPT && __builtin_expect(closed || !FLOW_JOIN(KERNEL, _is_finite)(kept), 0)) {
#pragma GCC unroll 16
        for (int i = 0; i < RESULTS; i++)
            *(VECTOR *)(late->held + i * TILE + at * LANES) = results[i];
        return held | (uint64_t)1 << at;
    }
    FLOW_JOIN(KERNEL, _put_results)(context, results, first, further, !PARTIAL, columns - across);
    return held;
}

/* The same of the late tile. */
FLOW_TILE uint64_t FLOW_JOIN(KERNEL, _apply_late)(const CONTEXT *context,
                                                  FLOW_JOIN(KERNEL, _late) * late, int64_t row,
                                                  int64_t column, int64_t columns, int64_t m, int v,
                                                  const int closed, uint64_t held) {
    const VECTOR sums = *(const VECTOR *)(late->sums + (m * TILE_VECTORS + v) * LANES);
    return FLOW_JOIN(KERNEL, _apply_vector)(context, sums, late, row, column, columns, m, v, closed,
                                            held);
}

/* Of the rows from m on. */
static FLOW_WIDE __attribute__((noinline)) uint64_t FLOW_JOIN(KERNEL, _apply_from)(WORK,
                                                                                   int64_t m) {
    const CONTEXT context = *work->context;
    FLOW_JOIN(KERNEL, _late) *const late = work->late;
    const int closed = work->closed;
    uint64_t held = 0;
    for (; m < late->rows; m++)
        for (int v = 0; v < TILE_VECTORS; v++)
            held = FLOW_JOIN(KERNEL, _apply_late)(&context, late, late->row, late->column,
                                                  late->columns, m, v, closed, held);
    return held;
}

/* Stores of what is held what is kept. */
FLOW_TILE void FLOW_JOIN(KERNEL, _settle)(WORK, uint64_t held) {
#if KEPT
    WITH_SIZES;
    const FLOW_JOIN(KERNEL, _late) *const late = work->late;
    for (int64_t at = 0; held; at++, held >>= 1) {
        const int64_t m = at / TILE_VECTORS, across = at % TILE_VECTORS * LANES;
        if (held & 1) FLOW_JOIN(KERNEL, _keep)
        (work->context, late->held + at * LANES, TILE,
         (late->row + m) * (COLUMNS) + late->column + across,
         flow_smaller(late->columns - across, LANES));
    }
#endif
    (void)work, (void)held;
}

/* Holds all results of a tile, of which one is doubtful, and settles them. */
static FLOW_WIDE __attribute__((noinline, cold)) void
FLOW_JOIN(KERNEL, _doubt)(WORK, const FLOW_JOIN(KERNEL, _place) * tile, const int64_t rows,
                          const VECTOR *results) {
    FLOW_JOIN(KERNEL, _late) *const late = work->late;
    late->row = tile->row, late->column = tile->column, late->columns = tile->columns;
    uint64_t held = 0;
    for (int64_t at = 0; at < rows * TILE_VECTORS; at++)
        if (at % TILE_VECTORS * LANES < tile->columns) {
            *(VECTOR *)(late->held + at * LANES) = results[at];
            held |= (uint64_t)1 << at;
        }
    FLOW_JOIN(KERNEL, _settle)(work, held);
}

/* May a result of a tile not be finite? A product of two tells, or is itself too large. */
FLOW_TILE int FLOW_JOIN(KERNEL, _is_doubtful)(const int rows, VECTOR y[TILE_ROWS][TILE_VECTORS]) {
    VECTOR doubts[TILE_VECTORS] = {{0}}, doubt = {0};
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; v++) {
#pragma GCC unroll 16
        for (int m = 0; m < rows / 2; m++) doubts[v] += y[2 * m][v] * y[2 * m + 1][v];
        if (rows % 2) doubts[v] += y[rows - 1][v];
        doubt += doubts[v];
    }
    return !FLOW_JOIN(KERNEL, _is_finite)(doubt);
}

/* Makes results of each vector of the sums y, and stores them before the next. */
FLOW_TILE void FLOW_JOIN(KERNEL, _conclude_each)(WORK, const FLOW_JOIN(KERNEL, _place) * tile,
                                                 const int rows, const int last,
                                                 VECTOR y[TILE_ROWS][TILE_VECTORS]) {
    const CONTEXT context = *work->context;
    const int64_t row = tile->row, column = tile->column, columns = tile->columns;
    const int closed = work->closed;
    FLOW_JOIN(KERNEL, _late) *const late = work->late;
    uint64_t held = 0;
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++)
            if (m <= last)
                held = FLOW_JOIN(KERNEL, _apply_vector)(&context, y[m][v], late, row, column,
                                                        columns, m, v, closed, held);
    if (!held) return;
    late->row = row, late->column = column, late->columns = columns;
    FLOW_JOIN(KERNEL, _settle)(work, held);
}

/* Makes results of all the sums y, in their place, and then stores them. */
FLOW_TILE void FLOW_JOIN(KERNEL, _conclude)(WORK, const FLOW_JOIN(KERNEL, _place) * tile,
                                            const int64_t *row_at, const int rows, const int last,
                                            VECTOR y[TILE_ROWS][TILE_VECTORS]) {
    WITH_SIZES;
    const CONTEXT context = *work->context;
    const int64_t row = tile->row, column = tile->column, columns = tile->columns;
    int64_t first = row * (COLUMNS) + column;
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0, across = 0; v < TILE_VECTORS; v++, across += LANES)
            if (!PARTIAL || columns > across) FLOW_JOIN(KERNEL, _apply)
    (&context, y[m][v], &y[m][v], first, row_at[m] * (COLUMNS) + across, row + row_at[m],
     column + across, !PARTIAL, columns - across);
    if (KEPT && __builtin_expect(work->closed || FLOW_JOIN(KERNEL, _is_doubtful)(rows, y), 0)) {
        VECTOR results[TILE_ROWS * TILE_VECTORS];
#pragma GCC unroll 32
        for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++) results[m * TILE_VECTORS + v] = y[m][v];
        FLOW_JOIN(KERNEL, _doubt)(work, tile, last + 1, results);
        return;
    }
    __asm__("" : "+r"(first)); /* or all addresses would be kept from above */
#pragma GCC unroll 32
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
        for (int v = 0, across = 0; v < TILE_VECTORS; v++, across += LANES)
            if (!PARTIAL || columns > across) FLOW_JOIN(KERNEL, _put_results)
    (&context, &y[m][v], first, row_at[m] * (COLUMNS) + across, !PARTIAL, columns - across);
}
#endif

/* Makes results of the late tile. */
FLOW_TILE void FLOW_JOIN(KERNEL, _catch_up)(WORK) {
#if APPLIES
    if (LATE) {
        FLOW_JOIN(KERNEL, _settle)(work, FLOW_JOIN(KERNEL, _apply_from)(work, 0));
        work->late->rows = 0;
    }
#endif
    (void)work;
}
