/* cuda_weigh.h: the end of the loop that cuda_scores.h begins: scores are weights now, or, FORWARD,
 * become weights; what came by is added so many times to the sums. */
#if FORWARD
FLOW_UNROLL for (int h = 0; h < 2; h++) {
    float high = most[h];
    FLOW_UNROLL for (int e = 0; e < SCORES; e++) if (e % 4 / 2 == h) high =
        __builtin_fmaxf(high, scores[e]);
    FLOW_UNROLL for (int mask = 1; mask < 4; mask *= 2) high =
        __builtin_fmaxf(high, flow_shuffle_xor_f32(high, mask));
    const float shift = high == -__builtin_inff() ? 0 : high, smaller = FLOW_POWER(most[h] - shift);
    most[h] = high;
    total[h] *= smaller;
    FLOW_UNROLL for (int n = 0; n < SUMS; n++) if (n % 4 / 2 == h) sums[n] *= smaller;
    FLOW_UNROLL for (int e = 0; e < SCORES; e++) if (e % 4 / 2 == h) {
        scores[e] = FLOW_POWER(scores[e] - shift);
        total[h] += scores[e];
    }
}
#endif
#if WEIGHED == 0
FLOW_WEIGH(0, scores, now)
#elif WEIGHED == 1
FLOW_WEIGH(1, scores, now + START_1)
#else
FLOW_WEIGH(2, scores, now + START_2)
#endif
