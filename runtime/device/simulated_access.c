/* Access: each element that a simulated kernel reads or writes comes by here. */
#include "runtime/device/simulated_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Wanted {
    Launch *launch;
    FlowAccess access;
    const void *base;
    int64_t index;
    size_t size; /* of the element */
    const void *value;
    int line;
} Wanted;

enum { UNWRITTEN = 0xff, PLACE_SIZE = 160 };

static const char *const verbs[] = {"reads", "writes", "updates"};

static Launch *launch_now;

static long long thread_of(const Launch *launch) {
    return launch->seen.thread;
}

static bool touch(const Wanted *wanted, Trace *trace, uint32_t first, Clash *clash) {
    const Launch *launch = wanted->launch;
    const int line = wanted->line < LINE_LIMIT ? wanted->line : LINE_LIMIT;
    return trace_touch(trace, &launch->epochs, first, wanted->access,
                       (uint32_t)launch->seen.thread & 1023, (uint32_t)line, clash);
}

/* place: which element it is. */
static _Noreturn void fail_race(const Wanted *wanted, const Clash *clash, const char *place,
                                bool equal) {
    const Launch *launch = wanted->launch;
    Touch before = clash->before;
    bool same_block = before.epoch >= launch->epochs.block;
    char other[64] = "";
    if (!same_block)
        snprintf(other, sizeof other, " of block %lld",
                 (long long)launch_block_at(launch, before.epoch));
    launch_fail(wanted->launch,
                "thread %lld %s %s at line %d, which thread %u%s %s%s at line %u, %s",
                thread_of(launch), verbs[wanted->access], place, wanted->line, before.thread, other,
                clash->wrote ? before.atomic ? "updated" : "wrote" : "read",
                equal ? " with the same value" : "", before.line,
                same_block ? "with no barrier between" : "and nothing orders blocks");
}

static bool is_equal(const Wanted *wanted, const Clash *clash, const void *element) {
    return clash->wrote && wanted->value && !memcmp(wanted->value, element, wanted->size);
}

/* Shared memory. */

static const SharedArray *find_array(const Wanted *wanted) {
    const Launch *launch = wanted->launch;
    for (int i = 0; i < launch->array_count; i++) {
        const SharedArray *array = &launch->arrays[i];
        if ((uintptr_t)wanted->base - (uintptr_t)array->memory < (size_t)array->count * array->size)
            return array;
    }
    launch_fail(wanted->launch, "thread %lld %s at line %d what is no array of the block",
                thread_of(launch), verbs[wanted->access], wanted->line);
}

/* What a box brought is there for who has seen its gate open, until something else is written.
 * False: no box brought it. */
static bool see_mark(const Wanted *wanted, const SharedArray *array, int64_t element) {
    Mark *mark = &array->marks[element];
    const Launch *launch = wanted->launch;
    if (!mark->gate) return false;
    if (launch->lanes[launch->seen.thread].seen[mark->gate - 1] <= mark->opened)
        launch_fail(wanted->launch,
                    "thread %lld %s %s[%lld] at line %d, and has not waited for the gate of the "
                    "box that comes there",
                    thread_of(launch), verbs[wanted->access], array->name, (long long)element,
                    wanted->line);
    if (wanted->access != FLOW_ACCESS_read) *mark = (Mark){0};
    return true;
}

/* The epoch since when touches of shared memory count: other blocks have other arrays. */
static uint32_t first_of_arrays(const Launch *launch) {
    return launch->epochs.block;
}

