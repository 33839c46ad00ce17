# However often a program uses them, functions of f32 are not called: a loop with a call is no
# vector code.
. tests/programs/lib/common.sh
cat >uses.c <<'EOF'
#include "kernel.h"
#define USE(name, formula)                                                                \
    void use_##name(const float *restrict x, const float *restrict z, float *restrict y,  \
                    int n) {                                                              \
        for (int i = 0; i < n; i++) {                                                     \
            const float a = x[i], b = z[i];                                               \
            y[i] = b + (formula);                                                         \
        }                                                                                 \
    }
#define USES(n)                                                                  \
    USE(exp##n, exp(a) * n) USE(log##n, log(a) * n) USE(tanh##n, tanh(a) * n)    \
    USE(erf##n, erf(a) * n) USE(sin##n, sin(a) * n) USE(cos##n, cos(a) * n)      \
    USE(pow##n, pow(a, b) * n) USE(log1p##n, log1p(a) * n)                       \
    USE(expm1##n, expm1(a) * n) USE(modulo##n, modulo(a, b) * n)                 \
    USE(normal##n, random_normal(n, n, i)) USE(uniform##n, random_uniform(n, n, i))
USES(1) USES(2) USES(3) USES(4)
EOF
flags="-O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math -fwrapv -I$root/compiler/ops"
for compiler in gcc clang clang-19; do
    command -v $compiler >/dev/null || continue
    $compiler $flags -S uses.c -o uses.s
    if grep -E '^\s*(callq?|bl)\s+flow_' uses.s; then fail "$compiler calls these"; fi
done
