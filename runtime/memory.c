/* Memory: huge pages save most page faults of a start-up and most TLB misses of a step. A fault of
 * 4 KiB takes a microsecond and more, one of 2 MiB less than a hundred. */
#define _GNU_SOURCE
#include "runtime/memory.h"

#include "runtime/flow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HUGE_PAGE = 2 << 20,
    SMALL_BLOCKS = 64 << 10 /* bytes of the heap before its huge page: a process may need no more */
};

void *memory_new(size_t size) {
    size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : FLOW_ALIGNMENT;
    if (size > SIZE_MAX / 2) return NULL;
    size_t rounded = (size + FLOW_ALIGNMENT) / FLOW_ALIGNMENT * FLOW_ALIGNMENT;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, rounded)) return NULL;
    if (alignment == HUGE_PAGE) madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}

/* A block that is asked for and not touched. */
static void *block_of(size_t size) {
    void *volatile block = malloc(size);
    return block;
}

/* glibc's heap serves blocks up to the size of the largest mapped one that was freed (mallopt(3)).
 * It begins where the process's data ends, and is made to go past the huge page before that is
 * touched. */
void memory_begin(void) {
    const size_t room = SMALL_BLOCKS + HUGE_PAGE;
    char *end = sbrk(0);
    const uintptr_t gap = -(uintptr_t)(end + SMALL_BLOCKS) % HUGE_PAGE;
    if (sbrk((intptr_t)gap) != end) return;
    free(block_of(room + SMALL_BLOCKS));
    void *block = block_of(room);
    char *page = end + gap + SMALL_BLOCKS;
    if ((char *)sbrk(0) >= page + HUGE_PAGE) madvise(page, HUGE_PAGE, MADV_HUGEPAGE);
    free(block);
}

/* Of a large block the system is asked for pages of zeros: what nobody touches takes no time, and
 * what several threads touch is cleared by all of them. */
static size_t clear_pages(char *memory, size_t size) {
    const size_t pages = size / HUGE_PAGE * HUGE_PAGE;
    return pages && !madvise(memory, pages, MADV_DONTNEED) ? pages : 0;
}

void *memory_zeroed(size_t size) {
    char *memory = memory_new(size);
    if (!memory) return NULL;
    const size_t cleared = clear_pages(memory, size);
    memset(memory + cleared, 0, size - cleared);
    return memory;
}