static void check_shared(const Wanted *wanted, const SharedArray *array, int64_t element) {
    Launch *launch = wanted->launch;
    Trace *trace = &array->traces[element];
    const uint32_t first = first_of_arrays(launch);
    const bool is_there = see_mark(wanted, array, element);
    if (array->landing[element])
        launch_fail(launch,
                    "thread %lld %s %s[%lld] at line %d, where a copy that thread %u began at "
                    "line %u was not waited for",
                    thread_of(launch), verbs[wanted->access], array->name, (long long)element,
                    wanted->line, trace->writer.thread, trace->writer.line);
    if (wanted->access == FLOW_ACCESS_read && !is_there && !trace_is_written(trace, first))
        launch_fail(launch, "thread %lld reads %s[%lld] at line %d, which nobody has written",
                    thread_of(launch), array->name, (long long)element, wanted->line);
    Lane *lane = &launch->lanes[launch->seen.thread];
    if (wanted->access != FLOW_ACCESS_read && lane->shown == launch->epochs.now) lane->shown--;
    Clash clash;
    if (touch(wanted, trace, first, &clash)) return;
    char place[PLACE_SIZE];
    snprintf(place, sizeof place, "%s[%lld]", array->name, (long long)element);
    fail_race(wanted, &clash, place,
              is_equal(wanted, &clash, array->memory + (size_t)element * array->size));
}

static void check_alignment(const Wanted *wanted, uintptr_t address) {
    size_t size = wanted->size;
    if (!(size & (size - 1)) && address % size)
        launch_fail(wanted->launch,
                    "thread %lld %s element %lld at line %d: its address is not aligned to %zu",
                    thread_of(wanted->launch), verbs[wanted->access], (long long)wanted->index,
                    wanted->line, size);
}

static void *reach_shared(FlowAccess access, const void *base, int64_t index, size_t size,
                          const void *value, int line) {
    Launch *launch = launch_now;
    Wanted wanted = {launch, access, base, index, size, value, line};
    const SharedArray *array = find_array(&wanted);
    int64_t offset = (const char *)base - array->memory + index * (int64_t)size;
    int64_t element = offset / (int64_t)array->size;
    if (offset < 0 || offset + (int64_t)size > array->count * (int64_t)array->size)
        launch_fail(launch, "thread %lld %s %s[%lld] at line %d, which has %lld elements",
                    thread_of(launch), verbs[access], array->name, (long long)element, line,
                    (long long)array->count);
    check_alignment(&wanted, (uintptr_t)offset);
    if (launch->checks >= FLOW_CHECKS_all)
        for (int64_t i = 0; i * (int64_t)array->size < (int64_t)size; i++)
            check_shared(&wanted, array, element + i);
    return array->memory + offset;
}

static void *reach_shared_unchecked(FlowAccess access, const void *base, int64_t index, size_t size,
                                    const void *value, int line) {
    (void)access, (void)value, (void)line;
    return (char *)(uintptr_t)base + index * (int64_t)size;
}

/* Behind the arrays that are there; the first one lies at no multiple by itself. */
static uint32_t next_start(const Launch *launch, size_t alignment) {
    size_t end = 1040;
    for (int i = 0; i < launch->array_count; i++)
        end = launch->arrays[i].start + launch->arrays[i].size * (size_t)launch->arrays[i].count;
    return (uint32_t)((end + alignment - 1) / alignment * alignment);
}

/* used: what of `most` bytes arrays have so far. */
static void add_array(Launch *launch, const char *name, size_t size, int64_t count,
                      size_t alignment, size_t *used, size_t most, int line) {
    SharedArray *array = &launch->arrays[launch->array_count];
    size_t bytes = (size * (size_t)count + 15) / 16 * 16;
    if (count <= 0 || launch->array_count == SHARED_ARRAY_LIMIT || (*used += bytes) > most)
        launch_fail(launch, "%s at line %d: %zu bytes of shared memory, of which a block has %zu",
                    name, line, *used, most);
    const uint32_t start = next_start(launch, alignment);
    *array =
        (SharedArray){.name = name, .line = line, .size = size, .count = count, .start = start};
    array->memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    array->traces = calloc((size_t)count, sizeof *array->traces);
    array->landing = calloc((size_t)count, sizeof *array->landing);
    array->marks = calloc((size_t)count, sizeof *array->marks);
    launch->array_count++;
    if (!array->memory || !array->traces || !array->landing || !array->marks)
        launch_fail(launch, "there is no memory for %s", name);
    memset(array->memory, UNWRITTEN, bytes);
}

