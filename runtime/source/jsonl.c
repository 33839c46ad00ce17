/* jsonl: an object a line (JSON lines), plain or compressed. Where lines begin is found once; a
 * line is parsed when its record is made, and every line is checked as a whole, whatever the
 * program asks for. */
#include "runtime/source/jsonl_value.h"

#include "runtime/feed.h"
#include "runtime/lines.h"
#include "runtime/mapped.h"
#include "runtime/nearest.h"
#include "runtime/path.h"
#include "runtime/records.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_SIZE = 64, /* bytes that one prefetch brings */
    PREFETCHED = 4, /* times; the hardware goes on by itself */
};

struct FlowReader {
    const char *path;
    Feed *feed; /* or NULL: of a file */
    Mapped file;
    Lines lines;
    int count;
    JsonMember members[];
};

static int64_t number_of(const FlowReader *reader, int64_t record) {
    return reader->feed ? feed_line(reader->feed, record) : lines_number(&reader->lines, record);
}

/* A record that is being made. */
typedef struct Line {
    const FlowReader *reader;
    int64_t record;
    const char *start, *end; /* end: of the text that it stands in */
    JsonScan scan;
    void *const *values;
    uint32_t found;           /* a bit for each member that was there */
    size_t path[FIELD_LIMIT]; /* of each member's name, what the objects around it said */
    FlowStatus *failure;
} Line;

static bool fail_at(const Line *line, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* False, with the failure. */
static bool fail_at(const Line *line, const char *at, const char *format, ...) {
    char text[sizeof line->failure->text];
    va_list arguments;
    if (!line->failure) return false;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    *line->failure = flow_failure(
        FLOW_EXIT_data, "%s: line %lld, column %lld: %s", line->reader->path,
        (long long)number_of(line->reader, line->record), (long long)(at - line->start + 1), text);
    return false;
}

static bool syntax_failure(const Line *line) {
    return fail_at(line, line->scan.at, "%s", line->scan.error);
}

static bool read_value(Line *line, int index) {
    JsonValue value; /* whose text is not worth to be cleared */
    value.member = &line->reader->members[index];
    value.scan = &line->scan;
    if (json_value_read(&value, line->values[index])) return true;
    if (line->scan.error) return syntax_failure(line);
    fail_at(line, value.at, "%s", value.text);
    if (line->failure) line->failure->exit = value.exit;
    return false;
}

/* Objects. */

/* What of the members' names begins with this one. */
typedef struct Matches {
    uint32_t whole, outer; /* a bit for each member: this is it; it lies in this one */
} Matches;

static Matches match_members(const Line *line, uint32_t open, const char *name, size_t size) {
    Matches matches = {0};
    for (int i = 0; open >> i; i++) {
        const JsonMember *member = &line->reader->members[i];
        size_t said = line->path[i], left = member->name_size - said;
        if (!(open >> i & 1) || left < size || memcmp(member->field->name + said, name, size))
            continue;
        if (left == size) matches.whole |= 1u << i;
        else if (member->field->name[said + size] == '.') matches.outer |= 1u << i;
    }
    return matches;
}

static Matches match_name(const Line *line, uint32_t open, const JsonToken *name) {
    char text[JSON_TEXT_SIZE];
    size_t size;
    if (!name->escaped) return match_members(line, open, name->text, name->size);
    if (!json_token_decode(name, text, sizeof text, &size)) return (Matches){0};
    return match_members(line, open, text, size);
}

/* A value that several fields are made of is read for each. */
static bool read_values(Line *line, uint32_t members, const JsonToken *name) {
    JsonScan start = line->scan;
    if (line->found & members)
        return fail_at(line, name->text, "`%.*s` is there twice", json_shown(name->size),
                       name->text);
    line->found |= members;
    for (int i = 0; members >> i; i++) {
        if (!(members >> i & 1)) continue;
        line->scan = start;
        if (!read_value(line, i)) return false;
    }
    return true;
}

static void go_along(Line *line, uint32_t members, size_t size, bool in) {
    for (int i = 0; members >> i; i++)
        if (members >> i & 1) line->path[i] = in ? line->path[i] + size : line->path[i] - size;
}

/* The members of `open` may lie in this object. */
static bool read_object(Line *line, uint32_t open) {
    JsonToken name;
    if (!json_scan_open(&line->scan, '{')) return syntax_failure(line);
    while (json_scan_member(&line->scan, &name)) {
        Matches matches = match_name(line, open, &name);
        if (matches.whole) {
            if (!read_values(line, matches.whole, &name)) return false;
        } else if (matches.outer && json_scan_peek(&line->scan) == '{') {
            go_along(line, matches.outer, name.size + 1, true);
            if (!read_object(line, matches.outer)) return false;
            go_along(line, matches.outer, name.size + 1, false);
        } else if (!json_scan_skip(&line->scan)) return syntax_failure(line);
    }
    return !line->scan.error || syntax_failure(line);
}

/* What is missing. */

/* The member of the line whose name is nearest to what the program asks for, or none. */
static JsonToken nearest_member(const Line *line, const char *name) {
    JsonScan scan = json_scan_new(line->start);
    JsonToken best = {0}, other;
    int least = name_distance_limit(strlen(name));
    json_scan_open(&scan, '{');
    while (json_scan_member(&scan, &other) && json_scan_skip(&scan)) {
        int edits = name_distance(name, other.text, other.size);
        if (edits < least) best = other, least = edits;
    }
    return best;
}

static bool fill_missing(const Line *line, int index) {
    JsonValue value = {.member = &line->reader->members[index]};
    const char *start = line->start;
    if (json_value_fill(&value, line->values[index])) return true;
    const char *name = value.member->field->name;
    JsonToken near = value.member->field->fills ? (JsonToken){0} : nearest_member(line, name);
    if (!near.text) return fail_at(line, start, "%s", value.text);
    return fail_at(line, start, "there is no `%.*s`; did you mean `%.*s`?",
                   json_shown(strlen(name)), name, json_shown(near.size), near.text);
}

/* A NUL ends a scan, but no line. */
static bool is_at_end(const Line *line) {
    return *line->scan.at || line->scan.at == line->end;
}

static bool make_line(Line *line) {
    const FlowReader *reader = line->reader;
    uint32_t all = (uint32_t)((UINT64_C(1) << reader->count) - 1);
    line->scan = json_scan_new(line->start);
    if (!read_object(line, all)) return false;
    if (!json_scan_end(&line->scan)) return syntax_failure(line);
    if (!is_at_end(line)) return fail_at(line, line->scan.at, "something follows the end");
    for (int i = 0; line->found != all && i < reader->count; i++)
        if (!(line->found >> i & 1) && !fill_missing(line, i)) return false;
    return true;
}

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
}

