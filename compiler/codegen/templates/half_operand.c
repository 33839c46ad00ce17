/* half_operand.c: copies a part of an operand into tiles of pairs. Included once for each operand
 * of a contraction, after these definitions, which it takes back at its end:
 *
 *   PACK                     name of the function it defines
 *   OPERAND                  where the slice begins
 *   SIDES, SIDE_AT(i), SIDE, SIDE_RUN      rows of a or columns of b: how many, what number i adds
 *                            to the place, what the next one does, and how many of these are a run
 *   DEPTH_AT(k), DEPTH_STEP, DEPTH_RUN     the same of the depth
 *   BY_DEPTH                 1: lines are sides, as in tiles of a; 0: they are depths, as in b */

/* At most FLOW_DEPTH depths, or sides, from one on, as a line. */
FLOW_TILE FlowPairs FLOW_JOIN(PACK, _depths)(WORK, int64_t side, int64_t first, int64_t count) {
    WITH_SIZES;
    (void)side, (void)first;
    const STORED *from = (OPERAND) + (SIDE_AT(side));
    const int64_t whole = DEPTH_RUN;
    if (DEPTH_STEP == 1 && whole == (DEPTH)) return flow_half_line(from + (DEPTH_AT(first)), count);
    _Alignas(64) STORED line[2 * FLOW_DEPTH] = {0};
    for (int64_t k = 0, run; k < count; k += run) {
        run = DEPTH_STEP == 1 ? flow_smaller(whole - (first + k) % whole, count - k) : 1;
        *(FlowHalves *)(line + k) = (FlowHalves)flow_half_line(from + (DEPTH_AT((first + k))), run);
    }
    return *(const FlowPairs *)line;
}

FLOW_TILE FlowPairs FLOW_JOIN(PACK, _sides)(WORK, int64_t depth, int64_t first, int64_t count) {
    WITH_SIZES;
    (void)depth, (void)first;
    const STORED *from = (OPERAND) + (DEPTH_AT(depth));
    const int64_t whole = SIDE_RUN;
    if (whole == (SIDES)) return flow_half_line(from + (SIDE_AT(first)), count);
    _Alignas(64) STORED line[2 * FLOW_DEPTH] = {0};
    for (int64_t i = 0, run; i < count; i += run) {
        run = flow_smaller(whole - (first + i) % whole, count - i);
        *(FlowHalves *)(line + i) = (FlowHalves)flow_half_line(from + (SIDE_AT((first + i))), run);
    }
    return *(const FlowPairs *)line;
}

/* Lines of sides: those of depths next to each other, as pairs. Those of the next tile in depth are
 * asked for, since each lies in a row of its own. */
FLOW_TILE void FLOW_JOIN(PACK, _pairs)(WORK, int64_t side, int64_t sides, int64_t first,
                                       int64_t depths, FlowPairs *restrict lines) {
    WITH_SIZES;
#pragma GCC unroll 16
    for (int i = 0; i < FLOW_SIDE; i++) {
        const int64_t depth = first + 2 * i, next = depth + FLOW_DEPTH;
        const int64_t left = depths - 2 * i;
        __builtin_prefetch((OPERAND) + (DEPTH_AT(next)) + (SIDE_AT(side)));
        __builtin_prefetch((OPERAND) + (DEPTH_AT((next + 1))) + (SIDE_AT(side)));
        lines[i] = flow_half_pairs(
            left > 0 ? FLOW_JOIN(PACK, _sides)(work, depth, side, sides) : (FlowPairs){0},
            left > 1 ? FLOW_JOIN(PACK, _sides)(work, depth + 1, side, sides) : (FlowPairs){0});
    }
}

/* Are these evenly spaced? */
#define IS_ONE_RUN(first, count, run, all) ((run) == (all) || (first) % (run) + (count) <= (run))

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

static inline FLOW_WIDE void FLOW_JOIN(PACK, _tile)(WORK, int64_t side, int64_t sides,
                                                    int64_t first, int64_t depths,
                                                    FlowTile *restrict tile) {
    WITH_SIZES;
    FlowPairs lines[FLOW_SIDE];
    const int along_depth = DEPTH_STEP == 1 || SIDE != 1;
    const int whole = sides == FLOW_SIDE && depths == FLOW_DEPTH;
    if (whole && FLOW_JOIN(PACK, _matrix)(work, side, first, tile)) return;
#pragma GCC unroll 16
    for (int i = 0; along_depth && i < FLOW_SIDE; i++)
        lines[i] =
            i < sides ? FLOW_JOIN(PACK, _depths)(work, side + i, first, depths) : (FlowPairs){0};
    if (!along_depth) FLOW_JOIN(PACK, _pairs)(work, side, sides, first, depths, lines);
    if (along_depth != BY_DEPTH) flow_half_turn(lines);
#pragma GCC unroll 16
    for (int i = 0; i < FLOW_SIDE; i++) tile->lines[i] = lines[i];
}

/* Sides [first, first + count) of the stretch, in the order that memory has. */
static FLOW_WIDE void PACK(WORK, int64_t first, int64_t count, FlowTile *restrict tiles) {
    const int64_t across = flow_half_tiles(count, FLOW_SIDE);
    const int64_t number = across * work->depth;
    for (int64_t i = 0; i < number; i++) {
        const int64_t s = DEPTH_STEP == 1 ? i / work->depth : i % across;
        const int64_t k = DEPTH_STEP == 1 ? i % work->depth : i / across;
        FLOW_JOIN(PACK, _tile)
        (work, first + s * FLOW_SIDE, flow_smaller(count - s * FLOW_SIDE, FLOW_SIDE),
         work->k + k * FLOW_DEPTH, flow_smaller(work->depths - k * FLOW_DEPTH, FLOW_DEPTH),
         tiles + s * work->depth + k);
    }
}

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