/* The array of that line and name, if it is there. */
static void *find_shared(const Launch *launch, const char *name, int line) {
    for (int i = 0; i < launch->array_count; i++)
        if (launch->arrays[i].line == line && !strcmp(launch->arrays[i].name, name))
            return launch->arrays[i].memory;
    return NULL;
}

/* A block has so much, beside what the launch adds. */
static size_t shared_limit(const Launch *launch) {
    const size_t left = launch->more < SHARED_MOST ? SHARED_MOST - launch->more : 0;
    return left < SHARED_LIMIT ? left : SHARED_LIMIT;
}

static void *share(const char *name, size_t size, int64_t count, size_t alignment, int line) {
    Launch *launch = launch_now;
    if (!find_shared(launch, name, line))
        add_array(launch, name, size, count, alignment, &launch->shared_size, shared_limit(launch),
                  line);
    return find_shared(launch, name, line);
}

static void *share_more(const char *name, size_t size, int64_t count, int line) {
    Launch *launch = launch_now;
    if (!find_shared(launch, name, line))
        add_array(launch, name, size, count, 1024, &launch->more_used, launch->more, line);
    return find_shared(launch, name, line);
}

void launch_set_landing(Launch *launch, char *place, size_t size, bool landing, int line) {
    Wanted wanted = {launch, FLOW_ACCESS_write, place, 0, size, NULL, line};
    const SharedArray *array = find_array(&wanted);
    int64_t first = (place - array->memory) / (int64_t)array->size;
    for (int64_t i = first; (i - first) * (int64_t)array->size < (int64_t)size; i++) {
        if (!landing) array->landing[i] = false;
        if (launch->checks >= FLOW_CHECKS_all) check_shared(&wanted, array, i);
        if (landing) array->landing[i] = true;
    }
    if (landing) memset(place, UNWRITTEN, size);
}

/* For products. */

uint32_t launch_shared_address(Launch *launch, const void *place, int line) {
    Wanted wanted = {launch, FLOW_ACCESS_read, place, 0, 1, NULL, line};
    const SharedArray *array = find_array(&wanted);
    return array->start + (uint32_t)((const char *)place - array->memory);
}

/* what, does: of that which is done beside threads. */
static void check_shown(Launch *launch, const SharedArray *array, int64_t element, const char *what,
                        const char *does, int line) {
    Touch writer = array->traces[element].writer;
    if (writer.epoch > launch->lanes[writer.thread].shown)
        launch_fail(launch,
                    "a %s at line %d %s %s[%lld], which thread %u wrote at line %u and has not "
                    "shown",
                    what, line, does, array->name, (long long)element, writer.thread, writer.line);
}

uint16_t launch_half_at(Launch *launch, uint32_t address, int line) {
    uint16_t half;
    for (int i = 0; i < launch->array_count; i++) {
        const SharedArray *array = &launch->arrays[i];
        uint32_t offset = address - array->start;
        if (offset + sizeof half > array->size * (size_t)array->count) continue;
        memcpy(&half,
               launch->seen.shared(FLOW_ACCESS_read, array->memory, offset / 2, 2, NULL, line), 2);
        if (launch->checks >= FLOW_CHECKS_all)
            check_shown(launch, array, offset / (int64_t)array->size, "product", "reads", line);
        return half;
    }
    launch_fail(launch, "a product at line %d reads what is in no array of the block", line);
}

/* For boxes. */

static const SharedArray *array_at(Launch *launch, uint32_t address, size_t size) {
    for (int i = 0; i < launch->array_count; i++) {
        const SharedArray *array = &launch->arrays[i];
        const uint32_t offset = address - array->start;
        if (offset + size <= array->size * (size_t)array->count) return array;
    }
    return NULL;
}

