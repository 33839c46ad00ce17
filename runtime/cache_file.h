/* Cache file: a cache on a disk. While it is made it has no name, where the file system can do
 * that, and all the room that it will need. */
#ifndef FLOW_CACHE_FILE_H
#define FLOW_CACHE_FILE_H

#include "runtime/cache.h"

static const uint64_t cache_magic = 0x31636163776f6c66; /* "flowcac1" */

enum { CACHE_PAGE = 4096 /* bytes: the header's, and what parts of the file are multiples of */ };

typedef struct CacheHeader {
    uint64_t magic;
    CacheKey key;
    int64_t records, record_size;
    uint64_t check; /* of the rest */
} CacheHeader;

typedef struct CacheFile {
    const char *path;
    int descriptor; /* -1: not open */
    char *part;     /* its name while it is made; NULL: it has none */
    int error;      /* why it could not be kept */
} CacheFile;

uint64_t cache_header_check(const CacheHeader *header);

/* A new one, empty, mapped. Fails when there is no space. */
FlowStatus cache_file_create(CacheFile *file, size_t size, char **bytes);

/* The one that is there; descriptor -1: there is none. Fails when it is something else. */
FlowStatus cache_file_open(CacheFile *file, CacheHeader *header, size_t *size);
FlowStatus cache_file_map(CacheFile *file, size_t size,
                          const char **bytes); /* mapping_free ends it */

/* Gives it its name. */
void cache_file_publish(CacheFile *file, char *bytes, size_t size);

/* Says so when it could not be kept. */
void cache_file_close(CacheFile *file);

#endif
