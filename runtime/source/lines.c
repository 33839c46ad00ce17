/* lines: one record a line of text, without what ends it (LF or CRLF): a file, plain or compressed, or
 * standard input. A line becomes u8[n] with zeros behind it, or what a field makes of bytes. */
#define _GNU_SOURCE
#include "runtime/blob.h"
#include "runtime/feed.h"
#include "runtime/holdings.h"
#include "runtime/path.h"
#include "runtime/shards.h"
#include "runtime/type.h"
#include "runtime/vocabulary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_LINES = 1024 };

typedef struct Line {
    const char *bytes;
    size_t size;
} Line;

struct FlowReader {
    const FlowField *fields;
    int count;
    Feed *feed; /* of standard input; else */
    Shards files;
    Line *lines;
    int64_t records, capacity;
};

static const char *path_of(const FlowReader *reader) {
    return path_is_standard_input(reader->fields[0].path) ? "standard input"
                                                          : reader->fields[0].path;
}

/* Lines of files. */

static size_t cut_line(const void *context, const char *bytes, size_t size) {
    (void)context;
    const char *end = memchr(bytes, '\n', size);
    return end ? (size_t)(end - bytes) + 1 : 0;
}

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
        size = cut_line(NULL, file->bytes + at, file->size - at);
        if (!size) size = file->size - at;
        status = add_line(reader, file->bytes + at, size);
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

/* Is it taken as it is? */
static bool is_text(const FlowField *field) {
    return !field->decoder && !field->digits && !is_category(field) && !field->tokens;
}

static FlowStatus copy_line(const Line *line, const FlowType *type, void *value) {
    size_t room = flow_type_size(type);
    if (line->size > room)
        return flow_failure(FLOW_EXIT_data, "has %zu bytes, the program expects %s at most",
                            line->size, type_name(type).text);
    memcpy(value, line->bytes, line->size);
    memset((char *)value + line->size, 0, room - line->size);
    return flow_ok;
}

static bool lines_make(const FlowReader *reader, int64_t record, void *const *values,
                       FlowStatus *failure) {
    Line line = line_at(reader, record);
    for (int i = 0; i < reader->count; i++) {
        const FlowField *field = &reader->fields[i];
        FlowStatus status = is_text(field) ? copy_line(&line, &field->type, values[i])
                                           : blob_value(line.bytes, line.size, field, values[i]);
        if (!status.exit) continue;
        if (failure)
            *failure = flow_failure(status.exit, "%s: line %lld: `%s` %s", path_of(reader),
                                    (long long)record + 1, field->name, status.text);
        return false;
    }
    return true;
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
    (void)arguments;
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader)
        return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", fields[0].path);
    reader->fields = fields;
    reader->count = count;
    FlowStatus status =
        path_is_standard_input(fields[0].path)
            ? feed_open(STDIN_FILENO, path_of(reader), cut_line, NULL, &reader->feed)
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
    .close = lines_close,
    .finds_many = true,
};
