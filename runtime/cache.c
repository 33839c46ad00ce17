#define _GNU_SOURCE
#include "runtime/cache.h"

#include "runtime/cache_file.h"
#include "runtime/holdings.h"
#include "runtime/mapping.h"
#include "runtime/mix.h"
#include "runtime/plural.h"
#include "runtime/records.h"
#include "runtime/room.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of a record. */
enum { ABSENT, CLAIMED, READY, FAILED };

enum { FIELD_ALIGNMENT = 8 };

struct Cache {
    CacheFile file; /* path NULL: memory */
    int field_count;
    size_t offsets[FIELD_LIMIT], record_size;
    int64_t records;
    char *bytes; /* all of it */
    size_t size;
    atomic_uchar *states; /* one a record */
    char *values;
    atomic_llong settled;
    bool loaded;
};

/* Memory that all caches of the process may take together. */
static atomic_size_t held;

static size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

static Cache *lay_out(const CacheForm *form) {
    Cache *cache = calloc(1, sizeof *cache);
    if (!cache) return NULL;
    cache->file = (CacheFile){.path = form->path, .descriptor = -1};
    cache->field_count = form->field_count;
    for (int i = 0; i < form->field_count; i++) {
        cache->offsets[i] = cache->record_size;
        cache->record_size += round_up(flow_type_size(&form->fields[i].type), FIELD_ALIGNMENT);
    }
    return cache;
}

static size_t states_size(int64_t records) {
    return round_up((size_t)records, CACHE_PAGE);
}

/* Header, states, values. False: more than there can be. */
static bool set_records(Cache *cache, int64_t records) {
    cache->records = records;
    return !__builtin_mul_overflow((size_t)records, cache->record_size, &cache->size) &&
           !__builtin_add_overflow(cache->size, states_size(records) + CACHE_PAGE, &cache->size);
}

static void point(Cache *cache, char *bytes) {
    cache->bytes = bytes;
    cache->states = (atomic_uchar *)(bytes + CACHE_PAGE);
    cache->values = bytes + CACHE_PAGE + states_size(cache->records);
}

