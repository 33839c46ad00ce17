/* lanes.h: vectors of the elements of one contraction, included once for each. */
#include "runtime/product/vectors.h"

#define LANES ((int)(FLOW_VECTOR / sizeof(ELEMENT)))
#define VECTOR FLOW_JOIN(KERNEL, _vector)
typedef ELEMENT VECTOR
    __attribute__((vector_size(FLOW_VECTOR), aligned(sizeof(ELEMENT)), may_alias));
/* What a comparison of two gives. */
#define CHOICE FLOW_JOIN(KERNEL, _choice)
typedef __typeof__((VECTOR){0} < (VECTOR){0}) CHOICE;

/* Which lanes are the first `lanes`, without a branch. */
FLOW_TILE int FLOW_JOIN(KERNEL, _mask)(int64_t lanes) {
    const int64_t most = lanes < LANES ? lanes : LANES;
    return (int)((1u << (most > 0 ? most : 0)) - 1);
}

/* The first `lanes` of a vector, if any; the others are 0. */
FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _load)(const ELEMENT *from, int64_t lanes) {
#if FLOW_MASKS
    return (VECTOR)FLOW_JOIN(FLOW_LOAD_, ELEMENT)(from, FLOW_JOIN(KERNEL, _mask)(lanes));
#else
    VECTOR vector = {0};
    if (lanes >= LANES) return *(const VECTOR *)from;
    for (int i = 0; i < LANES; i++)
        if (i < lanes) vector[i] = from[i];
    return vector;
#endif
}

FLOW_TILE void FLOW_JOIN(KERNEL, _store)(ELEMENT *to, VECTOR vector, int64_t lanes) {
#if FLOW_MASKS
    FLOW_JOIN(FLOW_STORE_, ELEMENT)(to, vector, FLOW_JOIN(KERNEL, _mask)(lanes));
#else
    if (lanes >= LANES) *(VECTOR *)to = vector;
    else
        for (int i = 0; i < LANES; i++)
            if (i < lanes) to[i] = vector[i];
#endif
}

FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _get)(const ELEMENT *from, const int whole, int64_t lanes) {
    return whole ? *(const VECTOR *)from : FLOW_JOIN(KERNEL, _load)(from, lanes);
}

FLOW_TILE void FLOW_JOIN(KERNEL, _put)(ELEMENT *to, VECTOR vector, const int whole, int64_t lanes) {
    if (whole) *(VECTOR *)to = vector;
    else FLOW_JOIN(KERNEL, _store)(to, vector, lanes);
}

FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _sqrt)(VECTOR a) {
#ifdef FLOW_SQRT_float
    return (VECTOR)FLOW_JOIN(FLOW_SQRT_, ELEMENT)((FLOW_JOIN(FlowVector_, ELEMENT))a);
#else
    for (int i = 0; i < LANES; i++) a[i] = __builtin_sqrt(a[i]);
    return a;
#endif
}

/* y + a * b, rounded once where the processor can. */
FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _add_product)(VECTOR y, VECTOR a, VECTOR b) {
#ifdef FLOW_ADD_PRODUCT_float
    typedef FLOW_JOIN(FlowVector_, ELEMENT) Vector;
    return (VECTOR)FLOW_JOIN(FLOW_ADD_PRODUCT_, ELEMENT)((Vector)y, (Vector)a, (Vector)b);
#else
    return y + a * b;
#endif
}

/* The vector, as a number that becomes part of no other operation. */
FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _rounded)(VECTOR a) {
#if defined __x86_64__ || defined __aarch64__
    __asm__("" : "+" FLOW_OF_VECTORS("v", "x", "x", "w")(a));
#endif
    return a;
}

FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _maximum)(VECTOR a, VECTOR b) {
    return FLOW_CHOSEN(a < b, a, b);
}

FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _minimum)(VECTOR a, VECTOR b) {
    return FLOW_CHOSEN(b < a, a, b);
}

/* Of each lane a where that is chosen, else b. */
FLOW_TILE VECTOR FLOW_JOIN(KERNEL, _select)(CHOICE chosen, VECTOR a, VECTOR b) {
    return FLOW_CHOSEN(chosen, b, a);
}

/* The lanes that are not 0, as bits. */
FLOW_TILE uint32_t FLOW_JOIN(KERNEL, _not_zero)(VECTOR a) {
#ifdef FLOW_NOT_ZERO_float
    return (uint32_t)FLOW_JOIN(FLOW_NOT_ZERO_, ELEMENT)((FLOW_JOIN(FlowVector_, ELEMENT))a);
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++) bits |= (uint32_t)(a[i] != 0) << i;
    return bits;
#endif
}

FLOW_TILE int FLOW_JOIN(KERNEL, _is_finite)(VECTOR a) {
#ifdef FLOW_NOT_FINITE_float
    return !FLOW_JOIN(FLOW_NOT_FINITE_, ELEMENT)((FLOW_JOIN(FlowVector_, ELEMENT))a);
#else
    int all = 1;
    for (int i = 0; i < LANES; i++) all &= a[i] - a[i] == 0;
    return all;
#endif
}