static void begin_element(const Wanted *wanted, const SharedArray *array, int64_t element,
                          Mark mark) {
    Launch *launch = wanted->launch;
    Trace *trace = &array->traces[element];
    if (array->marks[element].gate && !launch_has_opened(array->marks[element]))
        launch_fail(launch, "a box at line %d goes over %s[%lld], to which another one comes",
                    wanted->line, array->name, (long long)element);
    if (!array->marks[element].gate) {
        if (trace_is_written(trace, first_of_arrays(launch)))
            check_shown(launch, array, element, "box", "goes over", wanted->line);
        array->marks[element] = (Mark){0};
        check_shared(wanted, array, element);
    }
    *trace = (Trace){0};
    array->marks[element] = mark;
}

void launch_begin_arrival(Launch *launch, uint32_t address, size_t size, Mark mark, int line) {
    const SharedArray *array = array_at(launch, address, size);
    if (!array) launch_fail(launch, "a box at line %d goes beyond the arrays of the block", line);
    const uint32_t offset = address - array->start;
    const Wanted wanted = {launch, FLOW_ACCESS_write, array->memory + offset, 0, size, NULL, line};
    const int64_t first = offset / (int64_t)array->size;
    for (int64_t i = 0; i * (int64_t)array->size < (int64_t)size; i++)
        if (launch->checks >= FLOW_CHECKS_all) begin_element(&wanted, array, first + i, mark);
    memset(array->memory + offset, UNWRITTEN, size);
}

void launch_end_arrival(Launch *launch, uint32_t address, const void *bytes, size_t size) {
    const SharedArray *array = array_at(launch, address, size);
    memcpy(array->memory + (address - array->start), bytes, size);
}

void launch_clear_shared(Launch *launch) {
    for (int i = 0; i < launch->array_count; i++) {
        const SharedArray *array = &launch->arrays[i];
        memset(array->memory, UNWRITTEN, (size_t)array->count * array->size);
        memset(array->landing, false, (size_t)array->count);
        memset(array->marks, 0, (size_t)array->count * sizeof *array->marks);
    }
}

void launch_free_shared(Launch *launch) {
    for (int i = 0; i < launch->array_count; i++) {
        free(launch->arrays[i].memory);
        free(launch->arrays[i].traces);
        free(launch->arrays[i].landing);
        free(launch->arrays[i].marks);
    }
    launch->array_count = 0;
    launch->shared_size = 0;
}

/* Global memory. */

/* The allocation is that of the base: an element of its neighbour is wrong. */
static Allocation *find_allocation(const Wanted *wanted, uintptr_t address) {
    Allocation *allocation = memory_find((uintptr_t)wanted->base);
    return allocation ? allocation : memory_find(address);
}

static _Noreturn void fail_nowhere(const Wanted *wanted, uintptr_t address) {
    size_t size;
    bool freed = memory_was_freed(address, &size);
    char what[64] = "which is in no memory of the device";
    if (freed) snprintf(what, sizeof what, "which was freed, with the %zu bytes around it", size);
    launch_fail(wanted->launch, "thread %lld %s element %lld at line %d, %s",
                thread_of(wanted->launch), verbs[wanted->access], (long long)wanted->index,
                wanted->line, what);
}

static _Noreturn void fail_elsewhere(const Wanted *wanted, const Allocation *allocation) {
    launch_fail(wanted->launch, "thread %lld %s element %lld at line %d, which device %d has",
                thread_of(wanted->launch), verbs[wanted->access], (long long)wanted->index,
                wanted->line, allocation->device);
}

static void check_bounds(const Wanted *wanted, const Allocation *allocation, uintptr_t address) {
    int64_t offset = (int64_t)(address - allocation->address);
    size_t size = wanted->size;
    if (offset < 0 || (size_t)offset + size > allocation->size)
        launch_fail(wanted->launch, "thread %lld %s element %lld at line %d: byte %lld of %zu",
                    thread_of(wanted->launch), verbs[wanted->access], (long long)wanted->index,
                    wanted->line, (long long)offset, allocation->size);
}

