/* half_operand.c: copies a part of an operand into tiles of pairs. Included once for each operand
 * of a contraction, after these definitions, which it takes back at its end:
 *
 *   PACK                     name of the function it defines
 *   OPERAND                  where the slice begins
 *   SIDES, SIDE_AT(i), SIDE, SIDE_RUN      rows of a or columns of b: how many, what number i adds
 *                            to the place, what the next one does, and how many of these are a run
 *   DEPTH_AT(k), DEPTH_STEP, DEPTH_RUN     the same of the depth
 *   BY_DEPTH                 1: lines are sides, as in tiles of a; 0: they are depths, as in b */

/* Are these evenly spaced? */
#define IS_ONE_RUN(first, count, run, all) ((run) == (all) || (first) % (run) + (count) <= (run))
/* Lines lie along what is adjacent in memory. */
#define ALONG_DEPTH (DEPTH_STEP == 1 || SIDE != 1)

/* Where lines, sides or depths, begin, from one on. */
FLOW_TILE void FLOW_JOIN(PACK, _lines)(WORK, int64_t first, int64_t count, int64_t *at) {
    WITH_SIZES;
    for (int64_t i = 0; i < count; i++)
        at[i] = ALONG_DEPTH ? (SIDE_AT((first + i))) : (DEPTH_AT((first + i)));
}

/* The runs of which lines are, from one of their elements on. */
FLOW_TILE void FLOW_JOIN(PACK, _runs)(WORK, int64_t first, int64_t count, FlowRuns *runs) {
    WITH_SIZES;
    const int64_t most = !ALONG_DEPTH ? (SIDE_RUN) : DEPTH_STEP == 1 ? (DEPTH_RUN) : 1;
    const int whole = most == (ALONG_DEPTH ? (DEPTH) : (SIDES));
    runs->count = 0;
    for (int64_t i = 0, run; i < count; i += run) {
        run = whole ? count : flow_smaller(most - (first + i) % most, count - i);
        runs->begin[runs->count] = i;
        runs->at[runs->count++] = ALONG_DEPTH ? (DEPTH_AT((first + i))) : (SIDE_AT((first + i)));
    }
    runs->begin[runs->count] = count;
}

/* A whole tile that is a matrix in memory with adjacent elements; 0: it is none. */
FLOW_TILE int FLOW_JOIN(PACK, _matrix)(WORK, int64_t side, int64_t first, FlowTile *restrict tile) {
    WITH_SIZES;
    (void)side, (void)first, (void)tile;
#if FLOW_SHUFFLES
    const STORED *from = (OPERAND) + (SIDE_AT(side)) + (DEPTH_AT(first));
    if (DEPTH_STEP != 1 && SIDE != 1) return 0;
    if (!IS_ONE_RUN(side, FLOW_SIDE, SIDE_RUN, SIDES)) return 0;
    if (!IS_ONE_RUN(first, FLOW_DEPTH, DEPTH_RUN, DEPTH)) return 0;
    if (DEPTH_STEP == 1 && BY_DEPTH) flow_half_copy(from, SIDE, tile);
    else if (DEPTH_STEP == 1) flow_half_turn_sides(from, SIDE, tile);
    else if (BY_DEPTH) flow_half_turn_depths(from, DEPTH_STEP, tile);
    else flow_half_pair(from, DEPTH_STEP, tile);
    return 1;
#else
    return 0;
#endif
}

/* Lines at `at`, of which there are so many. */
FLOW_TILE void FLOW_JOIN(PACK, _along_depth)(WORK, const int64_t *at, int64_t sides,
                                             const FlowRuns *runs, FlowPairs *restrict lines) {
    WITH_SIZES;
    for (int i = 0; i < FLOW_SIDE; i++)
        lines[i] = i < sides ? flow_half_gather((OPERAND) + at[i], runs) : (FlowPairs){0};
}

/* Those of depths next to each other, as pairs. Those of the next tile in depth are asked for,
 * since each lies in a row of its own. */
