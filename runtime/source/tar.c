/* tar: shards of archives whose files belong together by name, as WebDataset writes them: a record
 * is what lies side by side under one name up to the first dot, a field the rest of the name.
 * Shards are indexed when they are opened: a record is a few places in memory, and can be asked for
 * in any order. Plain shards are mapped; compressed ones are unpacked into memory. */
#include "runtime/format/tar.h"

#include "runtime/blob.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_RECORDS = 1024 };

/* A field of a record: bytes of its shard. */
typedef struct Member {
    uint64_t begin, size;
} Member;

struct FlowReader {
    const FlowField *fields;
    int count;
    Shards shards;
    int64_t records, capacity;
    int32_t *shard_of; /* of each record */
    Member *members;   /* `count` of each record; size UINT64_MAX: it is missing */
};

static const uint64_t no_member = UINT64_MAX;

static FlowStatus no_memory(const FlowReader *reader) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", reader->fields[0].path);
}

static const Shard *shard_of(const FlowReader *reader, int64_t record) {
    return &reader->shards.items[reader->shard_of[record]];
}

/* The index. */

static FlowStatus grow(FlowReader *reader) {
    int64_t capacity = reader->capacity ? 2 * reader->capacity : FIRST_RECORDS;
    size_t members = (size_t)capacity * (size_t)reader->count;
    int32_t *shard_of = held_resize(reader->shard_of, (size_t)reader->capacity * sizeof *shard_of,
                                    (size_t)capacity * sizeof *shard_of);
    if (shard_of) reader->shard_of = shard_of;
    Member *more =
        held_resize(reader->members, (size_t)(reader->capacity * reader->count) * sizeof *more,
                    members * sizeof *more);
    if (more) reader->members = more;
    if (!shard_of || !more) return no_memory(reader);
    reader->capacity = capacity;
    return flow_ok;
}

