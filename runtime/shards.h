/* Shards: the files that a pattern matches, in the order of their names, each as bytes in memory:
 * plain ones are mapped, compressed ones unpacked. */
#ifndef FLOW_SHARDS_H
#define FLOW_SHARDS_H

#include "runtime/content.h"

typedef struct Shard {
    char *path;
    const char *bytes;
    uint64_t size;
    Content content; /* of a compressed one; else bytes are mapped */
} Shard;

typedef struct Shards {
    Shard *items;
    int count;
} Shards;

/* What tells that a file is compressed: how it begins, or, where a plain one may begin in any way,
 * its name: .gz, .zst. */
typedef enum ShardKind { SHARD_by_content, SHARD_by_name } ShardKind;

/* Whatever it returns, shards_close has to follow. */
FlowStatus shards_open(const char *pattern, ShardKind kind, Shards *shards);
void shards_close(Shards *shards);

/* Asks for bytes that are going to be read; those far behind them come by themselves. */
static inline void shard_prefetch(const char *bytes, uint64_t size) {
    enum { LINE = 64, MOST = 1024 };
    for (uint64_t at = 0; at < size && at < MOST; at += LINE) __builtin_prefetch(bytes + at);
}

#endif
