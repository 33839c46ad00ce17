/* Spans: the file of each record, whatever files there are. */
#include "runtime/spans.h"
#include "tests/runtime/test.h"

/* sizes: of the files, which have a record at least. */
static void finds_all(const int *sizes, int count) {
    Spans spans;
    int64_t record = 0;
    CHECK(spans_new(count, &spans), "no memory");
    for (int i = 0; i < count; i++) spans.firsts[i + 1] = spans.firsts[i] + sizes[i];
    CHECK(spans_index(&spans, count), "no memory");
    for (int i = 0; i < count; i++)
        for (int j = 0; j < sizes[i]; j++, record++)
            CHECK(spans_find(&spans, record) == i, "%d files: record %d of file %d is in %d", count,
                  j, i, spans_find(&spans, record));
    spans_close(&spans);
}

static void finds_any(void) {
    int sizes[200];
    uint32_t chance = 1;
    for (int count = 1; count <= 200; count++) {
        for (int i = 0; i < count; i++) {
            chance = chance * 1664525 + 1013904223;
            sizes[i] = chance >> 31 ? (int)(chance >> 16 & 63) : 0;
        }
        sizes[chance >> 8 & 1 ? 0 : count - 1] = 1 + (int)(chance >> 20);
        finds_all(sizes, count);
    }
}

int main(void) {
    finds_all((int[]){1}, 1);
    finds_all((int[]){0, 0, 1, 0, 0}, 5);
    finds_all((int[]){1, 1, 1, 100000, 1, 1}, 6);
    finds_any();
    return test_result();
}
