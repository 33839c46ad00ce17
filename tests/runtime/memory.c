/* Memory: what a process takes at its start costs a fault for all of it where there are huge pages;
 * blocks that are freed serve again. */
#include "runtime/memory.h"
#include "tests/runtime/test.h"

#include <stdint.h>
#include <sys/resource.h>

enum { BLOCK = 500 << 10, PAGE = 4096, HUGE_BLOCK = 3 << 20, MANY_PAGES = 24 << 20 };

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Sanitizers have a heap of their own. */
static bool is_glibcs_heap(void) {
#if defined __SANITIZE_ADDRESS__
    return false;
#elif defined __has_feature
    return !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
    return true;
#endif
}

/* Has the heap got one? The system may have none to give. */
static bool has_huge_page(void) {
    char line[256];
    long found = 0, kilobytes;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "AnonHugePages: %ld", &kilobytes) == 1) found += kilobytes;
    if (file) fclose(file);
    return found;
}

static bool is_written(const char *block, size_t size, char value) {
    for (size_t i = 0; i < size; i++)
        if (block[i] != value) return false;
    return true;
}

/* Of a block that is there in pages or in one. */
static void costs_few_faults(void) {
    long before = faults();
    char *block = memory_zeroed(BLOCK);
    long taken = faults() - before;
    CHECK(block && is_written(block, BLOCK, 0), "not zero");
    CHECK(!is_glibcs_heap() || !has_huge_page() || taken < BLOCK / PAGE / 2,
          "%ld faults for %d pages", taken, BLOCK / PAGE);
    memset(block, 1, BLOCK);
    free(block);
    before = faults();
    block = memory_zeroed(BLOCK);
    CHECK(block && is_written(block, BLOCK, 0), "used again: not zero");
    CHECK(!is_glibcs_heap() || faults() - before < BLOCK / PAGE / 2,
          "a block that was freed is not used again");
    free(block);
}

/* glibc's heap has large blocks from now on: a mapped one, of 32 MiB at most, was freed
 * (mallopt(3)). */
static void keep_freed_blocks(void) {
    void *volatile mapped = malloc(MANY_PAGES + 2 * HUGE_BLOCK);
    free(mapped);
}

/* Of a large block nothing is there before it is touched, and all of it is zero, also where it lies
 * in a block that was freed. */
static void takes_what_is_touched(void) {
    uintptr_t freed = 0;
    keep_freed_blocks();
    for (int turn = 0; turn < 2; turn++) {
        const long before = faults();
        char *block = memory_zeroed(MANY_PAGES);
        const long taken = faults() - before;
        CHECK(block && (!is_glibcs_heap() || taken < 8), "%ld faults before it is touched", taken);
        CHECK(block && is_written(block, MANY_PAGES, 0), "a large block is not zero");
        CHECK(!turn || !is_glibcs_heap() || (uintptr_t)block == freed, "it lies elsewhere");
        if (block) memset(block, 3, MANY_PAGES);
        freed = (uintptr_t)block;
        free(block);
    }
}

static void serves_any_size(void) {
    for (size_t size = 1; size <= HUGE_BLOCK; size = size * 3 + 1) {
        char *block = memory_new(size);
        CHECK(block && (uintptr_t)block % 64 == 0, "%zu bytes", size);
        if (block) memset(block, 2, size);
        free(block);
    }
}

int main(void) {
    memory_begin();
    costs_few_faults();
    takes_what_is_touched();
    serves_any_size();
    if (!test_failures && !has_huge_page()) {
        printf("no huge page: a sanitizer has its own heap, or the system gives none\n");
        return 77;
    }
    return test_result();
}
