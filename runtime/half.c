/* Half: what the processor has for products of bf16. The registers of its matrix tiles are used by
 * processes that have asked Linux for them. */
#define _GNU_SOURCE
#include "runtime/half.h"

#include <stdatomic.h>
#include <stdbool.h>

#if defined __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PERMISSION_OF = 0x1023, TILE_DATA = 18 };   /* of arch_prctl */
enum { TILES = 1 << 24, TILES_OF_BF16 = 1 << 22 }; /* leaf 7, edx */
enum { PAIRS_OF_BF16 = 1 << 5 };                   /* leaf 7.1, eax */

static bool has_pairs(void) {
    unsigned a = 0, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & PAIRS_OF_BF16;
}

static bool has_tiles(void) {
    unsigned a, b, c, d = 0, both = TILES | TILES_OF_BF16;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & both) == both &&
           !syscall(SYS_arch_prctl, PERMISSION_OF, TILE_DATA);
}

static int find_means(void) {
    return has_tiles() ? FLOW_HALF_tiles : has_pairs() ? FLOW_HALF_pairs : FLOW_HALF_vectors;
}
#else
static int find_means(void) {
    return FLOW_HALF_vectors;
}
#endif

/* Threads that ask at once find the same. */
int flow_half_means(void) {
    static atomic_int known;
    int means = atomic_load_explicit(&known, memory_order_relaxed) - 1;
    if (means >= 0) return means;
    means = find_means();
    atomic_store_explicit(&known, means + 1, memory_order_relaxed);
    return means;
}
