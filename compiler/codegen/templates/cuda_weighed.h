/* cuda_weighed.h: after the loop, FORWARD: the rows' totals become whole, and the sums are divided
 * by them. */
FLOW_UNROLL for (int h = 0; h < 2; h++) {
    FLOW_UNROLL for (int mask = 1; mask < 4; mask *= 2) total[h] +=
        flow_shuffle_xor_f32(total[h], mask);
#ifdef FLOW_EXACT
    FLOW_UNROLL for (int n = 0; n < SUMS; n++) if (n % 4 / 2 == h) sums[n] /= total[h];
#else
    const float part = 1 / total[h];
    FLOW_UNROLL for (int n = 0; n < SUMS; n++) if (n % 4 / 2 == h) sums[n] *= part;
#endif
}
