/* peaks_loops.h: the loops whose rates are measured, with vectors of one width. Included once for
 * each, after these definitions, which it takes back at its end:
 *
 *   BYTES         of a vector
 *   NAME(name)    of a function or a type here
 *   TARGET        attributes of a function: which processors it is for */

typedef float NAME(Lanes) __attribute__((vector_size(BYTES)));
typedef double NAME(Doubles) __attribute__((vector_size(BYTES)));

/* So many sums that do not wait for each other as hide how long one takes. */
TARGET static float NAME(multiply_and_add)(float factor) {
    NAME(Lanes) sums[SUMS], factors = (NAME(Lanes)){0} + factor;
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; i++) sums[i] = (NAME(Lanes)){0} + (float)i;
    for (int turn = 0; turn < TURNS; turn++)
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) sums[i] = sums[i] * factors + factors;
#pragma GCC unroll 12
    for (int i = 1; i < SUMS; i++) sums[0] += sums[i];
    return sums[0][0];
}

TARGET static double NAME(multiply_and_add_doubles)(double factor) {
    NAME(Doubles) sums[SUMS], factors = (NAME(Doubles)){0} + factor;
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; i++) sums[i] = (NAME(Doubles)){0} + i;
    for (int turn = 0; turn < TURNS; turn++)
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) sums[i] = sums[i] * factors + factors;
#pragma GCC unroll 12
    for (int i = 1; i < SUMS; i++) sums[0] += sums[i];
    return sums[0][0];
}

TARGET static float NAME(read_all)(const float *from, size_t bytes) {
    enum { STREAMS = 8 };
    NAME(Lanes) sums[STREAMS] = {{0}};
    const NAME(Lanes) *lanes = (const NAME(Lanes) *)from;
    for (size_t i = 0; i < bytes / BYTES; i += STREAMS)
#pragma GCC unroll 8
        for (size_t j = 0; j < STREAMS; j++) sums[j] += lanes[i + j];
#pragma GCC unroll 8
    for (int j = 1; j < STREAMS; j++) sums[0] += sums[j];
    return sums[0][0];
}

#undef BYTES
#undef NAME
#undef TARGET
