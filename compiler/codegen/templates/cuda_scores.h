/* cuda_scores.h: inside the loop over what comes by, from `coming` on: brings a tile, or, by tensor
 * cores, the next one, and leaves its scores; says whether all of them are seen. */
#define FLOW_COME_ALL(to, from)       \
    FLOW_COME(0, to, from)            \
    FLOW_COME_1((to) + START_1, from) \
    FLOW_COME_2((to) + START_2, from)
#if SECOND
#define FLOW_COME_1(to, from) FLOW_COME(1, to, from)
#else
#define FLOW_COME_1(to, from)
#endif
#if WEIGHED == 2
#define FLOW_COME_2(to, from) FLOW_COME(2, to, from)
#else
#define FLOW_COME_2(to, from)
#endif
#if TENSOR && FLOW_TENSOR_CORES
uint16_t *const now = tiles + (coming - first_come) / ACROSS % 2 * STAGE;
uint16_t *const next = tiles + ((coming - first_come) / ACROSS + 1) % 2 * STAGE;
if (coming == first_come) {
    FLOW_COME_ALL(now, coming)
    FLOW_END_COPIES();
}
FLOW_AWAIT_COPIES(0);
FLOW_SYNC();
if (coming + ACROSS < last_come) {
    FLOW_COME_ALL(next, coming + ACROSS)
}
FLOW_END_COPIES();
#else
float *const now = tiles;
FLOW_SYNC();
FLOW_COME_ALL(now, coming)
FLOW_SYNC();
#endif
float scores[SCORES] = {0};
FLOW_SCORE(0, scores, now)
#if SECOND
float seconds[SCORES] = {0};
FLOW_SCORE(1, seconds, now + START_1)
#endif
/* No key of the warp's scores lies behind what a query of theirs sees. */
const int64_t warp_row = first_row + FLOW_THREAD / 32 * 16;
const bool see_all =
    !CAUSAL || (TURNED ? warp_row + 15 <= coming + SEEN : coming + ACROSS - 1 <= warp_row + SEEN);
#undef FLOW_COME_ALL
#undef FLOW_COME_1
#undef FLOW_COME_2
