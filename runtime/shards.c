#define _GNU_SOURCE
#include "runtime/shards.h"

#include "runtime/mapping.h"
#include "runtime/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FlowStatus map_shard(Shard *shard) {
    struct stat stat;
    int descriptor = open(shard->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool good = descriptor >= 0 && !fstat(descriptor, &stat) && S_ISREG(stat.st_mode);
    FlowStatus status = flow_ok;
    if (descriptor < 0)
        status =
            flow_failure(FLOW_EXIT_data, "%s: cannot be read: %s", shard->path, strerror(errno));
    else if (!good) status = flow_failure(FLOW_EXIT_data, "%s: is not a regular file", shard->path);
    shard->size = good ? (uint64_t)stat.st_size : 0;
    if (good) status = mapping_new(shard->path, descriptor, (size_t)shard->size, &shard->bytes);
    if (descriptor >= 0) close(descriptor);
    return status;
}

static bool is_compressed(const Shard *shard, ShardKind kind) {
    if (kind == SHARD_by_name) return packed_is_named(shard->path);
    return packed_begins(shard->bytes, shard->size);
}

static void unmap_shard(Shard *shard) {
    if (!shard->content.bytes) mapping_free(shard->bytes);
    shard->bytes = NULL;
}

static FlowStatus open_shard(Shard *shard, ShardKind kind) {
    FlowStatus status = map_shard(shard);
    if (status.exit || !is_compressed(shard, kind)) return status;
    unmap_shard(shard);
    status = content_read(shard->path, &shard->content);
    shard->bytes = shard->content.bytes;
    shard->size = shard->content.size;
    return status;
}

static FlowStatus open_all(const glob_t *files, const char *pattern, ShardKind kind,
                           Shards *shards) {
    FlowStatus no_memory = flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", pattern);
    FlowStatus status = flow_ok;
    shards->items = calloc(files->gl_pathc + 1, sizeof *shards->items);
    if (!shards->items) return no_memory;
    for (size_t i = 0; i < files->gl_pathc && !status.exit; i++) {
        Shard *shard = &shards->items[shards->count++];
        shard->path = strdup(files->gl_pathv[i]);
        status = shard->path ? open_shard(shard, kind) : no_memory;
    }
    return status;
}

FlowStatus shards_open(const char *pattern, ShardKind kind, Shards *shards) {
    glob_t files;
    *shards = (Shards){0};
    int failed = glob(pattern, 0, NULL, &files);
    FlowStatus status = failed ? flow_failure(FLOW_EXIT_data, "%s: no such file", pattern)
                               : open_all(&files, pattern, kind, shards);
    globfree(&files);
    return status;
}

void shards_close(Shards *shards) {
    for (int i = 0; i < shards->count; i++) {
        unmap_shard(&shards->items[i]);
        content_free(&shards->items[i].content);
        free(shards->items[i].path);
    }
    free(shards->items);
    *shards = (Shards){0};
}