static void check_written(const Wanted *wanted, Allocation *allocation, size_t offset) {
    uint8_t *written = allocation->written + offset;
    if (wanted->access == FLOW_ACCESS_write) {
        memset(written, true, wanted->size);
        return;
    }
    if (memchr(written, false, wanted->size))
        launch_fail(
            wanted->launch,
            "thread %lld %s element %lld at line %d (byte %zu of %zu), which nobody has written",
            thread_of(wanted->launch), verbs[wanted->access], (long long)wanted->index,
            wanted->line, offset, allocation->size);
}

/* allocation: or NULL, where none is known. */
static _Noreturn void fail_global_race(const Wanted *wanted, const Clash *clash,
                                       const Allocation *allocation, uintptr_t address) {
    char place[PLACE_SIZE], where[64] = "";
    const char *host = (const char *)address;
    if (allocation) {
        size_t offset = address - allocation->address;
        snprintf(where, sizeof where, " (byte %zu of %zu)", offset, allocation->size);
        host = allocation->host + offset;
    }
    snprintf(place, sizeof place, "element %lld%s", (long long)wanted->index, where);
    fail_race(wanted, clash, place, is_equal(wanted, clash, host));
}

static Trace *find_traces(const Allocation *allocation, uintptr_t address, size_t unit,
                          size_t *count) {
    if (allocation)
        return shadow_at(allocation->shadow, address - allocation->address, unit, count);
    Shadow *page = memory_page(address);
    return page ? shadow_at(page, address % MEMORY_PAGE, unit, count) : NULL;
}

static void check_races(const Wanted *wanted, const Allocation *allocation, uintptr_t address) {
    size_t count, unit = wanted->size & -wanted->size;
    for (size_t done = 0; done < wanted->size; done += unit) {
        Trace *traces = find_traces(allocation, address + done, unit, &count);
        if (!traces) launch_fail(wanted->launch, "there is no memory to check it");
        for (size_t i = 0; i < count; i++) {
            Clash clash;
            if (!touch(wanted, &traces[i], wanted->launch->epochs.launch, &clash))
                fail_global_race(wanted, &clash, allocation, address);
        }
    }
}

static void *reach_global(FlowAccess access, const void *base, int64_t index, size_t size,
                          const void *value, int line) {
    Launch *launch = launch_now;
    Wanted wanted = {launch, access, base, index, size, value, line};
    uintptr_t address = (uintptr_t)base + (uintptr_t)index * size;
    Allocation *allocation = find_allocation(&wanted, address);
    if (!allocation && memory_is_known()) fail_nowhere(&wanted, address);
    if (allocation && allocation->owned && allocation->device != memory_device())
        fail_elsewhere(&wanted, allocation);
    if (allocation) check_bounds(&wanted, allocation, address);
    check_alignment(&wanted, address);
    if (allocation && launch->checks >= FLOW_CHECKS_all)
        check_written(&wanted, allocation, address - allocation->address);
    if (launch->checks >= FLOW_CHECKS_all) check_races(&wanted, allocation, address);
    return allocation ? allocation->host + (address - allocation->address) : (void *)address;
}

static void *reach_global_unchecked(FlowAccess access, const void *base, int64_t index, size_t size,
                                    const void *value, int line) {
    (void)access, (void)value, (void)line;
    uintptr_t address = (uintptr_t)base + (uintptr_t)index * size;
    Allocation *allocation = memory_find(address);
    if (!allocation) return (void *)address;
    return allocation->host + (address - allocation->address);
}

void launch_set_access(Launch *launch) {
    bool checked = launch->checks >= FLOW_CHECKS_bounds;
    launch_now = launch;
    launch->seen.global = checked ? reach_global : reach_global_unchecked;
    launch->seen.shared = checked ? reach_shared : reach_shared_unchecked;
    launch->seen.share = share;
    launch->seen.share_more = share_more;
}
