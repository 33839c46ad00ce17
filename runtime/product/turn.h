/* turn.h: a panel of a matrix whose columns lie one after the other, included once for each KERNEL,
 * after lanes.h and WIDTH, the columns of a panel. */
/* At most LANES rows of a panel, from columns whose depths are adjacent. */
static inline FLOW_WIDE void FLOW_JOIN(KERNEL, _turn)(const ELEMENT *restrict from, int64_t stride,
                                                      int64_t depth, int64_t columns,
                                                      ELEMENT *restrict panel) {
#if FLOW_SHUFFLES
    VECTOR a[LANES], turned[LANES];
#pragma GCC unroll 16
    for (int n = 0; n < LANES; n++)
        a[n] = n < columns ? FLOW_JOIN(KERNEL, _load)(from + n * stride, depth) : (VECTOR){0};
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
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        if (k < depth) *(VECTOR *)(panel + k * WIDTH) = a[k];
#else
    for (int k = 0; k < depth; k++)
        for (int n = 0; n < LANES; n++)
            panel[k * WIDTH + n] = n < columns ? from[n * stride + k] : 0;
#endif
}
