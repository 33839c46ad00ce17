/* row.h: orders with equal values, with NaN, both ways, for many lengths. */
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

int main(void) {
    float a[LENGTH];
    int32_t y[LENGTH];
    for (int64_t count = 1; count <= LENGTH; count++) {
        fill(a, count, (uint32_t)count);
        flow_argsort_f32(a, y, count);
        expect(is_order(a, y, count, 0), "argsort", count);
        flow_argsort_descending_f32(a, y, count);
        expect(is_order(a, y, count, 1), "argsort_descending", count);
    }
    printf("row: %d passed", passed);
    if (failed) printf(", %d FAILED", failed);
    printf("\n");
    return failed != 0;
}