/* Where the name of a record ends and that of its field begins: the first dot of the last part. */
static size_t stem_length(const char *name) {
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const char *dot = strchr(base, '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

static FlowStatus begin_record(FlowReader *reader, int shard) {
    FlowStatus status = reader->records == reader->capacity ? grow(reader) : flow_ok;
    if (status.exit) return status;
    reader->shard_of[reader->records] = shard;
    for (int i = 0; i < reader->count; i++)
        reader->members[reader->records * reader->count + i] = (Member){0, no_member};
    reader->records++;
    return flow_ok;
}

static bool is_of_field(const FlowReader *reader, int field, const TarMember *member) {
    const char *dot = member->name + stem_length(member->name);
    return *dot && !strcmp(reader->fields[field].name, dot + 1);
}

/* Files that the program does not ask for belong to no record. */
static bool is_wanted(const FlowReader *reader, const TarMember *member) {
    bool wanted = false;
    for (int i = 0; i < reader->count; i++) wanted |= is_of_field(reader, i, member);
    return wanted;
}

static void note_member(FlowReader *reader, const TarMember *found) {
    Member *members = reader->members + (reader->records - 1) * reader->count;
    for (int i = 0; i < reader->count; i++)
        if (is_of_field(reader, i, found)) members[i] = (Member){found->begin, found->size};
}

/* Names are not kept: the record's is looked up in its archive. field: whose member it is, if there
 * is one. */
static TarMember find_member(const FlowReader *reader, int64_t record, int field) {
    const Shard *shard = shard_of(reader, record);
    Tar tar = tar_new(shard->bytes, shard->size);
    TarMember member = {.name = ""};
    uint64_t last = 0;
    for (int i = 0; i < reader->count; i++) {
        const Member *known = &reader->members[record * reader->count + i];
        if (known->size != no_member && (i == field || !last)) last = known->begin;
    }
    while (tar_next(&tar, &member) && member.begin < last) continue;
    return member;
}

static FlowStatus record_failure(const FlowReader *reader, int64_t record, int field,
                                 const char *why) {
    TarMember member = find_member(reader, record, field);
    return flow_failure(FLOW_EXIT_data, "%s: %.*s.%s: %s", shard_of(reader, record)->path,
                        (int)stem_length(member.name), member.name, reader->fields[field].name,
                        why);
}

static void tar_locate(const FlowReader *reader, int64_t record, char *text, size_t size) {
    TarMember member = find_member(reader, record, 0);
    snprintf(text, size, "%s: %.*s", shard_of(reader, record)->path, (int)stem_length(member.name),
             member.name);
}

static FlowStatus check_record(const FlowReader *reader, int64_t record) {
    for (int i = 0; i < reader->count; i++)
        if (reader->members[record * reader->count + i].size == no_member)
            return record_failure(reader, record, i, "there is no such member");
    return flow_ok;
}

static FlowStatus index_shard(FlowReader *reader, int number) {
    const Shard *shard = &reader->shards.items[number];
    Tar tar = tar_new(shard->bytes, shard->size);
    TarMember member;
    char stem[TAR_NAME_SIZE] = "";
    bool begun = false;
    FlowStatus status = flow_ok;
    while (!status.exit && tar_next(&tar, &member)) {
        if (interrupted()) return interrupt_reading(shard->path);
        size_t length = stem_length(member.name);
        if (!is_wanted(reader, &member)) continue;
        if (!begun || strlen(stem) != length || memcmp(stem, member.name, length)) {
            if (begun) status = check_record(reader, reader->records - 1);
            if (!status.exit) status = begin_record(reader, number);
            memcpy(stem, member.name, length);
            stem[length] = 0;
            begun = true;
        }
        if (!status.exit) note_member(reader, &member);
    }
    if (!status.exit && begun && !tar.error) status = check_record(reader, reader->records - 1);
    if (status.exit || !tar.error) return status;
    return flow_failure(FLOW_EXIT_data, "%s: at byte %llu: %s", shard->path,
                        (unsigned long long)tar.at, tar.error);
}

/* Opening. */

static void tar_close(FlowReader *reader) {
    shards_close(&reader->shards);
    free(reader->shard_of);
    free(reader->members);
    free(reader);
}

static FlowStatus open_all(FlowReader *reader) {
    const char *pattern = reader->fields[0].path;
    FlowStatus status = shards_open(pattern, SHARD_by_content, &reader->shards);
    for (int i = 0; i < reader->shards.count && !status.exit; i++) status = index_shard(reader, i);
    if (status.exit || reader->records) return status;
    return flow_failure(FLOW_EXIT_data, "%s: has no records", pattern);
}

static FlowStatus tar_open(const FlowField *fields, int count, const FlowSourceArguments *arguments,
                           FlowReader **out) {
    (void)arguments;
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return flow_failure(FLOW_EXIT_resource, "%s: no memory", fields[0].path);
    reader->fields = fields;
    reader->count = count;
    FlowStatus status = open_all(reader);
    if (!status.exit) return status;
    tar_close(reader);
    *out = NULL;
    return status;
}

static FlowStatus make_field(const FlowReader *reader, int64_t record, int index, void *value) {
    const Member *member = &reader->members[record * reader->count + index];
    const char *bytes = shard_of(reader, record)->bytes + member->begin;
    return blob_value(bytes, member->size, &reader->fields[index], value);
}

static int64_t tar_records(const FlowReader *reader) {
    return reader->records;
}

static bool tar_make(const FlowReader *reader, int64_t record, void *const *values,
                     FlowStatus *failure) {
    for (int i = 0; i < reader->count; i++) {
        FlowStatus status = make_field(reader, record, i, values[i]);
        if (!status.exit) continue;
        if (failure) {
            *failure = record_failure(reader, record, i, status.text);
            failure->exit = status.exit;
        }
        return false;
    }
    return true;
}

const FlowSource flow_source_tar = {
    .name = "tar",
    .open = tar_open,
    .records = tar_records,
    .make = tar_make,
    .locate = tar_locate,
    .close = tar_close,
    .finds_many = true,
};
