/* Memory: huge pages save most page faults of a start-up and most TLB misses of a step. */
#define _GNU_SOURCE
#include "runtime/memory.h"

#include "runtime/flow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

void *memory_new(size_t size) {
    size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : FLOW_ALIGNMENT;
    if (size > SIZE_MAX / 2) return NULL;
    size_t rounded = (size + FLOW_ALIGNMENT) / FLOW_ALIGNMENT * FLOW_ALIGNMENT;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, rounded)) return NULL;
    if (alignment == HUGE_PAGE) madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}

void *memory_zeroed(size_t size) {
    void *memory = memory_new(size);
    return memory ? memset(memory, 0, size) : NULL;
}
