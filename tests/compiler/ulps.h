/* Ulps: how far a float is from a number. Comes after kernel.h. */
#ifndef FLOW_TESTS_ULPS_H
#define FLOW_TESTS_ULPS_H

/* Units in the last place of a float near the wanted value; 1e9 for another sign of zero, NaN or
 * infinity, where the wanted value is not within one unit of it. */
static inline double ulps(float y, double wanted) {
    float nearest = (float)wanted;
    int exponent;
    if (nearest != nearest || y != y) return (nearest != nearest) == (y != y) ? 0 : 1e9;
    if (y == nearest) return (flow_bits_f32(y) ^ flow_bits_f32(nearest)) >> 31 ? 1e9 : 0;
    if (__builtin_isinf(y) || __builtin_isinf(nearest))
        return __builtin_fabs(wanted) > 0x1.fffffdp127 ? 1 : 1e9;
    __builtin_frexp(wanted, &exponent);
    return __builtin_fabs(y - wanted) /
           __builtin_ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

#endif
