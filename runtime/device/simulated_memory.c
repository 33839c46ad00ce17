/* Memory: addresses of the device are a stretch of this process that nothing may touch; what is
 * kept there lies elsewhere. No address is given twice before all have been, so one that was freed
 * is told from others, and between two allocations nothing is. */
#define _GNU_SOURCE
#include "runtime/device/simulated_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 512, UNWRITTEN = 0xff, FREED_LIMIT = 64 };

static const size_t RESERVED = (size_t)1 << 36; /* addresses */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    Allocation **items; /* by address */
    size_t count, room;
    uintptr_t begin, end, next; /* of the device's addresses */
    struct Freed {
        uintptr_t address;
        size_t size;
    } freed[FREED_LIMIT]; /* the latest */
    size_t freed_count;
} memory;

static _Thread_local int device_of_thread;

void flow_simulated_use(int device) {
    device_of_thread = device;
}

int memory_device(void) {
    return device_of_thread;
}

void memory_lock(void) {
    pthread_mutex_lock(&lock);
}

void memory_unlock(void) {
    pthread_mutex_unlock(&lock);
}

bool memory_is_known(void) {
    return memory.count || memory.begin;
}

bool memory_is_of_device(uintptr_t address) {
    return address >= memory.begin && address < memory.end;
}

