/* What the compiler writes text with and keeps memory in: format_bytes beside vsnprintf, and what
 * an arena does with large memory. */
#include "lang/base/arena.h"
#include "lang/base/format.h"
#include "lang/base/vector.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64 };

static int passed, failed;

static void expect(bool holds, const char *what) {
    if (holds) passed++;
    else if (failed++ < 10) printf("not so: %s\n", what);
}

__attribute__((format(printf, 1, 2))) static void check_format(const char *format, ...) {
    for (size_t size = 0; size <= LONGEST; size++) {
        char own[LONGEST + 1], theirs[LONGEST + 1];
        memset(own, '#', sizeof own);
        memset(theirs, '#', sizeof theirs);
        va_list a, b;
        va_start(a, format);
        va_copy(b, a);
        const int length = format_bytes(own, size, format, a);
        const bool same = length == vsnprintf(theirs, size, format, b);
        expect(same && !memcmp(own, theirs, sizeof own), format);
        va_end(b);
        va_end(a);
    }
}

static void check_formats(void) {
    check_format("nothing");
    check_format("%s", "");
    check_format("<%s|%c|%%>", "text", 'x');
    check_format("%d %d %u", INT_MIN, 7, UINT_MAX);
    check_format("%zu %lld %lld %llu", SIZE_MAX, LLONG_MIN, 0LL, ULLONG_MAX);
    check_format("%.*s|%.*s|%.*s", 2, "text", 9, "text", -1, "text");
    check_format("%*s|%*s|%*s", 6, "text", -6, "text", 2, "text");
    check_format("%s %.17g", "text", 0.1);
    check_format("%5d%-3s%08x%ld", 7, "a", 255, 12L);
}

static void check_large(void) {
    Arena *arena = arena_new();
    Vector(int64_t) numbers = {0};
    const int64_t count = 1 << 20, *first = NULL;
    bool moved = false, kept = true;
    for (int64_t i = 0; i < count; i++) {
        vector_push(arena, &numbers, i);
        arena_allocate(arena, 24); /* something lies behind it */
        if (i == count / 4) first = numbers.items;
        moved |= first && numbers.items != first;
    }
    for (int64_t i = 0; i < count; i++) kept &= numbers.items[i] == i;
    expect(kept, "a vector keeps its numbers");
    expect(!moved, "a large one grows where it lies");
    arena_give_back(arena, numbers.items + 1);
    expect(numbers.items[count - 1] == count - 1, "what is no start of memory stays");
    arena_give_back(arena, numbers.items);
    arena_give_back(arena, NULL);
    const char *zeros = arena_allocate(arena, 8 << 20);
    expect(!zeros[0] && !memcmp(zeros, zeros + 1, (8 << 20) - 1), "large memory is zeroed");
    arena_free(arena);
}

/* KiB that the system may have to find, which it limits where it promises no more than it has. */
static long promised(void) {
    long size = 0;
    char line[128];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmData: %ld", &size);
    if (file) fclose(file);
    return size;
}

static void check_promised(void) {
    enum { SIZE = 8 << 20 };
    Arena *arena = arena_new();
    arena_allocate(arena, 1 << 17);
    const long before = promised();
    char *memory = arena_allocate(arena, SIZE);
    expect(promised() - before < 3 * SIZE >> 10, "room to grow into is not promised");
    expect(arena_extend(arena, memory, SIZE, 7 * SIZE), "it is there when it is wanted");
    memory[7 * SIZE - 1] = 1;
    expect(!arena_extend(arena, memory, 7 * SIZE, (size_t)100 * SIZE), "it ends");
    arena_free(arena);
    expect(promised() - before < SIZE >> 10, "all is given back");
}

int main(void) {
    check_formats();
    check_large();
    check_promised();
    printf("base: %d passed", passed);
    if (failed) printf(", %d FAILED", failed);
    printf("\n");
    return failed != 0;
}
