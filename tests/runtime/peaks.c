/* No arithmetic is much faster than the limits that --profile and --explain hold against it. */
#include "runtime/peaks.h"

#include "runtime/clock.h"
#include "runtime/product/product.h"
#include "tests/runtime/dense.h"
#include "tests/runtime/test.h"

enum { SIDE = 96, DEPTH = 128, TIMES = 50, CALLS = 20 };
enum { DOUBT = 2 };        /* times: others may take the processor while a limit is measured */
enum { MEASURED = 5 };     /* as often; the best of each counts */
enum { PAIRS_SLOWER = 2 }; /* times: Emerald Rapids begins half as many vdpbf16ps as FMAs */

#if defined __x86_64__
FlowMultiply flow_multiply_v4, flow_multiply_v3, flow_multiply_v1;
static FlowMultiply *fastest(void) {
    if (__builtin_cpu_supports("x86-64-v4")) return flow_multiply_v4;
    return __builtin_cpu_supports("x86-64-v3") ? flow_multiply_v3 : flow_multiply_v1;
}
#else
static FlowMultiply *fastest(void) {
    return flow_multiply;
}
#endif

/* Operations a second of a product by vectors, at best. */
static double rate_of_product(void) {
    static float a[SIDE * DEPTH], b[DEPTH * SIDE], sums[SIDE * SIDE];
    const FlowProduct product = dense_product(a, b, sums, SIDE, DEPTH, SIDE);
    double seconds = 1e9;
    for (int i = 0; i < TIMES; i++) {
        const int64_t before = clock_nanoseconds();
        for (int call = 0; call < CALLS; call++) fastest()(&product, 0, 0, SIDE, 0, SIDE);
        const double taken = (double)(clock_nanoseconds() - before) / 1e9 / CALLS;
        if (taken < seconds) seconds = taken;
    }
    return 2.0 * SIDE * SIDE * DEPTH / seconds;
}

/* The best of several. */
static Peaks measured(void) {
    Peaks best = peaks_measure(1);
    for (int i = 1; i < MEASURED; i++) {
        const Peaks again = peaks_measure(1);
        for (int kind = 0; kind <= FLOW_THIRDS; kind++)
            if (again.operations[kind] > best.operations[kind])
                best.operations[kind] = again.operations[kind];
    }
    return best;
}

int main(void) {
    const Peaks peaks = measured();
    const double product = rate_of_product();
    CHECK(product < DOUBT * peaks.operations[FLOW_SINGLE], "a product has %g of %g operations/s",
          product, peaks.operations[FLOW_SINGLE]);
    CHECK(peaks.operations[FLOW_DOUBLE] < DOUBT * peaks.operations[FLOW_SINGLE], "%g of f64",
          peaks.operations[FLOW_DOUBLE]);
    CHECK(peaks.operations[FLOW_HALVES] * DOUBT * PAIRS_SLOWER > peaks.operations[FLOW_SINGLE],
          "%g of bf16", peaks.operations[FLOW_HALVES]);
    return test_result();
}
