/* kernel.h: the functions that the formulas of ops.def call, for generated C.
 *
 * The f32 functions are branch-free polynomials, so that loops over them become vector code
 * with -O3 -fno-math-errno -fno-trapping-math; the f64 ones are the C library's. ops.def states
 * their errors. With FLOW_EXACT, f32 takes those of f64, rounded. The generic names (exp, max, …)
 * clash with math.h: don't include both. */
#ifndef FLOW_KERNEL_H
#define FLOW_KERNEL_H

#ifndef __CUDACC__ /* templates/cuda.h has them there */
#include <stddef.h>
#include <stdint.h>
#endif

/* A call inside a loop would keep it from becoming vector code. */
#define FLOW_INLINE static inline __attribute__((always_inline))

FLOW_INLINE uint32_t flow_bits_f32(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

FLOW_INLINE float flow_float_of_bits(uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/* condition ? a : b without a branch: where a loop does not become vectors, half of the time the
 * processor would guess wrong. */
FLOW_INLINE float flow_choose(uint8_t condition, float a, float b) {
    const uint32_t mask = -(uint32_t)(condition != 0);
    return flow_float_of_bits((flow_bits_f32(a) & mask) | (flow_bits_f32(b) & ~mask));
}

FLOW_INLINE uint64_t flow_bits_f64(double value) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

FLOW_INLINE double flow_double_of_bits(uint64_t bits) {
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- f16 and bf16 -------------------------------------------------------------------------
 * Stored in 16 bits and computed as float: rounded to the nearest, the even one of two. */

FLOW_INLINE float flow_load_bf16(uint16_t bits) {
    return flow_float_of_bits((uint32_t)bits << 16);
}

FLOW_INLINE uint16_t flow_store_bf16(float value) {
    uint32_t bits = flow_bits_f32(value);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    return (uint16_t)((value == value ? rounded : bits | 0x400000) >> 16);
}

/* Of a value that bf16 has, as flow_round_bf16 gives it: loops that did all of flow_store_bf16
 * twice would not become vectors. */
FLOW_INLINE uint16_t flow_bits_bf16(float value) {
    return (uint16_t)(flow_bits_f32(value) >> 16);
}

FLOW_INLINE float flow_load_f16(uint16_t bits) {
    uint32_t size = (uint32_t)(bits & 0x7fff) << 13;
    float denormal = (float)(int32_t)(bits & 0x3ff) * 0x1p-24f;
    uint32_t value = size + (112u << 23);
    value = size >= 0x0f800000 ? value + (112u << 23) : value;
    value = size < 0x00800000 ? flow_bits_f32(denormal) : value;
    return flow_float_of_bits(value | (uint32_t)(bits & 0x8000) << 16);
}

/* Small numbers are rounded by adding 2^-1, whose last place is the smallest f16, 2^-24. */
FLOW_INLINE uint16_t flow_store_f16(float value) {
    uint32_t bits = flow_bits_f32(value), size = bits & 0x7fffffff;
    uint32_t normal = (size + 0xfff + (size >> 13 & 1) - (112u << 23)) >> 13;
    uint32_t small = flow_bits_f32(flow_float_of_bits(size) + 0.5f) - 0x3f000000;
    uint32_t half = size < 0x38800000 ? small : normal;
    half = size >= 0x477ff000 ? 0x7c00 : half;
    half = size > 0x7f800000 ? 0x7e00 : half;
    return (uint16_t)(half | (bits >> 16 & 0x8000));
}

FLOW_INLINE float flow_round_bf16(float value) {
    return flow_load_bf16(flow_store_bf16(value));
}

FLOW_INLINE float flow_round_f16(float value) {
    return flow_load_f16(flow_store_f16(value));
}

/* ---- Maxima and minima --------------------------------------------------------------------
 * As the comparison is written: when either operand is NaN, the result is a. */

#define FLOW_EXTREMES(type, suffix)                      \
    FLOW_INLINE type flow_max_##suffix(type a, type b) { \
        return a < b ? b : a;                            \
    }                                                    \
    FLOW_INLINE type flow_min_##suffix(type a, type b) { \
        return b < a ? b : a;                            \
    }
FLOW_EXTREMES(float, f32)
FLOW_EXTREMES(double, f64)
FLOW_EXTREMES(int32_t, i32)
FLOW_EXTREMES(int64_t, i64)
#undef FLOW_EXTREMES

/* exp, log, tanh. */

/* e^r - 1, where x = *n ln 2 + r. The sum with 1.5 · 2^23 rounds to a whole number, in its low
 * bits. */
FLOW_INLINE float flow_exp_rest(float x, int32_t *n) {
    const float rounder = 12582912.0f;
    float shifted = x * 1.44269504f + rounder;
    float whole = shifted - rounder;
    float r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    *n = (int32_t)(flow_bits_f32(shifted) - flow_bits_f32(rounder));
    return p * (r * r) + r;
}

/* Two factors make 2^n, so that denormal results come out right. */
FLOW_INLINE float flow_exp_f32(float x) {
    int32_t power;
    float bounded = x < -104.0f ? -104.0f : x;
    float y = flow_exp_rest(bounded > 89.0f ? 89.0f : bounded, &power) + 1.0f;
    int32_t half = power >> 1;
    float low = flow_float_of_bits((uint32_t)(half + 127) << 23);
    float high = flow_float_of_bits((uint32_t)(power - half + 127) << 23);
    return y * low * high;
}

/* Of x within ±80, or NaN. */
FLOW_INLINE float flow_exp_small(float x) {
    int32_t power;
    float y = flow_exp_rest(x, &power) + 1.0f;
    return y * flow_float_of_bits((uint32_t)(power + 127) << 23);
}

/* Of Sun's FDLIBM: in z = s^2, where s = f / (2 + f) and 1 + f is in [sqrt 1/2, sqrt 2). */
FLOW_INLINE float flow_log_series(float z) {
    float p = 0.24279078841f;
    p = p * z + 0.28498786688f;
    p = p * z + 0.40000972152f;
    p = p * z + 0.66666662693f;
    return p;
}

/* k ln 2 + log(1 + f), by that series. */
FLOW_INLINE float flow_log_f32(float x) {
    const float infinity = __builtin_inff();
    int denormal = x < 1.17549435e-38f;
    uint32_t bits = flow_bits_f32(denormal ? x * 33554432.0f : x) + (0x3f800000 - 0x3f3504f3);
    float k = (float)((int32_t)(bits >> 23) - (denormal ? 127 + 25 : 127));
    float f = flow_float_of_bits((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    float s = f / (2.0f + f), z = s * s;
    float p = flow_log_series(z);
    float half = 0.5f * f * f;
    float tail = s * (half + p * z) + k * 9.0580006145e-6f;
    float y = k * 6.9313812256e-1f - ((half - tail) - f);
    float other = x == 0.0f ? -infinity : __builtin_nanf("");
    y = x == infinity ? x : y;
    return x > 0.0f ? y : other;
}

/* An odd polynomial near 0, 1 - 2 / (e^2|x| + 1) elsewhere. */
FLOW_INLINE float flow_tanh_f32(float x) {
    float size = __builtin_fabsf(x), z = x * x;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float near = p * z * size + size;
    float bounded = size > 10.0f ? 10.0f : size;
    float far = 1.0f - 2.0f / (flow_exp_small(2.0f * bounded) + 1.0f);
    return __builtin_copysignf(size < 0.625f ? near : far, x);
}

/* expm1, log1p, erf. */

/* 2^n (e^r - 1) + (2^n - 1), where x = n ln 2 + r; of the half of all that, so that 2^n is a number
 * even where the result is not. */
FLOW_INLINE float flow_expm1_f32(float x) {
    int32_t power;
    float bounded = x < -18.0f ? -18.0f : x;
    float p = flow_exp_rest(bounded > 89.0f ? 89.0f : bounded, &power);
    float half = flow_float_of_bits((uint32_t)(power + 126) << 23);
    float y = 2.0f * (half * p + (half - 0.5f));
    return x == 0.0f ? x : y;
}

/* As flow_log_f32 of 1 + x, whose rounding `lost` is put back: d / (1 + f), where 1 / (1 + f) is
 * (1 - s) / (1 + s). */
FLOW_INLINE float flow_log1p_f32(float x) {
    const float infinity = __builtin_inff();
    float sum = 1.0f + x;
    float lost = x < 1.0f ? x - (sum - 1.0f) : 1.0f - (sum - x);
    uint32_t bits = flow_bits_f32(sum) + (0x3f800000 - 0x3f3504f3);
    int32_t power = (int32_t)(bits >> 23) - 127;
    float k = (float)power;
    float f = flow_float_of_bits((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    int32_t least = power < 100 ? power : 100; /* beyond that nothing is lost that counts */
    float d = lost * flow_float_of_bits((uint32_t)(127 - least) << 23);
    float s = f / (2.0f + f), z = s * s;
    float p = flow_log_series(z);
    float half = 0.5f * f * f;
    float rest = d * (1.0f - 2.0f * s * (1.0f - s));
    float tail = s * (half + p * z) + (k * 9.0580006145e-6f + rest);
    float y = k * 6.9313812256e-1f - ((half - tail) - f);
    float other = x == -1.0f ? -infinity : __builtin_nanf("");
    y = ((x == infinity) | (x == 0.0f)) ? x : y;
    return x > -1.0f ? y : other;
}

/* An odd polynomial near 0, 1 - e^(-x^2) q(|x|) elsewhere, both with the least error there is
 * beside the result. The exponential is that of the gradient: compilers compute it once where both
 * are wanted. */
FLOW_INLINE float flow_erf_f32(float x) {
    float size = __builtin_fabsf(x), z = x * x;
    float p = -5.919418665e-4f;
    p = p * z + 4.979130552e-3f;
    p = p * z - 2.675703516e-2f;
    p = p * z + 0.112815525f;
    p = p * z - 0.3761246864f;
    float near = x + x * (p * z + 0.1283791458f);
    float far = (size > 4.0f ? 4.0f : size) - 1.5f;
    float q = -0.0004521031857f;
    q = q * far + 0.00204110032f;
    q = q * far - 0.005330256449f;
    q = q * far + 0.01332318763f;
    q = q * far - 0.03289281279f;
    q = q * far + 0.07615985585f;
    q = q * far - 0.163624239f;
    q = q * far + 0.321585229f;
    far = 1.0f - flow_exp_f32(-x * x) * q;
    return size < 0.9375f ? near : __builtin_copysignf(far, x);
}

/* pow. */

/* log2 of a normal a > 0. 2^52 + exponent turns the exponent's bits into a number without a
 * conversion that AVX2 lacks. */
FLOW_INLINE double flow_log2_normal(double a) {
    uint64_t bits = flow_bits_f64(a) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    double k = flow_double_of_bits(bits >> 52 | 0x4330000000000000) - (4503599627370496.0 + 1023);
    double m = flow_double_of_bits((bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1.0;
    return k + p * s * 2.8853900817779268;
}

/* 2^x, past 2^±200 no further. */
FLOW_INLINE double flow_exp2_bounded(double x) {
    const double rounder = 6755399441055744.0;
    double bounded = x < -200 ? -200 : x;
    bounded = bounded > 200 ? 200 : bounded;
    double shifted = bounded + rounder;
    double r = (bounded - (shifted - rounder)) * 0.69314718055994531;
    double p = 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return flow_double_of_bits(flow_bits_f64(p) + (flow_bits_f64(shifted) << 52));
}

/* 2^(b log2 |a|) in double, where every float is normal; then the sign and the special cases of
 * C's pow, written without `&&` because gcc makes branches of it. */
FLOW_INLINE float flow_pow_f32(float a, float b) {
    const double infinity = __builtin_inf(), rounder = 6755399441055744.0;
    double base = a, power = b, size = __builtin_fabs(base);
    int large = __builtin_fabs(power) >= 16777216.0; /* every such float is even */
    double shifted = power + rounder;
    int whole = (shifted - rounder == power) | large;
    uint64_t odd = large ? 0 : flow_bits_f64(shifted) & (uint64_t)whole;
    double y = flow_exp2_bounded(power * flow_log2_normal(size));
    double at_edge = power > 0 ? size : 1 / size;
    y = ((size == 0) | (size == infinity)) ? at_edge : y;
    y = size == 1 ? 1 : y;
    y = flow_double_of_bits(flow_bits_f64(y) | (flow_bits_f64(base) >> 63 & odd) << 63);
    y = ((base < 0) & (base != -infinity) & !whole) ? __builtin_nan("") : y;
    y = ((base != base) | (power != power)) ? base + power : y;
    y = ((base == 1) | (power == 0)) ? 1 : y;
    return (float)y;
}

/* Sine and cosine, by way of double. */

/* x in quarter turns: how far from the nearest whole one, whose number modulo 4 is *quarter.
 * 2 / π in parts of 28 bits: each product with a float is exact, multiples of 4 are dropped from
 * each, and the rest is added exactly until it no longer matters. */
FLOW_INLINE double flow_quarter_turns(double x, uint64_t *quarter) {
    static const double parts[] = {0x1.45f306cp-1,  0x1.c9c882ap-29,  0x1.4fe13aap-59,
                                   0x1.e8fa9a6p-87, 0x1.dc0db62p-116, 0x1.2b32788p-145,
                                   0x1.c820ff2p-175};
    const double rounder = 6755399441055744.0;
    double sum = 0, whole = 0;
    for (int i = 0; i < 7; i++) {
        double product = x * parts[i];
        product -= (product + 4 * rounder) - 4 * rounder;
        sum += product;
        double turns = (sum + rounder) - rounder;
        sum -= turns;
        whole += turns;
    }
    *quarter = flow_bits_f64(whole + rounder);
    return sum;
}

/* The sine of x quarter turns plus `more` of them, by the series of sine and cosine. What is chosen
 * of 64 bits is written as masks, for processors that can't compare so many. */
FLOW_INLINE float flow_sine_quarters(float x, uint64_t more) {
    uint64_t quarter;
    double r = flow_quarter_turns(x, &quarter) * 1.5707963267948966, z = r * r;
    double s = -1.0 / 39916800;
    s = s * z + 1.0 / 362880;
    s = s * z - 1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z - 1.0 / 6;
    s = s * z * r + r;
    double c = -1.0 / 3628800;
    c = c * z + 1.0 / 40320;
    c = c * z - 1.0 / 720;
    c = c * z + 1.0 / 24;
    c = c * z - 0.5;
    c = c * z + 1.0;
    quarter += more;
    uint64_t sine = flow_bits_f64(s), cosine = flow_bits_f64(c);
    uint64_t y = sine ^ ((sine ^ cosine) & (0 - (quarter & 1)));
    return (float)flow_double_of_bits(y ^ (quarter & 2) << 62);
}

FLOW_INLINE float flow_sin_f32(float x) {
    float y = flow_sine_quarters(x, 0);
    return x == 0.0f ? x : y;
}

FLOW_INLINE float flow_cos_f32(float x) {
    return flow_sine_quarters(x, 1);
}

/* ---- Remainders ---------------------------------------------------------------------------
 * a - b · floor(a / b): the sign is b's. Of integers, division by 0 gives 0 and leaves 0. */

/* Exact, but for its rounding, while |a / b| < 2^29; beyond that a value between 0 and b. */
FLOW_INLINE float flow_modulo_f32(float a, float b) {
    const double infinity = __builtin_inf();
    double x = a, y = b, r = x - __builtin_floor(x / y) * y;
    r = ((r != 0) & ((r < 0) != (y < 0))) ? r + y : r;
    r = __builtin_fabs(r) <= __builtin_fabs(y) ? r : y - y;
    double small = ((x != 0) & ((x < 0) != (y < 0))) ? y : x;
    r = ((__builtin_fabs(y) == infinity) & (__builtin_fabs(x) < infinity)) ? small : r;
    int undefined = (y == 0) | (x != x) | (y != y) | (__builtin_fabs(x) == infinity);
    return (float)(undefined ? __builtin_nan("") : r);
}

FLOW_INLINE double flow_modulo_f64(double a, double b) {
    double r = __builtin_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

#define FLOW_DIVISION(type, unsigned_type, suffix)            \
    FLOW_INLINE type flow_quotient_##suffix(type a, type b) { \
        if (b == 0) return 0;                                 \
        if (b == -1) return (type)(0 - (unsigned_type)a);     \
        return a / b - (a % b != 0 && (a < 0) != (b < 0));    \
    }                                                         \
    FLOW_INLINE type flow_modulo_##suffix(type a, type b) {   \
        type r = b == 0 || b == -1 ? 0 : a % b;               \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;      \
    }
FLOW_DIVISION(int32_t, uint32_t, i32)
FLOW_DIVISION(int64_t, uint64_t, i64)
#undef FLOW_DIVISION

/* ---- Random numbers -----------------------------------------------------------------------
 * Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
 * (2011). The seed is the key; stream and index are the counter, so each number is known from
 * its place alone, whoever computes it. */

typedef struct FlowBlock {
    uint32_t words[4];
} FlowBlock;

FLOW_INLINE FlowBlock flow_philox(FlowBlock counter, uint32_t key0, uint32_t key1) {
    uint32_t c0 = counter.words[0], c1 = counter.words[1];
    uint32_t c2 = counter.words[2], c3 = counter.words[3];
    for (int turn = 0; turn < 10; turn++) {
        uint64_t first = (uint64_t)0xd2511f53 * c0, second = (uint64_t)0xcd9e8d57 * c2;
        c0 = (uint32_t)(second >> 32) ^ c1 ^ key0;
        c1 = (uint32_t)second;
        c2 = (uint32_t)(first >> 32) ^ c3 ^ key1;
        c3 = (uint32_t)first;
        key0 += 0x9e3779b9;
        key1 += 0xbb67ae85;
    }
    const FlowBlock block = {{c0, c1, c2, c3}};
    return block;
}

FLOW_INLINE FlowBlock flow_random_block(int64_t seed, int64_t stream, int64_t index) {
    uint64_t key = (uint64_t)seed, high = (uint64_t)stream, low = (uint64_t)index;
    FlowBlock counter = {
        {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)}};
    return flow_philox(counter, (uint32_t)key, (uint32_t)(key >> 32));
}

/* The first word; the first two, the second one above the first. As vector code they are best
 * written by hand: runtime/random.h. */
#if defined FLOW_RANDOM_VECTORS && defined __x86_64__
#pragma omp declare simd uniform(seed, stream) notinbranch
__attribute__((const)) uint32_t flow_random_word(int64_t seed, int64_t stream, int64_t index);
#pragma omp declare simd uniform(seed, stream) notinbranch
__attribute__((const)) uint64_t flow_random_words(int64_t seed, int64_t stream, int64_t index);
#else
FLOW_INLINE uint32_t flow_random_word(int64_t seed, int64_t stream, int64_t index) {
    return flow_random_block(seed, stream, index).words[0];
}

FLOW_INLINE uint64_t flow_random_words(int64_t seed, int64_t stream, int64_t index) {
    const FlowBlock block = flow_random_block(seed, stream, index);
    return (uint64_t)block.words[1] << 32 | block.words[0];
}
#endif

/* One of the 2^24 multiples of 2^-24 in [0, 1). */
FLOW_INLINE float flow_unit_f32(uint32_t word) {
    return (float)(int32_t)(word >> 8) * 0x1p-24f;
}

FLOW_INLINE float flow_random_uniform(int64_t seed, int64_t stream, int64_t index) {
    return flow_unit_f32(flow_random_word(seed, stream, index));
}

/* cos 2πu for u in [0, 1], as the sine of the distance from the nearest zero (the polynomial is
 * Abramowitz and Stegun's 4.3.97). */
FLOW_INLINE float flow_cos_turn_f32(float u) {
    float x = (__builtin_fabsf(u - 0.5f) - 0.25f) * 6.28318531f, z = x * x;
    float p = -0.0000000239f;
    p = p * z + 0.0000027526f;
    p = p * z - 0.0001984090f;
    p = p * z + 0.0083333315f;
    p = p * z - 0.1666666664f;
    return p * z * x + x;
}

/* Box and Muller (1958): mean 0, deviation 1, of at most sqrt(48 ln 2) = 5.77. */
FLOW_INLINE float flow_random_normal(int64_t seed, int64_t stream, int64_t index) {
    const uint64_t words = flow_random_words(seed, stream, index);
    float u = flow_unit_f32((uint32_t)words) + 0x1p-24f;
    float radius = __builtin_sqrtf(-2.0f * flow_log_f32(u));
    return radius * flow_cos_turn_f32(flow_unit_f32((uint32_t)(words >> 32)));
}

/* The names used in ops.def. */

#define FLOW_BUILTIN_F32(function)                     \
    FLOW_INLINE float flow_##function##_f32(float a) { \
        return __builtin_##function##f(a);             \
    }
#define FLOW_BUILTIN_F64(function)                       \
    FLOW_INLINE double flow_##function##_f64(double a) { \
        return __builtin_##function(a);                  \
    }
FLOW_BUILTIN_F32(sqrt)
FLOW_BUILTIN_F32(fabs)
FLOW_BUILTIN_F32(floor)
FLOW_BUILTIN_F32(ceil)
FLOW_BUILTIN_F32(trunc)
FLOW_BUILTIN_F32(rint)
FLOW_BUILTIN_F64(sqrt)
FLOW_BUILTIN_F64(fabs)
FLOW_BUILTIN_F64(floor)
FLOW_BUILTIN_F64(ceil)
FLOW_BUILTIN_F64(trunc)
FLOW_BUILTIN_F64(rint)
FLOW_BUILTIN_F64(exp)
FLOW_BUILTIN_F64(log)
FLOW_BUILTIN_F64(tanh)
FLOW_BUILTIN_F64(erf)
FLOW_BUILTIN_F64(expm1)
FLOW_BUILTIN_F64(log1p)
FLOW_BUILTIN_F64(sin)
FLOW_BUILTIN_F64(cos)
#undef FLOW_BUILTIN_F32
#undef FLOW_BUILTIN_F64

FLOW_INLINE double flow_pow_f64(double a, double b) {
    return __builtin_pow(a, b);
}
FLOW_INLINE float flow_rsqrt_f32(float a) {
    return 1 / __builtin_sqrtf(a);
}
FLOW_INLINE double flow_rsqrt_f64(double a) {
    return 1 / __builtin_sqrt(a);
}

/* Those of f32 that are not as exact as f32 can be: by way of f64. */
#define FLOW_EXACT_F32(function)                             \
    FLOW_INLINE float flow_##function##_exact_f32(float a) { \
        return (float)flow_##function##_f64((double)a);      \
    }
FLOW_EXACT_F32(exp)
FLOW_EXACT_F32(log)
FLOW_EXACT_F32(tanh)
FLOW_EXACT_F32(erf)
FLOW_EXACT_F32(expm1)
FLOW_EXACT_F32(log1p)
FLOW_EXACT_F32(sin)
FLOW_EXACT_F32(cos)
FLOW_EXACT_F32(rsqrt)
#undef FLOW_EXACT_F32

FLOW_INLINE float flow_pow_exact_f32(float a, float b) {
    return (float)flow_pow_f64((double)a, (double)b);
}

FLOW_INLINE int32_t flow_fabs_i32(int32_t a) {
    return a < 0 ? (int32_t)(0 - (uint32_t)a) : a;
}
FLOW_INLINE int64_t flow_fabs_i64(int64_t a) {
    return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
}

#ifndef __cplusplus /* templates/cuda_overloads.h has them there */
#define FLOW_FLOATING(function, a) \
    _Generic((a), float : flow_##function##_f32, default : flow_##function##_f64)
#ifdef FLOW_EXACT
#define FLOW_CLOSE(function, a) \
    _Generic((a), float : flow_##function##_exact_f32, default : flow_##function##_f64)
#else
#define FLOW_CLOSE FLOW_FLOATING
#endif
#define exp(a) FLOW_CLOSE(exp, a)(a)
#define log(a) FLOW_CLOSE(log, a)(a)
#define tanh(a) FLOW_CLOSE(tanh, a)(a)
#define rsqrt(a) FLOW_CLOSE(rsqrt, a)(a)
#define erf(a) FLOW_CLOSE(erf, a)(a)
#define expm1(a) FLOW_CLOSE(expm1, a)(a)
#define log1p(a) FLOW_CLOSE(log1p, a)(a)
#define sin(a) FLOW_CLOSE(sin, a)(a)
#define cos(a) FLOW_CLOSE(cos, a)(a)
#define pow(a, b) FLOW_CLOSE(pow, (a) + (b))((a), (b))
#define sqrt(a) FLOW_FLOATING(sqrt, a)(a)
#define floor(a) FLOW_FLOATING(floor, a)(a)
#define ceil(a) FLOW_FLOATING(ceil, a)(a)
#define trunc(a) FLOW_FLOATING(trunc, a)(a)
#define rint(a) FLOW_FLOATING(rint, a)(a)

/* Small integers compare as int32_t, as C promotes them. */
#define FLOW_NUMBER(function, a)              \
    _Generic((a), float                       \
             : flow_##function##_f32, double  \
             : flow_##function##_f64, int32_t \
             : flow_##function##_i32, default \
             : flow_##function##_i64)
#define max(a, b) FLOW_NUMBER(max, (a) + (b))((a), (b))
#define min(a, b) FLOW_NUMBER(min, (a) + (b))((a), (b))
#define modulo(a, b) FLOW_NUMBER(modulo, (a) + (b))((a), (b))
#define fabs(a) FLOW_NUMBER(fabs, (a))(a)
#define quotient(a, b) \
    _Generic((a) + (b), int32_t : flow_quotient_i32, default : flow_quotient_i64)((a), (b))
#endif

/* Is c to be lost to a b that is not finite? keep takes b where a is 2 all the same. */
#define flow_is_lost(b, c) (((b) - (b) != 0) & ((b) != (c)))
#define keep(a, b, c) ((a) > flow_is_lost(b, c) ? (b) : (c))

#define random_uniform(a, stream, index) flow_random_uniform((int64_t)(a), (stream), (index))
#define random_normal(a, stream, index) flow_random_normal((int64_t)(a), (stream), (index))

#endif
