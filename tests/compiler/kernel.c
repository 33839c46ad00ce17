/* kernel.h: the random generator against its published vectors, pow against the C library in
 * double, f16 and bf16. What takes one number is in floats.c. */
#include "compiler/ops/kernel.h"
#include "compiler/ops/ops.h"

#include "tests/compiler/ulps.h"

#include <stdio.h>
#include <stdlib.h>

static int passed, failed;

static void expect(int holds, const char *what, double a, double b, double y, double wanted) {
    if (holds) passed++;
    else if (failed++ < 10) printf("%s(%a, %a) = %a, not %a\n", what, a, b, y, wanted);
}

/* Random123's kat_vectors, philox4x32 with 10 rounds: counter, key, result. */
static const uint32_t vectors[][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
     0x5001e420, 0x24126ea1},
};

static void check_generator(void) {
    for (int i = 0; i < 3; i++) {
        const uint32_t *v = vectors[i];
        FlowBlock y = flow_philox((FlowBlock){{v[0], v[1], v[2], v[3]}}, v[4], v[5]);
        for (int j = 0; j < 4; j++)
            expect(y.words[j] == v[6 + j], "philox", i, j, y.words[j], v[6 + j]);
    }
}

/* The moments of 2^20 numbers, each within 5 deviations. */
static void check_moments(void) {
    double uniform = 0, normal = 0, square = 0, n = 1 << 20;
    for (int64_t i = 0; i < 1 << 20; i++) {
        double z = random_normal(42, 7, i);
        uniform += random_uniform(42, 7, i) / n;
        normal += z / n;
        square += z * z / n;
    }
    expect(fabs(uniform - 0.5) < 0.0015, "mean of uniform", 0, 0, uniform, 0.5);
    expect(fabs(normal) < 0.005, "mean of normal", 0, 0, normal, 0);
    expect(fabs(square - 1) < 0.007, "variance of normal", 0, 0, square, 1);
}

static void check_pow(float a, float b) {
    float y = pow(a, b);
    double wanted = pow((double)a, (double)b);
    expect(ulps(y, wanted) <= op_info[OP_power].error, "pow", a, b, y, wanted);
}

static void check_special(void) {
    const float inf = __builtin_inff(), nan = __builtin_nanf("");
    const float values[] = {0,   -0.0f,  1,       -1,     2,         -2,          0.5f,  -0.5f,
                            3,   -3,     1e38f,   -1e38f, 16777216,  -16777215,   inf,   -inf,
                            nan, 1e-40f, -1e-40f, 1.5f,   88.72284f, -103.97208f, 1e-45f};
    const int count = sizeof values / sizeof *values;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) check_pow(values[i], values[j]);
    expect(max(nan, 1.0f) != max(nan, 1.0f), "max", nan, 1, max(nan, 1.0f), nan);
    expect(max(1.0f, nan) == 1, "max", 1, nan, max(1.0f, nan), 1);
    expect(min((uint8_t)200, (uint8_t)100) == 100, "min", 200, 100, 0, 100);
    expect(max((int64_t)1 << 40, 3) == (int64_t)1 << 40, "max", 0, 3, 0, 0);
}

/* Every float of 16 bits comes back; what lies between two goes to the nearer, or the even one. */
static void check_halves(void) {
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        float low = flow_load_f16((uint16_t)bits), high = flow_load_f16((uint16_t)(bits + 1));
        float middle = bits == 0x7bff ? 65520.0f : (low + high) / 2;
        uint32_t even = bits + (bits & 1);
        expect(flow_store_f16(low) == bits, "f16", bits, 0, low, 0);
        expect(flow_store_f16(-low) == (bits | 0x8000), "-f16", bits, 0, low, 0);
        expect(flow_store_f16(middle) == even, "f16 between", bits, 0, middle, even);
    }
    for (uint32_t bits = 0; bits < 0x7f80; bits++) {
        float low = flow_load_bf16((uint16_t)bits);
        float middle = flow_float_of_bits(bits << 16 | 0x8000);
        expect(flow_store_bf16(low) == bits, "bf16", bits, 0, low, 0);
        expect(flow_bits_bf16(flow_round_bf16(middle)) == flow_store_bf16(middle), "bf16 rounded",
               bits, 0, middle, 0);
        expect(flow_store_bf16(middle) == bits + (bits & 1), "bf16 between", bits, 0, middle, 0);
    }
    const float inf = __builtin_inff(), nan = __builtin_nanf("");
    expect(flow_round_f16(inf) == inf && flow_round_bf16(-inf) == -inf, "half inf", 0, 0, 0, 0);
    expect(flow_round_f16(1e30f) == inf && flow_round_f16(-1e-30f) == 0, "f16", 1e30, 0, 0, 0);
    expect(flow_round_f16(nan) != 0 && flow_round_f16(nan) != flow_round_f16(nan), "f16", nan, 0, 0,
           0);
    expect(flow_round_bf16(nan) != flow_round_bf16(nan), "bf16", nan, 0, 0, 0);
}

/* Bases of any size with powers that lead all over the floats, whole ones among them; bases close
 * to 1. */
static void check_powers(int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        FlowBlock block = flow_random_block(5, 6, i);
        float a = flow_float_of_bits(block.words[0] & 0x7fffffff);
        double power = flow_unit_f32(block.words[1]) * 310 - 155;
        float near = 1 + (float)((int32_t)(block.words[2] % 4096) - 2048) * 0x1p-24f;
        check_pow(a, (float)(power / flow_log2_normal(a)));
        check_pow(near, (float)(power / flow_log2_normal(near)));
        check_pow(i % 2 ? -a : a, rint((float)(power / flow_log2_normal(a))));
        check_pow(a, (float)(block.words[3] % 33) * 0.25f - 4);
    }
}

int main(void) {
    const char *longer = getenv("LONG");
    check_halves();
    check_generator();
    check_moments();
    check_special();
    for (int64_t i = 0; i < 1 << 20; i++)
        check_pow(random_uniform(1, 2, i) * 8 - 4 * (float)(i % 2),
                  i % 2 ? (float)(i % 41 - 20) : random_uniform(1, 3, i) * 20 - 10);
    check_powers(longer && *longer ? 1 << 25 : 1 << 18);
    printf("kernel: %d passed", passed);
    if (failed) printf(", %d FAILED", failed);
    printf("\n");
    return failed != 0;
}