/* How many begin at the address or before. */
static size_t count_before(uintptr_t address) {
    size_t low = 0, high = memory.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory.items[middle]->address <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

Allocation *memory_find(uintptr_t address) {
    size_t before = count_before(address);
    if (!before) return NULL;
    Allocation *allocation = memory.items[before - 1];
    return address - allocation->address <= allocation->size ? allocation : NULL;
}

bool memory_was_freed(uintptr_t address, size_t *size) {
    for (size_t i = 0; i < FREED_LIMIT && i < memory.freed_count; i++) {
        *size = memory.freed[i].size;
        if (address - memory.freed[i].address < *size) return true;
    }
    return false;
}

/* Pages of the process, in a table of twice as many places. */

static struct {
    struct Page {
        uintptr_t number;
        Shadow *shadow; /* NULL: a free place */
    } * items;
    size_t count, room; /* a power of two */
} pages;

static struct Page *find_page(uintptr_t number) {
    size_t place = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (pages.room - 1);
    while (pages.items[place].shadow && pages.items[place].number != number)
        place = (place + 1) & (pages.room - 1);
    return &pages.items[place];
}

static bool has_room_for_page(void) {
    if (2 * pages.count < pages.room) return true;
    struct Page *before = pages.items;
    size_t room = pages.room;
    struct Page *items = calloc(room ? 2 * room : 1024, sizeof *items);
    if (!items) return false;
    pages.items = items;
    pages.room = room ? 2 * room : 1024;
    for (size_t i = 0; i < room; i++)
        if (before[i].shadow) *find_page(before[i].number) = before[i];
    free(before);
    return true;
}

Shadow *memory_page(uintptr_t address) {
    uintptr_t number = address / MEMORY_PAGE;
    if (!has_room_for_page()) return NULL;
    struct Page *page = find_page(number);
    if (page->shadow) return page->shadow;
    *page = (struct Page){.number = number, .shadow = shadow_new(MEMORY_PAGE)};
    pages.count += page->shadow != NULL;
    return page->shadow;
}

void memory_forget_touches(void) {
    for (size_t i = 0; i < memory.count; i++) shadow_clear(memory.items[i]->shadow);
    for (size_t i = 0; i < pages.room; i++) shadow_free(pages.items[i].shadow);
    free(pages.items);
    memset(&pages, 0, sizeof pages);
}

/* Adding and removing. */

static bool insert(Allocation *allocation) {
    if (memory.count == memory.room) {
        size_t room = memory.room ? 2 * memory.room : 64;
        Allocation **items = realloc(memory.items, room * sizeof *items);
        if (!items) return false;
        memory.items = items;
        memory.room = room;
    }
    size_t place = count_before(allocation->address);
    memmove(memory.items + place + 1, memory.items + place,
            (memory.count++ - place) * sizeof *memory.items);
    memory.items[place] = allocation;
    return true;
}

static void dispose(Allocation *allocation) {
    if (!allocation) return;
    if (allocation->owned) free(allocation->host);
    free(allocation->written);
    shadow_free(allocation->shadow);
    free(allocation);
}

static Allocation *add(Allocation given, bool written) {
    Allocation *allocation = calloc(1, sizeof *allocation);
    if (!allocation) return NULL;
    *allocation = given;
    allocation->written = calloc(1, given.size + 1);
    allocation->shadow = shadow_new(given.size);
    if (allocation->written && written) memset(allocation->written, true, given.size);
    if (allocation->written && allocation->shadow && insert(allocation)) return allocation;
    allocation->owned = false;
    dispose(allocation);
    return NULL;
}

static bool removed(uintptr_t address, bool owned) {
    size_t before = count_before(address);
    Allocation *allocation = before ? memory.items[before - 1] : NULL;
    if (!allocation || allocation->address != address || allocation->owned != owned) return false;
    if (owned)
        memory.freed[memory.freed_count++ % FREED_LIMIT] =
            (struct Freed){.address = address, .size = allocation->size};
    memmove(memory.items + before - 1, memory.items + before,
            (memory.count-- - before) * sizeof *memory.items);
    dispose(allocation);
    return true;
}

/* Addresses of the device. */

static bool reserve(void) {
    for (size_t size = RESERVED; !memory.begin && size >= RESERVED >> 6; size /= 2) {
        void *range =
            mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) continue;
        memory.begin = memory.next = ((uintptr_t)range + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        memory.end = (uintptr_t)range + size;
    }
    return memory.begin;
}

/* One of the device's that lies in so many addresses from there on, or NULL. */
static const Allocation *first_in(uintptr_t address, size_t size) {
    const Allocation *first = NULL;
    for (size_t at = count_before(address + size); at-- > 0;) {
        const Allocation *other = memory.items[at];
        if (other->address + other->size <= address) break;
        if (other->owned) first = other;
    }
    return first;
}

/* From there on; 0: none are left. */
static uintptr_t free_addresses(uintptr_t address, size_t size) {
    const Allocation *other;
    while (size <= memory.end - address && (other = first_in(address, size)))
        address = (other->address + other->size) / ALIGNMENT * ALIGNMENT + 2 * ALIGNMENT;
    return address < memory.end && size <= memory.end - address ? address : 0;
}

/* Others than those that were freed last, as long as there are some. 0: none is left. */
static uintptr_t take_addresses(size_t size) {
    size_t whole = (size / ALIGNMENT + 2) * ALIGNMENT; /* and a gap */
    if (!reserve()) return 0;
    uintptr_t address = free_addresses(memory.next, whole);
    if (!address) address = free_addresses(memory.begin, whole);
    if (address) memory.next = address + whole;
    return address;
}

static void *allocate(size_t size) {
    uintptr_t address = take_addresses(size);
    char *host = address ? aligned_alloc(ALIGNMENT, (size / ALIGNMENT + 1) * ALIGNMENT) : NULL;
    if (!host) return NULL;
    memset(host, UNWRITTEN, size);
    if (add((Allocation){.address = address,
                         .size = size,
                         .host = host,
                         .owned = true,
                         .device = device_of_thread},
            false))
        return (void *)address;
    free(host);
    return NULL;
}

/* What others call. */

void *flow_simulated_allocate(size_t size) {
    memory_lock();
    void *address = size < RESERVED ? allocate(size) : NULL;
    memory_unlock();
    return address;
}

bool flow_simulated_free(void *address) {
    memory_lock();
    bool freed = removed((uintptr_t)address, true);
    memory_unlock();
    return freed;
}

bool flow_simulated_register(void *place, size_t size, bool written) {
    memory_lock();
    bool added =
        add((Allocation){.address = (uintptr_t)place, .size = size, .host = place}, written);
    memory_unlock();
    return added;
}

void flow_simulated_forget(void *place) {
    memory_lock();
    removed((uintptr_t)place, false);
    memory_unlock();
}

static Allocation *find_all_of(const void *address, size_t size) {
    Allocation *allocation = memory_find((uintptr_t)address);
    if (!allocation) return NULL;
    size_t offset = (uintptr_t)address - allocation->address;
    return size <= allocation->size - offset ? allocation : NULL;
}

void flow_simulated_mark(const void *address, size_t size, bool written) {
    memory_lock();
    Allocation *allocation = find_all_of(address, size);
    if (allocation)
        memset(allocation->written + ((uintptr_t)address - allocation->address), written, size);
    memory_unlock();
}

void *flow_simulated_host(const void *address, size_t size) {
    memory_lock();
    Allocation *allocation = find_all_of(address, size);
    char *host = allocation ? allocation->host + ((uintptr_t)address - allocation->address) : NULL;
    memory_unlock();
    return host;
}
