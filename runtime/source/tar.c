/* tar: shards of archives whose files belong together by name, as WebDataset writes them: a record is
 * what lies side by side under one name up to the first dot, a field the rest of the name. Shards are
 * indexed when they are opened: a record is a few places in memory, and can be asked for in any
 * order. Plain shards are mapped; compressed ones are unpacked into memory. */
#define _GNU_SOURCE
#include "runtime/format/tar.h"

#include "runtime/content.h"
#include "runtime/decode/resize.h"
#include "runtime/type.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_RECORDS = 1024, PIXEL_LIMIT = 1 << 26 /* of an image that is resized */ };

typedef struct Shard {
    char *path;
    const char *bytes;
    uint64_t size;
    Content content; /* of a compressed one; else bytes are mapped */
} Shard;

/* A field of a record: bytes of its shard. */
typedef struct Member {
    uint64_t begin, size;
} Member;

struct FlowReader {
    const FlowField *fields;
    int count;
    Shard *shards;
    int shard_count;
    int64_t records, capacity;
    int32_t *shard_of; /* of each record */
    Member *members;   /* `count` of each record; size UINT64_MAX: it is missing */
};

static const uint64_t no_member = UINT64_MAX;

static FlowStatus no_memory(const FlowReader *reader) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", reader->fields[0].path);
}

/* Shards. */

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
    if (shard->size) {
        void *bytes = mmap(NULL, shard->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        shard->bytes = bytes == MAP_FAILED ? NULL : bytes;
        if (!shard->bytes)
            status = flow_failure(FLOW_EXIT_resource, "%s: cannot be mapped: %s", shard->path,
                                  strerror(errno));
    }
    if (descriptor >= 0) close(descriptor);
    return status;
}

static bool is_compressed(const Shard *shard) {
    return shard->size >= 2 && !memcmp(shard->bytes, "\x1f\x8b", 2);
}

static void unmap_shard(Shard *shard) {
    if (shard->bytes && !shard->content.bytes) munmap((void *)shard->bytes, shard->size);
    shard->bytes = NULL;
}

static FlowStatus open_shard(Shard *shard) {
    FlowStatus status = map_shard(shard);
    if (status.exit || !is_compressed(shard)) return status;
    unmap_shard(shard);
    status = content_read(shard->path, &shard->content);
    shard->bytes = shard->content.bytes;
    shard->size = shard->content.size;
    return status;
}

/* The index. */

