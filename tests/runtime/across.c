/* Across: columns become rows, and rows stand beside each other, whatever their number and size. */
#include "runtime/product/across.h"
#include "tests/runtime/test.h"

#include <string.h>

enum { MOST = 40, LANES = 16, GAP = 3, PLACES = MOST * (MOST + GAP) };

typedef void Across(void *to, int64_t apart, const void *from, int64_t stride, int64_t columns,
                    int64_t count);
typedef void Beside(void *to, int64_t lanes, const void *from, int64_t columns, int64_t count);

/* Places next to each other differ, and so do nearly all others. */
static void fill(unsigned char *bytes, int size, int start) {
    for (int i = 0; i < PLACES * size; i++)
        bytes[i] = (unsigned char)((i / size + start) * 7 + i % size);
}

static _Alignas(64) unsigned char from[PLACES * 8], to[PLACES * 8], expected[PLACES * 8];

static void begin(int size) {
    fill(from, size, 0);
    fill(to, size, 91);
    memcpy(expected, to, sizeof expected);
}

static void expect(int size, int64_t at, int64_t source) {
    memcpy(expected + at * size, from + source * size, (size_t)size);
}

static void goes_across(Across *across, int size, int columns, int count) {
    const int apart = columns + GAP, stride = count + 1;
    begin(size);
    for (int i = 0; i < count; i++)
        for (int c = 0; c < columns; c++) expect(size, i * apart + c, c * stride + i);
    across(to, apart, from, stride, columns, count);
    CHECK(!memcmp(to, expected, sizeof to), "%d rows of %d columns, %d bytes each", count, columns,
          size);
}

static void stands_beside(Beside *beside, int size, int columns, int count) {
    begin(size);
    for (int lane = 0; lane < LANES; lane++)
        for (int j = 0; j < columns; j++)
            expect(size, j * LANES + lane, (lane < count ? lane : count - 1) * columns + j);
    beside(to, LANES, from, columns, count);
    CHECK(!memcmp(to, expected, sizeof to), "%d rows of %d beside each other, %d bytes each", count,
          columns, size);
}

static void all_sizes(Across *across, Beside *beside, int size) {
    for (int columns = 1; columns < MOST; columns++)
        for (int count = 1; count < MOST; count++) goes_across(across, size, columns, count);
    for (int columns = 1; columns < MOST; columns++)
        for (int count = 1; count <= LANES; count++) stands_beside(beside, size, columns, count);
}

/* Declares those of another kind of processor, and tests them. */
#define TEST_OF(bytes, suffix)                                                      \
    FLOW_MOVES_ACROSS(flow_across_##bytes##suffix, flow_beside_##bytes##suffix)     \
    static void of_##bytes##suffix(void) {                                          \
        all_sizes(flow_across_##bytes##suffix, flow_beside_##bytes##suffix, bytes); \
    }
#if defined __x86_64__
TEST_OF(4, _v3)
TEST_OF(4, _v4)
#endif

int main(void) {
    all_sizes(flow_across_1, flow_beside_1, 1);
    all_sizes(flow_across_2, flow_beside_2, 2);
    all_sizes(flow_across_4, flow_beside_4, 4);
    all_sizes(flow_across_8, flow_beside_8, 8);
#if defined __x86_64__
    if (__builtin_cpu_supports("x86-64-v3")) of_4_v3();
    if (__builtin_cpu_supports("x86-64-v4")) of_4_v4();
#endif
    return test_result();
}
