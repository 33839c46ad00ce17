/* Memory: offsets for the values of one function. Phase by phase, what is no longer needed is
 * given back, and each new buffer takes the smallest gap that holds it, the largest first. */
#include "compiler/plan/plan.h"

#include <stdlib.h>

typedef struct Gap {
    size_t offset, size;
} Gap;

typedef Vector(Gap) Gaps;

static int by_phase_and_size(const void *left, const void *right) {
    const Buffer *a = left, *b = right;
    if (a->first_phase != b->first_phase) return a->first_phase < b->first_phase ? -1 : 1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int by_last_phase(const void *left, const void *right) {
    const Buffer *a = *(Buffer *const *)left, *b = *(Buffer *const *)right;
    if (a->last_phase != b->last_phase) return a->last_phase < b->last_phase ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Gaps stay in order of offset and never touch. */
static void give_back(Arena *arena, Gaps *gaps, Gap gap) {
    size_t at = 0;
    while (at < gaps->count && gaps->items[at].offset < gap.offset) at++;
    vector_push(arena, gaps, gap);
    memmove(gaps->items + at + 1, gaps->items + at, (gaps->count - 1 - at) * sizeof gap);
    gaps->items[at] = gap;
    for (size_t i = at ? at - 1 : 0; i <= at && i + 1 < gaps->count;) {
        Gap *first = &gaps->items[i], *second = first + 1;
        if (first->offset + first->size != second->offset) {
            i++;
            continue;
        }
        first->size += second->size;
        gaps->count--;
        memmove(second, second + 1, (gaps->count - i - 1) * sizeof gap);
    }
}

static size_t take(Gaps *gaps, size_t size, size_t *end) {
    size_t best = gaps->count;
    for (size_t i = 0; i < gaps->count; i++)
        if (gaps->items[i].size >= size &&
            (best == gaps->count || gaps->items[i].size < gaps->items[best].size))
            best = i;
    if (best == gaps->count) {
        *end += size;
        return *end - size;
    }
    Gap *gap = &gaps->items[best];
    size_t offset = gap->offset;
    gap->offset += size;
    gap->size -= size;
    if (!gap->size) {
        gaps->count--;
        memmove(gap, gap + 1, (gaps->count - best) * sizeof *gap);
    }
    return offset;
}

size_t place_buffers(Arena *arena, FunctionPlan *plan, size_t base) {
    size_t count = plan->buffers.count, end = base, ended = 0;
    if (!count) return base;
    Buffer *buffers = plan->buffers.items;
    qsort(buffers, count, sizeof *buffers, by_phase_and_size);
    Buffer **ending = arena_new_array(arena, Buffer *, count);
    for (size_t i = 0; i < count; i++) ending[i] = &buffers[i];
    qsort(ending, count, sizeof *ending, by_last_phase);
    Gaps gaps = {0};
    for (size_t i = 0; i < count; i++) {
        while (ended < count && ending[ended]->last_phase < buffers[i].first_phase) {
            give_back(arena, &gaps, (Gap){ending[ended]->offset, ending[ended]->size});
            ended++;
        }
        buffers[i].offset = take(&gaps, buffers[i].size, &end);
    }
    return end;
}