static bool make_fed(Line *line) {
    FeedCopy copy;
    feed_copy(line->reader->feed, line->record, &copy);
    if (!copy.bytes && line->failure) *line->failure = no_memory(line->reader->path);
    if (!copy.bytes) return false;
    line->start = copy.bytes;
    line->end = copy.bytes + copy.size;
    bool made = make_line(line);
    feed_drop_copy(&copy);
    return made;
}

static bool jsonl_make(const FlowReader *reader, int64_t record, void *const *values,
                       FlowStatus *failure) {
    Line line = {.reader = reader, .record = record, .values = values, .failure = failure};
    if (reader->feed) return make_fed(&line);
    line.start = lines_at(&reader->lines, record);
    line.end = reader->file.bytes + reader->file.size;
    return make_line(&line);
}

static void jsonl_prefetch(const FlowReader *reader, int64_t record) {
    if (reader->feed) return;
    const char *text = lines_at(&reader->lines, record);
    for (int i = 0; i < PREFETCHED; i++) __builtin_prefetch(text + i * LINE_SIZE);
}

static void jsonl_locate(const FlowReader *reader, int64_t record, char *text, size_t size) {
    snprintf(text, size, "%s: line %lld", reader->path, (long long)number_of(reader, record));
}

/* The source. */

static size_t cut_object(void *context, const char *bytes, size_t size, FeedScan *scan) {
    int mark = feed_mark(bytes, size, scan);
    scan->nothing = mark != 0;
    scan->breaks = mark == 0;
    if (mark) return mark < 0 ? 0 : (size_t)mark;
    size_t length = feed_cut_line(context, bytes, size, scan), at = 0;
    size_t all = length ? length : size;
    while (at < all && strchr(" \t\r\n", bytes[at]) && bytes[at]) at++;
    scan->nothing = at == all;
    return length;
}

static FlowStatus open_feed(FlowReader *reader, const FlowOrigin *origin) {
    FlowStatus status = feed_open_origin(origin, true, cut_object, NULL, &reader->feed);
    if (!status.exit) reader->path = feed_name(reader->feed);
    return status;
}

static JsonMember member_of(const FlowField *field) {
    return (JsonMember){.field = field,
                        .name_size = strlen(field->name),
                        .element_size = flow_element_size(field->type.element)};
}

static FlowStatus open_all(FlowReader *reader, const FlowField *fields, int count,
                           const FlowSourceArguments *arguments) {
    for (; reader->count < count; reader->count++)
        reader->members[reader->count] = member_of(&fields[reader->count]);
    if (path_is_standard_input(reader->path)) return open_feed(reader, &arguments->origin);
    FlowStatus status = mapped_open(reader->path, &reader->file);
    if (!status.exit)
        status = lines_open(reader->path, reader->file.bytes, reader->file.size, &reader->lines);
    if (status.exit || reader->lines.count) return status;
    return flow_failure(FLOW_EXIT_data, "%s: has no records", reader->path);
}

static void jsonl_close(FlowReader *reader) {
    feed_close(reader->feed);
    lines_close(&reader->lines);
    mapped_close(&reader->file);
    free(reader);
}

static FlowStatus jsonl_open(const FlowField *fields, int count,
                             const FlowSourceArguments *arguments, FlowReader **out) {
    FlowReader *reader = *out = calloc(1, sizeof *reader + sizeof *reader->members * (size_t)count);
    if (!reader) return no_memory(fields[0].path);
    reader->path = fields[0].path;
    FlowStatus status = open_all(reader, fields, count, arguments);
    if (!status.exit) return status;
    jsonl_close(reader);
    *out = NULL;
    return status;
}

static Feed *jsonl_feed(const FlowReader *reader) {
    return reader->feed;
}

static int64_t jsonl_records(const FlowReader *reader) {
    return reader->lines.count;
}

const FlowSource flow_source_jsonl = {
    .name = "jsonl",
    .open = jsonl_open,
    .records = jsonl_records,
    .feed = jsonl_feed,
    .make = jsonl_make,
    .prefetch = jsonl_prefetch,
    .locate = jsonl_locate,
    .close = jsonl_close,
};
