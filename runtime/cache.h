/* Cache: records that are kept as they were first made, in memory or in a file. Who asks for one
 * that is not there yet makes it in its place; nobody waits for anybody. A file gets its name when
 * all of its records are there, so a run that ends before leaves nothing behind. */
#ifndef FLOW_CACHE_H
#define FLOW_CACHE_H

#include "runtime/flow.h"

typedef struct Cache Cache;

/* What the records of a file were made of: by what code, from what data. */
typedef struct CacheKey {
    uint64_t code[2], data[2];
} CacheKey;

typedef struct CacheForm {
    const char *name, *line; /* of the pipeline */
    const FlowField *fields;
    int field_count;
    int64_t records;
    const char *path; /* NULL: in memory */
    CacheKey key;     /* of a file */
} CacheForm;

/* The file of that form, with any number of records; *cache is NULL when there is none, or another
 * one, of which a line is said then. Fails when the file is no cache. */
FlowStatus cache_load(const CacheForm *form, Cache **cache);

/* An empty one. Fails when there is no room for all of its records. */
FlowStatus cache_new(const CacheForm *form, Cache **cache);

/* Says so when a file could not be kept. NULL: nothing. */
void cache_close(Cache *cache);

int64_t cache_records(const Cache *cache);

/* Are there records that could not be made? Of a cache that was loaded. */
bool cache_has_failures(const Cache *cache);

/* Points at the record's values, until close. False: it is not there. Thread-safe, as the next. */
bool cache_find(const Cache *cache, int64_t record, const void **values);

/* Sets places to where the record is to be made; cache_settle has to follow. False: another thread
 * is at it, or it could not be made. */
bool cache_claim(Cache *cache, int64_t record, const void **places);
void cache_settle(Cache *cache, int64_t record, bool made);

#endif