static FlowStatus grow(FlowReader *reader) {
    int64_t capacity = reader->capacity ? 2 * reader->capacity : FIRST_RECORDS;
    size_t members = (size_t)capacity * (size_t)reader->count;
    int32_t *shard_of = realloc(reader->shard_of, (size_t)capacity * sizeof *shard_of);
    if (shard_of) reader->shard_of = shard_of;
    Member *more = realloc(reader->members, members * sizeof *more);
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

/* Names are not kept: the record's is looked up in its archive. */
static FlowStatus record_failure(const FlowReader *reader, int64_t record, int field,
                                 const char *why) {
    const FlowField *wanted = &reader->fields[field];
    const Shard *shard = &reader->shards[reader->shard_of[record]];
    Tar tar = tar_new(shard->bytes, shard->size);
    TarMember member = {.name = ""};
    uint64_t last = 0;
    for (int i = 0; i < reader->count; i++) {
        const Member *known = &reader->members[record * reader->count + i];
        if (known->size != no_member && (i == field || !last)) last = known->begin;
    }
    while (tar_next(&tar, &member) && member.begin < last) continue;
    return flow_failure(FLOW_EXIT_data, "%s: %.*s.%s: %s", shard->path,
                        (int)stem_length(member.name), member.name, wanted->name, why);
}

static FlowStatus check_record(const FlowReader *reader, int64_t record) {
    for (int i = 0; i < reader->count; i++)
        if (reader->members[record * reader->count + i].size == no_member)
            return record_failure(reader, record, i, "there is no such member");
    return flow_ok;
}

static FlowStatus index_shard(FlowReader *reader, int number) {
    const Shard *shard = &reader->shards[number];
    Tar tar = tar_new(shard->bytes, shard->size);
    TarMember member;
    char stem[TAR_NAME_SIZE] = "";
    bool begun = false;
    FlowStatus status = flow_ok;
    while (!status.exit && tar_next(&tar, &member)) {
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
    for (int i = 0; i < reader->shard_count; i++) {
        unmap_shard(&reader->shards[i]);
        content_free(&reader->shards[i].content);
        free(reader->shards[i].path);
    }
    free(reader->shards);
    free(reader->shard_of);
    free(reader->members);
    free(reader);
}

static FlowStatus open_shards(FlowReader *reader, const glob_t *files) {
    FlowStatus status = flow_ok;
    reader->shards = calloc(files->gl_pathc + 1, sizeof *reader->shards);
    if (!reader->shards) return no_memory(reader);
    for (size_t i = 0; i < files->gl_pathc && !status.exit; i++) {
        Shard *shard = &reader->shards[reader->shard_count++];
        shard->path = strdup(files->gl_pathv[i]);
        status = shard->path ? open_shard(shard) : no_memory(reader);
        if (!status.exit) status = index_shard(reader, (int)i);
    }
    return status;
}

static FlowStatus open_all(FlowReader *reader) {
    glob_t files;
    const char *pattern = reader->fields[0].path;
    int failed = glob(pattern, 0, NULL, &files);
    FlowStatus status = failed ? flow_failure(FLOW_EXIT_data, "%s: no such file", pattern)
                               : open_shards(reader, &files);
    globfree(&files);
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

/* Members to values. Each says what is wrong, without the place. */

static FlowStatus make_integer(const char *bytes, uint64_t size, const FlowType *type,
                               void *value) {
    char text[32], *end;
    while (size && isspace((unsigned char)bytes[size - 1])) size--;
    if (size >= sizeof text) return flow_failure(FLOW_EXIT_data, "has too many digits");
    memcpy(text, bytes, size);
    text[size] = 0;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!size || *end || errno || isspace((unsigned char)text[0]))
        return flow_failure(FLOW_EXIT_data, "`%s` is no whole number", text);
    if (type->element == FLOW_i64) memcpy(value, &number, sizeof number);
    else if (!number_write(type->element, (double)number, value))
        return flow_failure(FLOW_EXIT_data, "`%s` is no %s", text, type_name(type).text);
    return flow_ok;
}

static FlowStatus make_bytes(const char *bytes, uint64_t size, const FlowType *type, void *value) {
    if (size != flow_type_size(type))
        return flow_failure(FLOW_EXIT_data, "has %llu bytes, the program expects %s",
                            (unsigned long long)size, type_name(type).text);
    memcpy(value, bytes, size);
    return flow_ok;
}

static FlowStatus make_resized(const char *bytes, uint64_t size, const FlowField *field,
                               FlowType type, void *value) {
    if (type.sizes[0] > PIXEL_LIMIT / type.sizes[1])
        return flow_failure(FLOW_EXIT_data, "is %s, more than 2^26 pixels", type_name(&type).text);
    void *pixels = malloc(flow_type_size(&type));
    if (!pixels) return flow_failure(FLOW_EXIT_resource, "no memory for %s", type_name(&type).text);
    FlowStatus status = field->decoder->decode(bytes, size, &type, pixels);
    if (!status.exit) status = resize_image(&type, pixels, &field->type, value);
    free(pixels);
    return status;
}

static FlowStatus make_image(const char *bytes, uint64_t size, const FlowField *field,
                             void *value) {
    FlowType type = field->type;
    FlowStatus status = field->decoder->measure(bytes, size, &type.sizes[0], &type.sizes[1]);
    if (status.exit) return status;
    if (types_equal(&type, &field->type)) return field->decoder->decode(bytes, size, &type, value);
    if (field->resized) return make_resized(bytes, size, field, type, value);
    return flow_failure(FLOW_EXIT_data, "is %s, the program expects %s", type_name(&type).text,
                        type_name(&field->type).text);
}

static FlowStatus make_field(const FlowReader *reader, int64_t record, int index, void *value) {
    const FlowField *field = &reader->fields[index];
    const Member *member = &reader->members[record * reader->count + index];
    const char *bytes = reader->shards[reader->shard_of[record]].bytes + member->begin;
    if (field->decoder) return make_image(bytes, member->size, field, value);
    if (field->digits) return make_integer(bytes, member->size, &field->type, value);
    return make_bytes(bytes, member->size, &field->type, value);
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
    .close = tar_close,
    .finds_many = true,
};
