/* Upper: what XGETBV says is in use, if it changes when they are given up. */
#include "tests/codegen/upper.h"

#if defined __x86_64__
#include <cpuid.h>

enum { BY_SYSTEM = 1 << 27 /* leaf 1, ecx */, OF_USE = 1 << 2 /* leaf 13.1, eax */ };
enum { OF_256 = 1 << 2, OF_512 = 1 << 6 };

static bool are_told(void) {
    unsigned a, b, c = 0, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & BY_SYSTEM)) return false;
    return __get_cpuid_count(13, 1, &a, &b, &c, &d) && a & OF_USE;
}

static bool are_in_use(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & (OF_256 | OF_512);
}

bool upper_halves_are_used(void) {
    if (!are_told() || !are_in_use()) return false;
    __asm__ volatile("vzeroupper" ::: "memory");
    return !are_in_use();
}
#else
bool upper_halves_are_used(void) {
    return false;
}
#endif