static FlowStatus no_memory(const CacheForm *form) {
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s` (%s): no memory for `cache`", form->name,
                        form->line);
}

static CacheHeader header_of(const Cache *cache, const CacheKey *key) {
    CacheHeader header = {.magic = cache_magic,
                          .key = *key,
                          .records = cache->records,
                          .record_size = (int64_t)cache->record_size};
    header.check = cache_header_check(&header);
    return header;
}

/* Open and close. */

static FlowStatus too_large(const CacheForm *form, const Cache *cache, size_t room) {
    return flow_failure(
        FLOW_EXIT_resource,
        "pipeline `%s` (%s): `cache` needs %.1f MB for %lld record%s, and there are "
        "%.1f MB: cache(\"file\") keeps them on a disk",
        form->name, form->line, (double)cache->size / 1e6, (long long)cache->records,
        plural(cache->records), (double)room / 1e6);
}

/* Counts it for all caches of the process; false: there is not that much room. */
static bool hold(size_t size, size_t room) {
    size_t before = atomic_fetch_add(&held, size);
    if (before <= room && size <= room - before) return true;
    atomic_fetch_sub(&held, size);
    return false;
}

static FlowStatus open_memory(Cache *cache, const CacheForm *form) {
    size_t room = room_of_machine();
    if (!hold(cache->size, room)) return too_large(form, cache, room);
    if (holding_take(holding_here(), HOLDING_source, cache->size)) {
        char *bytes = mmap(NULL, cache->size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (bytes != MAP_FAILED) {
            point(cache, bytes);
            return flow_ok;
        }
        holding_give(holding_here(), HOLDING_source, cache->size);
    }
    atomic_fetch_sub(&held, cache->size);
    return no_memory(form);
}

static FlowStatus open_new_file(Cache *cache, const CacheForm *form) {
    char *bytes;
    FlowStatus status = cache_file_create(&cache->file, cache->size, &bytes);
    if (status.exit) return status;
    point(cache, bytes);
    CacheHeader header = header_of(cache, &form->key);
    memcpy(bytes, &header, sizeof header);
    return flow_ok;
}

FlowStatus cache_new(const CacheForm *form, Cache **out) {
    Cache *cache = *out = lay_out(form);
    if (!cache) return no_memory(form);
    bool fits = set_records(cache, form->records);
    FlowStatus status = !fits        ? too_large(form, cache, room_of_machine())
                        : form->path ? open_new_file(cache, form)
                                     : open_memory(cache, form);
    if (!status.exit) return flow_ok;
    free(cache);
    *out = NULL;
    return status;
}

/* Why the file is of no use, or NULL. */
static const char *misfit(Cache *cache, const CacheForm *form, const CacheHeader *header,
                          size_t size) {
    if (header->check != cache_header_check(header)) return "it is damaged";
    if (memcmp(header->key.code, form->key.code, sizeof form->key.code))
        return "it was made by other code";
    if (memcmp(header->key.data, form->key.data, sizeof form->key.data))
        return "it was made from other data";
    bool fits = header->records > 0 && header->record_size == (int64_t)cache->record_size &&
                set_records(cache, header->records) && cache->size == size;
    return fits ? NULL : "it is damaged";
}

static bool all_are_settled(const Cache *cache) {
    for (int64_t i = 0; i < cache->records; i++) {
        unsigned char state = atomic_load_explicit(&cache->states[i], memory_order_relaxed);
        if (state != READY && state != FAILED) return false;
    }
    return true;
}

static FlowStatus load(Cache *cache, const CacheForm *form, const char **why) {
    CacheHeader header;
    size_t size;
    const char *bytes = NULL;
    *why = NULL;
    FlowStatus status = cache_file_open(&cache->file, &header, &size);
    if (status.exit || cache->file.descriptor < 0) return status;
    *why = misfit(cache, form, &header, size);
    if (!*why) status = cache_file_map(&cache->file, size, &bytes);
    if (status.exit || *why) return status;
    point(cache, (char *)bytes);
    if (!all_are_settled(cache)) *why = "it is damaged";
    return flow_ok;
}

FlowStatus cache_load(const CacheForm *form, Cache **out) {
    const char *why;
    Cache *cache = lay_out(form);
    *out = NULL;
    if (!cache) return no_memory(form);
    cache->loaded = true;
    FlowStatus status = load(cache, form, &why);
    if (!status.exit && cache->bytes && !why) {
        *out = cache;
        return flow_ok;
    }
    if (why) fprintf(stderr, "%s: %s; it is made anew\n", form->path, why);
    cache_close(cache);
    return status;
}

static void tell_unfinished(Cache *cache) {
    long long settled = atomic_load(&cache->settled);
    if (cache->loaded || !cache->bytes || settled == cache->records) return;
    fprintf(stderr, "%s: not kept, since %lld of %lld record%s were made\n", cache->file.path,
            settled, (long long)cache->records, plural(cache->records));
}

void cache_close(Cache *cache) {
    if (!cache) return;
    if (cache->file.path) tell_unfinished(cache);
    else if (cache->bytes) atomic_fetch_sub(&held, cache->size);
    if (cache->loaded) mapping_free(cache->bytes);
    else if (cache->bytes) munmap(cache->bytes, cache->size);
    cache_file_close(&cache->file);
    free(cache);
}

/* Records. */

int64_t cache_records(const Cache *cache) {
    return cache->records;
}

bool cache_has_failures(const Cache *cache) {
    for (int64_t i = 0; i < cache->records; i++)
        if (atomic_load_explicit(&cache->states[i], memory_order_relaxed) == FAILED) return true;
    return false;
}

static void point_at(const Cache *cache, int64_t record, const void **values) {
    const char *place = cache->values + (size_t)record * cache->record_size;
    for (int i = 0; i < cache->field_count; i++) values[i] = place + cache->offsets[i];
}

bool cache_find(const Cache *cache, int64_t record, const void **values) {
    if (atomic_load_explicit(&cache->states[record], memory_order_acquire) != READY) return false;
    point_at(cache, record, values);
    return true;
}

bool cache_claim(Cache *cache, int64_t record, const void **places) {
    unsigned char absent = ABSENT;
    if (cache->loaded || !atomic_compare_exchange_strong(&cache->states[record], &absent, CLAIMED))
        return false;
    point_at(cache, record, places);
    return true;
}

void cache_settle(Cache *cache, int64_t record, bool made) {
    atomic_store_explicit(&cache->states[record], made ? READY : FAILED, memory_order_release);
    if (atomic_fetch_add(&cache->settled, 1) + 1 == cache->records && cache->file.path)
        cache_file_publish(&cache->file, cache->bytes, cache->size);
}