FLOW_TILE void FLOW_JOIN(PACK, _along_sides)(WORK, const int64_t *at, const int64_t *next,
                                             int64_t depths, const FlowRuns *runs,
                                             FlowPairs *restrict lines) {
    WITH_SIZES;
    for (int i = 0; i < FLOW_SIDE; i++) {
        const int64_t left = depths - 2 * i;
        __builtin_prefetch((OPERAND) + next[2 * i] + runs->at[0]);
        __builtin_prefetch((OPERAND) + next[2 * i + 1] + runs->at[0]);
        lines[i] = flow_half_pairs(
            left > 0 ? flow_half_gather((OPERAND) + at[2 * i], runs) : (FlowPairs){0},
            left > 1 ? flow_half_gather((OPERAND) + at[2 * i + 1], runs) : (FlowPairs){0});
    }
}

/* at, next: where the lines of this tile and those of the next one begin. */
static inline FLOW_WIDE void FLOW_JOIN(PACK, _tile)(WORK, int64_t side, int64_t sides,
                                                    int64_t first, int64_t depths,
                                                    const int64_t *at, const int64_t *next,
                                                    FlowTile *restrict tile) {
    WITH_SIZES;
    FlowPairs lines[FLOW_SIDE];
    FlowRuns runs;
    const int whole = sides == FLOW_SIDE && depths == FLOW_DEPTH;
    if (whole && FLOW_JOIN(PACK, _matrix)(work, side, first, tile)) return;
    FLOW_JOIN(PACK, _runs)
    (work, ALONG_DEPTH ? first : side, ALONG_DEPTH ? depths : sides, &runs);
    if (ALONG_DEPTH) FLOW_JOIN(PACK, _along_depth)(work, at, sides, &runs, lines);
    else FLOW_JOIN(PACK, _along_sides)(work, at, next, depths, &runs, lines);
    if (ALONG_DEPTH != BY_DEPTH) flow_half_turn(lines);
#pragma GCC unroll 16
    for (int i = 0; i < FLOW_SIDE; i++) tile->lines[i] = lines[i];
}

/* Sides [first, first + count) of the stretch, in the order that memory has. */
static FLOW_WIDE void PACK(WORK, int64_t first, int64_t count, FlowTile *restrict tiles) {
    WITH_SIZES;
    const int64_t lines = ALONG_DEPTH ? FLOW_SIDE : FLOW_DEPTH,
                  begin = ALONG_DEPTH ? first : work->k;
    const int64_t across = flow_half_tiles(count, FLOW_SIDE);
    const int64_t outer = ALONG_DEPTH ? across : work->depth;
    const int64_t inner = ALONG_DEPTH ? work->depth : across;
    int64_t places[2][FLOW_DEPTH];
    FLOW_JOIN(PACK, _lines)(work, begin, lines, places[0]);
    for (int64_t o = 0; o < outer; o++) {
        int64_t *const at = places[o % 2], *const next = o + 1 < outer ? places[(o + 1) % 2] : at;
        if (next != at) FLOW_JOIN(PACK, _lines)(work, begin + (o + 1) * lines, lines, next);
        for (int64_t n = 0; n < inner; n++) {
            const int64_t s = ALONG_DEPTH ? o : n, k = ALONG_DEPTH ? n : o;
            FLOW_JOIN(PACK, _tile)
            (work, first + s * FLOW_SIDE, flow_smaller(count - s * FLOW_SIDE, FLOW_SIDE),
             work->k + k * FLOW_DEPTH, flow_smaller(work->depths - k * FLOW_DEPTH, FLOW_DEPTH), at,
             next, tiles + s * work->depth + k);
        }
    }
}

#undef ALONG_DEPTH
#undef IS_ONE_RUN
#undef PACK
#undef OPERAND
#undef SIDES
#undef SIDE_AT
#undef SIDE
#undef SIDE_RUN
#undef DEPTH_AT
#undef DEPTH_STEP
#undef DEPTH_RUN
#undef BY_DEPTH
