/* rates.cu: what `flowc calibrate` measures a GPU with (runtime/device/rates.c): arithmetic that
 * does not wait for itself, a copy, and nothing at all. Operands: where results go, where they come
 * from, turns. A thread's result is stored, so that nothing is left out. */
#include "cuda.h"

FLOW_GLOBAL(flow_rate_nothing, 32) {
    (void)arguments;
}

#define FLOW_ARITHMETIC(name, type)                                                 \
    FLOW_GLOBAL(name, 256) {                                                        \
        type *y = (type *)arguments.operands[0];                                    \
        type a = (type)(FLOW_THREAD & 3), b = a, c = a, d = a;                      \
        type e = a, f = a, g = a, h = a;                                            \
        for (int64_t turn = 0; turn < arguments.operands[2]; turn++) {              \
            a = a * a + (type)1, b = b * b + (type)2;                               \
            c = c * c + (type)3, d = d * d + (type)4;                               \
            e = e * e + (type)5, f = f * f + (type)6;                               \
            g = g * g + (type)7, h = h * h + (type)8;                               \
        }                                                                           \
        FLOW_STORE(y, FLOW_BLOCK * 256 + FLOW_THREAD, a + b + c + d + e + f + g + h); \
    }
FLOW_ARITHMETIC(flow_rate_single, float)
FLOW_ARITHMETIC(flow_rate_double, double)

FLOW_GLOBAL(flow_rate_copy, 256) {
    const float *a = (const float *)arguments.operands[1];
    float *y = (float *)arguments.operands[0];
    int64_t i = FLOW_BLOCK * 256 + FLOW_THREAD;
    FLOW_STORE(y, i, FLOW_LOAD(a, i));
}
