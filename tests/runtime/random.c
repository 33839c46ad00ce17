/* Random words: the published vectors, and those of several places at once beside those of one. */
#include "runtime/random.h"
#include "tests/runtime/test.h"

#ifdef __x86_64__

/* Random123's kat_vectors, philox4x32 with 10 rounds: counter, key, the first two words. */
static const uint32_t vectors[][8] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d},
    {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
     0x94fdcceb},
};

static int64_t joined(uint32_t low, uint32_t high) {
    return (int64_t)((uint64_t)high << 32 | low);
}

static void knows_published_vectors(void) {
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const uint32_t *v = vectors[i];
        const int64_t index = joined(v[0], v[1]), stream = joined(v[2], v[3]),
                      seed = joined(v[4], v[5]);
        const uint64_t words = flow_random_words(seed, stream, index);
        CHECK((int64_t)words == joined(v[6], v[7]), "%zu: %llx", i, (unsigned long long)words);
        CHECK(flow_random_word(seed, stream, index) == v[6], "%zu", i);
    }
}

/* Seed, stream and first index: of 64 bits each, and such as carry into the upper half. */
static const int64_t places[][3] = {
    {1, 0, 0},
    {-1, 7, -3},
    {0x123456789abcdef0, -5, 0xfffffffd},
    {(int64_t)0x8000000080000000, 0x7fffffffffffffff, INT64_MAX - 16}};
enum { PLACES = sizeof places / sizeof *places };

#define COMPARES(isa, lanes, all, machine)                                                         \
    typedef uint64_t Lanes_##isa __attribute__((vector_size(8 * lanes)));                          \
    typedef uint32_t Words_##isa __attribute__((vector_size(4 * all)));                            \
    __attribute__((target(machine))) Words_##isa _ZGV##isa##N##all##uuv_flow_random_word(          \
        int64_t seed, int64_t stream, Lanes_##isa index, Lanes_##isa other);                       \
    __attribute__((target(machine))) Lanes_##isa _ZGV##isa##N##lanes##uuv_flow_random_words(       \
        int64_t seed, int64_t stream, Lanes_##isa index);                                          \
    static __attribute__((target(machine))) void compares_##isa(const int64_t *at) {               \
        Lanes_##isa index, other;                                                                  \
        for (int i = 0; i < lanes; i++)                                                            \
            index[i] = (uint64_t)at[2] + (uint64_t)i, other[i] = index[i] + lanes;                 \
        const Words_##isa word =                                                                   \
            _ZGV##isa##N##all##uuv_flow_random_word(at[0], at[1], index, other);                   \
        const Lanes_##isa words = _ZGV##isa##N##lanes##uuv_flow_random_words(at[0], at[1], index); \
        for (int i = 0; i < all; i++) {                                                            \
            const uint64_t one =                                                                   \
                flow_random_words(at[0], at[1], (int64_t)((uint64_t)at[2] + (uint64_t)i));         \
            CHECK(word[i] == (uint32_t)one, #isa " %d", i);                                        \
            CHECK(i >= lanes || words[i] == one, #isa " %d", i);                                   \
        }                                                                                          \
    }
COMPARES(b, 2, 4, "sse2")
COMPARES(c, 2, 4, "avx")
COMPARES(d, 4, 8, "avx2")
COMPARES(e, 8, 16, "avx512f")

int main(void) {
    knows_published_vectors();
    for (int i = 0; i < PLACES; i++) {
        compares_b(places[i]);
        if (__builtin_cpu_supports("avx")) compares_c(places[i]);
        if (__builtin_cpu_supports("avx2")) compares_d(places[i]);
        if (__builtin_cpu_supports("avx512f")) compares_e(places[i]);
    }
    return test_result();
}
#else
int main(void) {
    puts("other processors take kernel.h's");
    return 77;
}
#endif
