/* binary: records of one size, one after the other, whose fields lie in the order and in the types
 * that the program says; CIFAR-10's is such a format, and so are files of numbers. Files are
 * mapped; those whose names say that they are compressed are unpacked into memory. */
#include "runtime/feed.h"
#include "runtime/path.h"
#include "runtime/shards.h"
#include "runtime/spans.h"
#include "runtime/type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct FlowReader {
    const FlowField *fields;
    int count;
    uint64_t header; /* bytes before the first record of a file */
    uint64_t record_size;
    Feed *feed; /* or NULL: of files */
    Shards shards;
    Spans spans; /* of the shards */
};

static const char *record_at(const FlowReader *reader, int64_t record) {
    int shard = spans_find(&reader->spans, record);
    uint64_t number = (uint64_t)(record - reader->spans.firsts[shard]);
    return reader->shards.items[shard].bytes + reader->header + number * reader->record_size;
}

/* Opening. */

static FlowStatus misfit(const FlowReader *reader, const Shard *shard) {
    uint64_t size = shard->size - reader->header;
    uint64_t more = size % reader->record_size;
    return flow_failure(
        FLOW_EXIT_data,
        "%s: the %llu bytes%s are %llu records of %llu bytes, and %llu %s left: "
        "records are other ones, or the file is truncated",
        shard->path, (unsigned long long)size, reader->header ? " behind the header" : "",
        (unsigned long long)(size / reader->record_size), (unsigned long long)reader->record_size,
        (unsigned long long)more, more == 1 ? "is" : "are");
}

static FlowStatus count_shard(FlowReader *reader, int number) {
    const Shard *shard = &reader->shards.items[number];
    if (shard->size < reader->header)
        return flow_failure(FLOW_EXIT_data, "%s: has %llu bytes, fewer than its header of %llu",
                            shard->path, (unsigned long long)shard->size,
                            (unsigned long long)reader->header);
    uint64_t size = shard->size - reader->header;
    if (size % reader->record_size) return misfit(reader, shard);
    reader->spans.firsts[number + 1] =
        reader->spans.firsts[number] + (int64_t)(size / reader->record_size);
    return flow_ok;
}

static FlowStatus no_memory(const char *pattern) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", pattern);
}

static FlowStatus open_all(FlowReader *reader) {
    const char *pattern = reader->fields[0].path;
    FlowStatus status = shards_open(pattern, SHARD_by_name, &reader->shards);
    if (status.exit) return status;
    if (!spans_new(reader->shards.count, &reader->spans)) return no_memory(pattern);
    for (int i = 0; i < reader->shards.count && !status.exit; i++) status = count_shard(reader, i);
    if (status.exit) return status;
    if (!reader->spans.firsts[reader->shards.count])
        return flow_failure(FLOW_EXIT_data, "%s: has no records", pattern);
    return spans_index(&reader->spans, reader->shards.count) ? flow_ok : no_memory(pattern);
}

/* Of a feed. */

static size_t cut_record(void *context, const char *bytes, size_t size, FeedScan *scan) {
    (void)bytes;
    const FlowReader *reader = context;
    scan->nothing = scan->start && reader->header;
    uint64_t wanted = scan->nothing ? reader->header : reader->record_size;
    return size < wanted ? 0 : wanted;
}

static FlowStatus open_feed(FlowReader *reader, const FlowOrigin *origin) {
    if (reader->record_size <= FEED_RECORD_LIMIT && reader->header <= FEED_RECORD_LIMIT)
        return feed_open_origin(origin, false, cut_record, reader, &reader->feed);
    return flow_failure(FLOW_EXIT_usage,
                        "a record that comes one after the other has at most %d MB, not %llu",
                        FEED_RECORD_LIMIT >> 20, (unsigned long long)reader->record_size >> 20);
}

static bool is_short(const FlowReader *reader, size_t size, int64_t record, FlowStatus *failure) {
    if (size == reader->record_size) return false;
    if (failure)
        *failure = flow_failure(FLOW_EXIT_data, "%s: ends within record %lld: %zu bytes of %llu",
                                feed_name(reader->feed), (long long)record, size,
                                (unsigned long long)reader->record_size);
    return true;
}

static void binary_close(FlowReader *reader) {
    feed_close(reader->feed);
    shards_close(&reader->shards);
    spans_close(&reader->spans);
    free(reader);
}

static FlowStatus binary_open(const FlowField *fields, int count,
                              const FlowSourceArguments *arguments, FlowReader **out) {
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return flow_failure(FLOW_EXIT_resource, "%s: no memory", fields[0].path);
    reader->fields = fields;
    reader->count = count;
    reader->header = (uint64_t)arguments->header_size;
    for (int i = 0; i < count; i++) reader->record_size += flow_type_size(&fields[i].type);
    FlowStatus status = path_is_standard_input(fields[0].path)
                            ? open_feed(reader, &arguments->origin)
                            : open_all(reader);
    if (!status.exit) return status;
    binary_close(reader);
    *out = NULL;
    return status;
}

/* Reading. */

static Feed *binary_feed(const FlowReader *reader) {
    return reader->feed;
}

static int64_t binary_records(const FlowReader *reader) {
    return reader->feed ? 0 : reader->spans.firsts[reader->shards.count];
}

/* One field of one file lies as an array does, if it lies where its elements may. */
static bool binary_point(const FlowReader *reader, const void **firsts) {
    size_t element = flow_element_size(reader->fields[0].type.element);
    if (reader->count != 1 || reader->feed || reader->shards.count != 1 ||
        reader->header % element != 0)
        return false;
    firsts[0] = record_at(reader, 0);
    return true;
}

static bool binary_make(const FlowReader *reader, int64_t record, void *const *values,
                        FlowStatus *failure) {
    size_t size = 0;
    const char *bytes =
        reader->feed ? feed_record(reader->feed, record, &size) : record_at(reader, record);
    if (reader->feed && is_short(reader, size, record, failure)) return false;
    for (int i = 0; i < reader->count; i++) {
        size = flow_type_size(&reader->fields[i].type);
        memcpy(values[i], bytes, size);
        bytes += size;
    }
    return true;
}

static void binary_prefetch(const FlowReader *reader, int64_t record) {
    if (!reader->feed) shard_prefetch(record_at(reader, record), reader->record_size);
}

static void binary_locate(const FlowReader *reader, int64_t record, char *text, size_t size) {
    if (reader->feed) {
        snprintf(text, size, "%s: record %lld", feed_name(reader->feed), (long long)record);
        return;
    }
    int shard = spans_find(&reader->spans, record);
    snprintf(text, size, "%s: record %lld", reader->shards.items[shard].path,
             (long long)(record - reader->spans.firsts[shard]));
}

const FlowSource flow_source_binary = {
    .name = "binary",
    .open = binary_open,
    .records = binary_records,
    .feed = binary_feed,
    .point = binary_point,
    .make = binary_make,
    .prefetch = binary_prefetch,
    .locate = binary_locate,
    .close = binary_close,
    .finds_many = true,
};
