/* Denormals: arithmetic on numbers below 1e-38 is up to a hundred times slower on x86, and
 * Adam's second moments get there. Compiled functions therefore run with denormals taken as
 * zero, in training and in deployment alike. */
#ifndef FLOW_DENORMAL_H
#define FLOW_DENORMAL_H

#if defined __SSE__
#include <xmmintrin.h>
enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040 };

/* Returns the mode before, for denormals_restore. */
static inline unsigned denormals_to_zero(void) {
    unsigned mode = _mm_getcsr();
    unsigned wanted = mode | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO;
    if (wanted != mode) _mm_setcsr(wanted);
    return mode;
}

static inline void denormals_restore(unsigned mode) {
    _mm_setcsr(mode);
}
#else
static inline unsigned denormals_to_zero(void) {
    return 0;
}

static inline void denormals_restore(unsigned mode) {
    (void)mode;
}
#endif

#endif
