/* lines: one record a line of text, without what ends it (LF or CRLF): a file, plain or compressed,
 * or what comes on standard input or from elsewhere. A line becomes u8[n] with zeros behind it, or
 * what a field makes of bytes. */
#define _GNU_SOURCE
#include "runtime/blob.h"
#include "runtime/feed.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/path.h"
#include "runtime/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LINES = 1024 };

typedef struct Line {
    const char *bytes;
    size_t size;
} Line;

struct FlowReader {
    const FlowField *fields;
    int count;
    Feed *feed; /* or NULL: of files */
    Shards files;
    Line *lines;
    int64_t records, capacity;
};

static const char *path_of(const FlowReader *reader) {
    return reader->feed ? feed_name(reader->feed) : reader->fields[0].path;
}

/* Lines of files. */

static size_t without_end(const char *bytes, size_t size) {
    if (size && bytes[size - 1] == '\n') size--;
    else return size;
    return size && bytes[size - 1] == '\r' ? size - 1 : size;
}

static FlowStatus no_memory(const FlowReader *reader) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path_of(reader));
}

static FlowStatus add_line(FlowReader *reader, const char *bytes, size_t size) {
    if (reader->records == reader->capacity) {
        int64_t capacity = reader->capacity ? 2 * reader->capacity : FIRST_LINES;
        Line *more = held_resize(reader->lines, (size_t)reader->capacity * sizeof *more,
                                 (size_t)capacity * sizeof *more);
        if (!more) return no_memory(reader);
        reader->lines = more;
        reader->capacity = capacity;
    }
    reader->lines[reader->records++] = (Line){bytes, without_end(bytes, size)};
    return flow_ok;
}

static FlowStatus index_file(FlowReader *reader, const Shard *file) {
    FlowStatus status = flow_ok;
    for (size_t at = 0, size; at < file->size && !status.exit; at += size) {
        const char *end = memchr(file->bytes + at, '\n', file->size - at);
        size = end ? (size_t)(end + 1 - (file->bytes + at)) : file->size - at;
        status = add_line(reader, file->bytes + at, size);
        if (interrupted()) return interrupt_reading(file->path);
    }
    return status;
}

static FlowStatus open_files(FlowReader *reader) {
    FlowStatus status = shards_open(reader->fields[0].path, SHARD_by_name, &reader->files);
    for (int i = 0; i < reader->files.count && !status.exit; i++)
        status = index_file(reader, &reader->files.items[i]);
    if (!status.exit && !reader->records)
        return flow_failure(FLOW_EXIT_data, "%s: has no lines", path_of(reader));
    return status;
}

/* Values. */

static Line line_at(const FlowReader *reader, int64_t record) {
    if (!reader->feed) return reader->lines[record];
    Line line;
    line.bytes = feed_record(reader->feed, record, &line.size);
    line.size = without_end(line.bytes, line.size);
    return line;
}

static int64_t line_number(const FlowReader *reader, int64_t record) {
    return reader->feed ? feed_line(reader->feed, record) : record + 1;
}

static bool lines_make(const FlowReader *reader, int64_t record, void *const *values,
                       FlowStatus *failure) {
    Line line = line_at(reader, record);
    for (int i = 0; i < reader->count; i++) {
        const FlowField *field = &reader->fields[i];
        FlowStatus status = blob_text(line.bytes, line.size, field, values[i]);
        if (!status.exit) continue;
        if (failure)
            *failure =
                flow_failure(status.exit, "%s: line %lld: `%s` %s", path_of(reader),
                             (long long)line_number(reader, record), field->name, status.text);
        return false;
    }
    return true;
}

static void lines_locate(const FlowReader *reader, int64_t record, char *text, size_t size) {
    snprintf(text, size, "%s: line %lld", path_of(reader), (long long)line_number(reader, record));
}

/* The source. */

static void lines_close(FlowReader *reader) {
    feed_close(reader->feed);
    shards_close(&reader->files);
    free(reader->lines);
    free(reader);
}

static FlowStatus lines_open(const FlowField *fields, int count,
                             const FlowSourceArguments *arguments, FlowReader **out) {
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader)
        return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", fields[0].path);
    reader->fields = fields;
    reader->count = count;
    FlowStatus status =
        path_is_standard_input(fields[0].path)
            ? feed_open_origin(&arguments->origin, true, feed_cut_line, NULL, &reader->feed)
            : open_files(reader);
    if (!status.exit) return status;
    lines_close(reader);
    *out = NULL;
    return status;
}

static int64_t lines_records(const FlowReader *reader) {
    return reader->records;
}

static Feed *lines_feed(const FlowReader *reader) {
    return reader->feed;
}

const FlowSource flow_source_lines = {
    .name = "lines",
    .open = lines_open,
    .records = lines_records,
    .feed = lines_feed,
    .make = lines_make,
    .locate = lines_locate,
    .close = lines_close,
    .finds_many = true,
};
