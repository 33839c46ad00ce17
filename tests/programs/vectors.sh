# Loops over functions are vectors: no calls and hardly a scalar, by each compiler, for each level.
. tests/programs/lib/common.sh
[ "$(uname -m)" = x86_64 ] || { echo "vectors of other processors are not looked at"; exit 77; }
cat >loops.c <<'END'
#include "kernel.h"
#define LOOP(name, formula)                                             \
    void loop_##name(const float *restrict x, float *restrict y, long n) { \
        for (long i = 0; i < n; i++) {                                  \
            const float a = x[i];                                       \
            y[i] = formula;                                             \
        }                                                               \
    }
LOOP(exp, exp(a))
LOOP(log, log(a))
LOOP(tanh, tanh(a))
LOOP(erf, erf(a))
LOOP(expm1, expm1(a))
LOOP(log1p, log1p(a))
LOOP(sin, sin(a))
LOOP(cos, cos(a))
LOOP(rsqrt, rsqrt(a))
LOOP(sqrt, sqrt(a))
LOOP(pow, pow(a, 1.7f))
LOOP(fraction, 1 / a)
END
flags="-std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math -fwrapv -Wall -mprefer-vector-width=512"
widest() { case $1 in *v4) echo zmm ;; *v3) echo ymm ;; *) echo xmm ;; esac; }
for compiler in gcc clang-19; do
    command -v $compiler >/dev/null || continue
    for level in x86-64 x86-64-v3 x86-64-v4; do
        $compiler $flags -march=$level -I"$root/compiler/ops" -c loops.c -o loops.o 2>warnings
        [ ! -s warnings ] || fail "$(cat warnings)"
        objdump -d --no-show-raw-insn loops.o >text
        ! grep -q '\bcall' text || fail "$compiler, $level: a function is called"
        # Each loop has instructions on whole vectors that multiply, or add, or take roots.
        awk -v wide="$(widest $level)" '/^[0-9a-f]+ <loop_/ { name = $2; count[name] += 0 }
            /(mul|add|sqrt|div|fn?m[as].*)p[sd] / && $0 ~ wide { count[name]++ }
            END { for (name in count) if (!count[name]) print name }' text >scalar
        [ ! -s scalar ] || fail "$compiler, $level: not vectors: $(cat scalar)"
    done
done

# gcc makes random numbers several at a time, by runtime/random.c, and those of kernel.h alone.
cat >random.c <<'END'
#include "kernel.h"
void uniform(float *restrict y, int64_t seed, long n) {
    for (long i = 0; i < n; i++) y[i] = random_uniform(seed, 7, i - 5);
}
void normal(float *restrict y, int64_t seed, long n) {
    for (long i = 0; i < n; i++) y[i] = random_normal(seed, 7, i - 5);
}
END
cat >print.c <<'END'
#include <stdint.h>
#include <stdio.h>
void uniform(float *y, int64_t seed, long n);
void normal(float *y, int64_t seed, long n);
int main(void) {
    float y[101];
    for (long n = 0; n <= 101; n++) {
        uniform(y, -3 * n, n);
        for (long i = 0; i < n; i++) printf("%a\n", y[i]);
        normal(y, n << 33, n);
        for (long i = 0; i < n; i++) printf("%a\n", y[i]);
    }
}
END
runs() { case $1 in *v4) grep -qw avx512dq /proc/cpuinfo ;; *v3) grep -qw avx2 /proc/cpuinfo ;; esac; }
words() { case $1 in *v4) echo e ;; *v3) echo d ;; *) echo b ;; esac; }
plain="-std=gnu11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -I$root/compiler/ops"
gcc $plain random.c print.c -o alone && ./alone >expected
for level in x86-64 x86-64-v3 x86-64-v4; do
    gcc $plain -fopenmp-simd -DFLOW_RANDOM_VECTORS -mprefer-vector-width=512 -march=$level -c random.c -o random.o
    nm random.o | grep -q "U _ZGV$(words $level)N.*uuv_flow_random_word$" || fail "$level: $(nm random.o)"
    nm random.o | grep -q "U _ZGV$(words $level)N.*uuv_flow_random_words$" || fail "$level: $(nm random.o)"
    gcc -O2 -I"$root" random.o print.c "$root/runtime/random.c" -o several
    if runs $level; then ./several | cmp - expected || fail "$level: other numbers"; fi
done
