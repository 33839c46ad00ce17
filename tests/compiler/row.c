/* row.h: orders with equal values, zeros of both signs, infinities and NaN, both ways, for many
 * lengths and each type, beside those of heapsort. */
#include "compiler/ops/kernel.h"

#include "compiler/codegen/templates/row.h"

#include <stdio.h>

enum { LENGTH = 300 };

static int passed, failed;

static void expect(int holds, const char *what, int64_t count) {
    if (holds) passed++;
    else if (failed++ < 10) printf("%s of %lld values\n", what, (long long)count);
}

/* Few different values, and here and there one that is none. */
static void fill(float *a, int64_t count, uint32_t seed) {
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        a[i] = seed >> 28 == 0 ? __builtin_nanf("") : (float)(int32_t)(seed >> 24 & 15) - 8;
    }
}

/* May an element of value x stand before one of value z that comes later in the row? */
static int may_precede(float x, float z, int descends) {
    if (x != x || z != z) return z != z;
    return descends ? x >= z : x <= z;
}

static int is_order(const float *a, const int32_t *y, int64_t count, int descends) {
    int seen[LENGTH] = {0};
    for (int64_t i = 0; i < count; i++) {
        if (y[i] < 0 || y[i] >= count || seen[y[i]]++) return 0;
        if (!i) continue;
        float x = a[y[i - 1]], z = a[y[i]];
        int equal = x == z || (x != x && z != z);
        if (!may_precede(x, z, descends) || (equal && y[i - 1] > y[i])) return 0;
    }
    return 1;
}

static void check_small(void) {
    float a[LENGTH];
    int32_t y[LENGTH];
    for (int64_t count = 1; count <= LENGTH; count++) {
        fill(a, count, (uint32_t)count);
        flow_argsort_f32(a, y, count, count);
        expect(is_order(a, y, count, 0), "argsort", count);
        flow_argsort_descending_f32(a, y, count, count);
        expect(is_order(a, y, count, 1), "argsort_descending", count);
    }
}

/* Bits of all kinds, many of them once more; a third of rows have one value alone. */
static void fill_bits(unsigned char *bytes, size_t size, size_t width, uint32_t seed) {
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(seed >> 24);
        if (i >= width && (seed >> 20 & 3) == 0) bytes[i] = bytes[i % width];
    }
    for (size_t i = width; seed % 3 == 0 && i < size; i++) bytes[i] = bytes[i - width];
}

enum { LONGEST = 70000 };
static const int64_t lengths[] = {1, 2, 31, 32, 33, 256, 1000, 4096, 4097, LONGEST};
static const int64_t places[] = {1, 2, 5, 31, 32, 33, LONGEST};
static int32_t order[LONGEST], wanted[LONGEST];

#define CHECKS(suffix, stored)                                                                \
    static void check_##suffix(void) {                                                        \
        static stored a[LONGEST];                                                             \
        for (size_t i = 0; i < 3 * sizeof lengths / sizeof *lengths; i++) {                   \
            const int64_t count = lengths[i / 3];                                             \
            fill_bits((unsigned char *)a, (size_t)count * sizeof *a, sizeof *a, (uint32_t)i); \
            for (int descends = 0; descends < 2; descends++) {                                \
                flow_heapsort_##suffix(a, wanted, count, descends);                           \
                for (size_t j = 0; j < sizeof places / sizeof *places; j++) {                 \
                    const int64_t first = places[j] < count ? places[j] : count;              \
                    if (descends) flow_argsort_descending_##suffix(a, order, count, first);   \
                    else flow_argsort_##suffix(a, order, count, first);                       \
                    expect(!__builtin_memcmp(order, wanted, (size_t)first * sizeof *order),   \
                           #suffix, count);                                                   \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
    }
CHECKS(f32, float)
CHECKS(f64, double)
CHECKS(f16, uint16_t)
CHECKS(bf16, uint16_t)
CHECKS(i64, int64_t)
CHECKS(i32, int32_t)
CHECKS(i8, int8_t)
CHECKS(u8, uint8_t)

/* Equal zeros, what is next to them, infinities, NaN of both signs. */
static void check_special(void) {
    const float inf = __builtin_inff(), nan = __builtin_nanf("");
    const float some[] = {0, -0.0f, 0x1p-149f, -0x1p-149f, inf, -inf, nan, -nan, 1, -1};
    float a[100];
    for (int i = 0; i < 100; i++) a[i] = some[i * 7 % 10];
    flow_argsort_f32(a, order, 100, 100);
    expect(is_order(a, order, 100, 0), "argsort of zeros", 100);
    flow_argsort_descending_f32(a, order, 100, 100);
    expect(is_order(a, order, 100, 1), "argsort_descending of zeros", 100);
    for (int descends = 0; descends < 2; descends++) {
        flow_heapsort_f32(a, wanted, 100, descends);
        for (int first = 1; first <= 33; first++) {
            if (descends) flow_argsort_descending_f32(a, order, 100, first);
            else flow_argsort_f32(a, order, 100, first);
            expect(!__builtin_memcmp(order, wanted, (size_t)first * sizeof *order),
                   "first of zeros", first);
        }
    }
}

/* Each element comes before those found so far, and none does. */
static void check_ordered(void) {
    static float a[4096];
    for (int descends = 0; descends < 2; descends++) {
        for (int i = 0; i < 4096; i++) a[i] = (float)i;
        flow_heapsort_f32(a, wanted, 4096, descends);
        for (int first = 1; first <= 32; first *= 2) {
            if (descends) flow_argsort_descending_f32(a, order, 4096, first);
            else flow_argsort_f32(a, order, 4096, first);
            expect(!__builtin_memcmp(order, wanted, (size_t)first * sizeof *order),
                   "first of rising ones", first);
        }
    }
}

int main(void) {
    check_small();
    check_special();
    check_ordered();
    check_f32(), check_f64(), check_f16(), check_bf16();
    check_i64(), check_i32(), check_i8(), check_u8();
    printf("row: %d passed", passed);
    if (failed) printf(", %d FAILED", failed);
    printf("\n");
    return failed != 0;
}
