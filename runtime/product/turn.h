/* turn.h: rows that were columns, in vectors: included once for each KERNEL, after lanes.h. */
/* Lane k of vector n becomes lane n of vector k. */
FLOW_TILE void FLOW_JOIN(KERNEL, _turn_lanes)(VECTOR *a) {
    VECTOR turned[LANES];
#if FLOW_SHUFFLES
#pragma GCC unroll 4
    for (int done = 1; done < LANES; done *= 2) {
#pragma GCC unroll 8
        for (int n = 0; n < LANES / 2; n++) {
            turned[2 * n] = FLOW_JOIN(FLOW_TURNS_, ELEMENT)(a[n], a[n + LANES / 2], 0);
            turned[2 * n + 1] = FLOW_JOIN(FLOW_TURNS_, ELEMENT)(
                a[n], a[n + LANES / 2], (int)(FLOW_VECTOR / sizeof(ELEMENT) / 2));
        }
#pragma GCC unroll 16
        for (int n = 0; n < LANES; n++) a[n] = turned[n];
    }
#else
    for (int k = 0; k < LANES; k++)
        for (int n = 0; n < LANES; n++) turned[k][n] = a[n][k];
    for (int k = 0; k < LANES; k++) a[k] = turned[k];
#endif
}

/* See turned.h. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _turn)(const ELEMENT *restrict from, int64_t stride,
                                                      int64_t depth, int64_t columns,
                                                      ELEMENT *restrict panel, int64_t width) {
    VECTOR a[LANES];
#pragma GCC unroll 16
    for (int n = 0; n < LANES; n++)
        a[n] = n < columns ? FLOW_JOIN(KERNEL, _load)(from + n * stride, depth) : (VECTOR){0};
    FLOW_JOIN(KERNEL, _turn_lanes)(a);
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        if (k < depth) *(VECTOR *)(panel + k * width) = a[k];
}
