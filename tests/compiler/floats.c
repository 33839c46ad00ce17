/* kernel.h: the f32 functions of one number against the C library in double, with and without fused
 * multiply-add, at the special values and at every 1009th float; LONG=1: at every float there is.
 * The bounds are those that ops.def states. `floats NAME…` tests these and prints the worst. */
#include "compiler/ops/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C library's functions, four at a time where it has them so: wrong by 4 units in the last
 * place of a double, which is nothing here. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define WIDE __attribute__((const, simd("notinbranch")))
#else
#define WIDE __attribute__((const))
#endif
WIDE double exp(double), log(double), tanh(double), erf(double), expm1(double), log1p(double),
    sin(double), cos(double);
double sqrt(double), rint(double), floor(double), ceil(double), trunc(double);

/* PLAIN: as fast as the processor can without fused multiply-add. */
#if defined(__x86_64__)
#define PLAIN __attribute__((target_clones("avx2", "default")))
#define FUSED __attribute__((target("avx2,fma")))
static int has_fused(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define PLAIN
#define FUSED
static int has_fused(void) {
    return 1;
}
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#endif

/* op, formula */
#define FUNCTIONS(FUNCTION)      \
    FUNCTION(exp, exp(a))        \
    FUNCTION(log, log(a))        \
    FUNCTION(tanh, tanh(a))      \
    FUNCTION(erf, erf(a))        \
    FUNCTION(expm1, expm1(a))    \
    FUNCTION(log1p, log1p(a))    \
    FUNCTION(rsqrt, 1 / sqrt(a)) \
    FUNCTION(sqrt, sqrt(a))      \
    FUNCTION(round, rint(a))     \
    FUNCTION(floor, floor(a))    \
    FUNCTION(ceil, ceil(a))      \
    FUNCTION(trunc, trunc(a))    \
    FUNCTION(sin, sin(a))        \
    FUNCTION(cos, cos(a))

enum { BLOCK = 4096 };
#define EACH_OF_BLOCK(type, formula)  \
    for (int i = 0; i < BLOCK; i++) { \
        const type a = x[i];          \
        y[i] = formula;               \
    }

#define WANTED(name, formula)                                    \
    PLAIN static void wanted_##name(const float *x, double *y) { \
        EACH_OF_BLOCK(double, formula)                           \
    }
FUNCTIONS(WANTED)

#include "compiler/ops/kernel.h"
#include "tests/compiler/ulps.h"

#define FOUND_PLAIN(name, formula)                             \
    PLAIN static void plain_##name(const float *x, float *y) { \
        EACH_OF_BLOCK(float, formula)                          \
    }
#define FOUND_FUSED(name, formula)                             \
    FUSED static void fused_##name(const float *x, float *y) { \
        EACH_OF_BLOCK(float, formula)                          \
    }
FUNCTIONS(FOUND_PLAIN)
FUNCTIONS(FOUND_FUSED)

typedef struct Function {
    Op op;
    void (*plain)(const float *x, float *y), (*fused)(const float *x, float *y);
    void (*wanted)(const float *x, double *y);
} Function;

static const Function functions[] = {
#define ROW(name, formula) {OP_##name, plain_##name, fused_##name, wanted_##name},
    FUNCTIONS(ROW)
#undef ROW
};

static const OpInfo stated[] = {
#define OP(name, formula, ...) {#name, #formula, __VA_ARGS__},
#include "compiler/ops/ops.def"
#undef OP
};

/* The largest error so far, and where. */
typedef struct Worst {
    double error;
    float x, y;
} Worst;

static void compare(const float *x, const float *y, const double *wanted, Worst *worst) {
    for (int i = 0; i < BLOCK; i++) {
        if (flow_bits_f32(y[i]) == flow_bits_f32((float)wanted[i])) continue;
        double error = ulps(y[i], wanted[i]);
        if (error > worst->error) *worst = (Worst){error, x[i], y[i]};
    }
}

static void check_block(const Function *function, const float *x, Worst *plain, Worst *fused) {
    static double wanted[BLOCK];
    static float y[BLOCK];
    function->wanted(x, wanted);
    function->plain(x, y);
    compare(x, y, wanted, plain);
    if (!has_fused()) return;
    function->fused(x, y);
    compare(x, y, wanted, fused);
}

static void fill_special(float *x) {
    const float inf = __builtin_inff(), nan = __builtin_nanf("");
    const float values[] = {0,   -0.0f,  1,       -1,     2,         -2,          0.5f,  -0.5f,
                            3,   -3,     1e38f,   -1e38f, 16777216,  -16777215,   inf,   -inf,
                            nan, 1e-40f, -1e-40f, 1.5f,   88.72284f, -103.97208f, 1e-45f};
    for (int i = 0; i < BLOCK; i++) x[i] = values[i % (int)(sizeof values / sizeof *values)];
}

static int says(const Function *function, const char *how, const Worst *worst, int loud) {
    const OpInfo *info = &stated[function->op];
    int failed = worst->error > (info->error > 0.5 ? info->error : 0.5);
    if (failed || loud)
        printf("%s%s: %.4f ulp at %a, %a%s\n", info->name, how, worst->error, worst->x, worst->y,
               failed ? "  FAILED" : "");
    return failed;
}

static int check_function(const Function *function, uint64_t step, int loud) {
    static float x[BLOCK];
    Worst plain = {0}, fused = {0};
    fill_special(x);
    check_block(function, x, &plain, &fused);
    for (uint64_t bits = 0; bits < 1ull << 32;) {
        for (int i = 0; i < BLOCK; i++, bits += step) x[i] = flow_float_of_bits((uint32_t)bits);
        check_block(function, x, &plain, &fused);
    }
    return says(function, "", &plain, loud) + says(function, ", fused", &fused, loud);
}

/* What states an error is tested here, or has two operands: kernel.c. */
static int count_untested(void) {
    int untested = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        int tested = stated[op].error == 0 || stated[op].arity != 1;
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            tested |= functions[i].op == (Op)op;
        if (!tested) printf("%s: is not tested here\n", stated[op].name);
        untested += !tested;
    }
    return untested;
}

int main(int argc, char **argv) {
    const char *longer = getenv("LONG");
    int every = longer && *longer, failed = count_untested();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        int named = argc == 1;
        for (int j = 1; j < argc; j++) named |= !strcmp(stated[functions[i].op].name, argv[j]);
        if (named) failed += check_function(&functions[i], every ? 1 : 1009, argc > 1 || every);
    }
    if (!has_fused()) printf("this processor has no fused multiply-add: checked without\n");
    printf("floats: %d failed\n", failed);
    return failed != 0;
}
