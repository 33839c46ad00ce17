/* matmul_beside.h: of matmul.c, behind its tiles: full tiles of a group, one after another. With
 * BESIDE the results of one are made, of sums that stay in registers, while the next one is added
 * up: two vectors of them, then two of its depths, as long as there are any. Dividers and the units
 * that multiply work at the same time then. */
#if LEAVES_ZEROS && KEPT && UPDATES > 1
/* Makes results of two vectors of sums, from vector v of row m of a tile on. */
FLOW_TILE uint64_t FLOW_JOIN(KERNEL, _apply_two)(const CONTEXT *context, const VECTOR *sums,
                                                 FLOW_JOIN(KERNEL, _late) * late, int64_t first,
                                                 int64_t at, const int m, const int v,
                                                 uint64_t held) {
    const int64_t batch = context->batch, *const sizes = context->sizes;
    (void)batch, (void)sizes;
    const int64_t further = m * (COLUMNS) + v * LANES;
    VECTOR results[2][RESULTS], kept[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        kept[i] = FLOW_JOIN(KERNEL, _apply)(context, sums[i], results[i], first,
                                            further + i * LANES, at / (COLUMNS) + m,
                                            at % (COLUMNS) + (v + i) * LANES, 1, LANES);
    if (__builtin_expect(!FLOW_JOIN(KERNEL, _is_finite)(kept[0] + kept[1]), 0)) {
        ELEMENT *to = late->held + (m * TILE_VECTORS + v) * LANES;
        for (int i = 0; i < 2; i++, to += LANES)
            for (int r = 0; r < RESULTS; r++) *(VECTOR *)(to + r * TILE) = results[i][r];
        return held | (uint64_t)3 << (m * TILE_VECTORS + v);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        FLOW_JOIN(KERNEL, _put_results)(context, results[i], first, further + i * LANES, 1, LANES);
    return held;
}

/* Makes results of all sums of a tile, the first of which is element `at`, beside depths of the
 * next one; how many of them it added. */
FLOW_TILE int64_t FLOW_JOIN(KERNEL, _apply_beside)(WORK, const CONTEXT *given,
                                                   VECTOR sums[TILE_ROWS][TILE_VECTORS], int64_t at,
                                                   const FLOW_JOIN(KERNEL, _place) * tile,
                                                   const int64_t *row_at, int64_t depth,
                                                   VECTOR y[TILE_ROWS][TILE_VECTORS]) {
    WITH_SIZES;
    CONTEXT context = *given;
    FLOW_JOIN(KERNEL, _late) *const late = work->late;
    const int64_t first = FLOW_JOIN(KERNEL, _go_to)(&context, at);
    uint64_t held = 0;
    int64_t k = 0;
#pragma GCC unroll 32
    for (int m = 0; m < TILE_ROWS; m++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v += 2) {
            held =
                FLOW_JOIN(KERNEL, _apply_two)(&context, &sums[m][v], late, first, at, m, v, held);
            if (k < depth) FLOW_JOIN(KERNEL, _add)(work, tile, row_at, TILE_ROWS, 1, k++, y);
            if (k < depth) FLOW_JOIN(KERNEL, _add)(work, tile, row_at, TILE_ROWS, 1, k++, y);
        }
    if (__builtin_expect(held != 0, 0)) {
        late->row = at / (COLUMNS), late->column = at % (COLUMNS), late->columns = WIDTH;
        FLOW_JOIN(KERNEL, _settle)(work, held);
    }
    return k;
}

/* Full tiles of the rows [m, m + rows), whose depths are listed. */
static FLOW_WIDE __attribute__((noinline)) void
FLOW_JOIN(KERNEL, _tiles_beside)(FLOW_JOIN(KERNEL, _work) * all, int64_t m, int64_t rows) {
    FLOW_JOIN(KERNEL, _work) here = *all;
    FLOW_JOIN(KERNEL, _work) *const work = &here; /* which no store of results changes */
    const CONTEXT context = *work->context;
    WITH_SIZES;
    const int64_t columns = ONE_BLOCK ? (COLUMNS) : work->columns, last = m + rows;
    FLOW_JOIN(KERNEL, _place) tile = {0};
    VECTOR before[TILE_ROWS][TILE_VECTORS] = {{{0}}}, y[TILE_ROWS][TILE_VECTORS];
    int64_t row_at[TILE_ROWS], at = -1; /* of the tile before */
    const int64_t origin = (work->slice * (ROWS) + work->row) * (COLUMNS) + work->column;
#pragma GCC unroll 32
    for (int i = 0; i < TILE_ROWS; i++) row_at[i] = i;
    for (; m < last; m += TILE_ROWS) {
        FLOW_JOIN(KERNEL, _next_list)(work);
        tile.a = (const ELEMENT *)work->a + (A_ROW_AT(work->row + m)) + (A_DEPTH_AT(work->k));
        for (int64_t n = 0; n < columns; n += WIDTH) {
            tile.b = FLOW_JOIN(KERNEL, _panel)(work, n, &tile.b_depth);
            int64_t k = 0;
#pragma GCC unroll 32
            for (int i = 0; i < TILE_ROWS * TILE_VECTORS; i++)
                y[i / TILE_VECTORS][i % TILE_VECTORS] = (VECTOR){0};
            if (at >= 0)
                k = FLOW_JOIN(KERNEL, _apply_beside)(work, &context, before, at, &tile, row_at,
                                                     work->listed_count, y);
            FLOW_JOIN(KERNEL, _add_rest)(work, &tile, row_at, TILE_ROWS, 1, k, y);
#pragma GCC unroll 32
            for (int i = 0; i < TILE_ROWS * TILE_VECTORS; i++)
                before[i / TILE_VECTORS][i % TILE_VECTORS] = y[i / TILE_VECTORS][i % TILE_VECTORS];
            at = origin + m * (COLUMNS) + n;
        }
    }
    FLOW_JOIN(KERNEL, _apply_beside)(work, &context, before, at, &tile, row_at, 0, y);
    all->tiles = work->tiles;
}
#endif
