/* npz: numpy's archives of arrays, as savez and savez_compressed write them: a field is the array
 * of its name. The archive is mapped, and stored arrays stay where they are; packed ones are
 * unpacked into memory, once their headers fit the program. Checksums are checked. */
#include "runtime/array.h"
#include "runtime/format/zip.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/mapped.h"
#include "runtime/memory.h"
#include "runtime/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    BEST_RATIO = 1032, /* of deflate: 258 bytes for two bits */
    SHOWN = 320,       /* bytes of names in a message */
    RAW_WINDOW = -15,  /* zlib's way to ask for deflate without a header */
};

struct FlowReader {
    const char *path;
    Mapped file;
    int count;
    bool points;
    char **unpacked; /* of each field; NULL: it is where it was */
    Array arrays[];
};

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
}

static FlowStatus damaged(const Array *array, const char *why) {
    return flow_failure(FLOW_EXIT_data, "%s: %s: %s", array->place.path, array->place.name, why);
}

/* Members. */

/* The length of the array's name, or -1: the member is none. */
static int name_length(const ZipMember *member) {
    int length = member->name_size - (int)strlen(".npy");
    return length > 0 && !memcmp(member->name + length, ".npy", 4) ? length : -1;
}

static bool is_of_field(const ZipMember *member, const char *name) {
    int length = name_length(member);
    return length >= 0 && strlen(name) == (size_t)length &&
           !memcmp(member->name, name, strlen(name));
}

/* "a, b, c, …" */
static void list_names(Zip zip, char *text, size_t size) {
    size_t used = 0;
    ZipMember member;
    text[0] = 0;
    while (zip_next(&zip, &member) && used < size)
        if (name_length(&member) >= 0)
            used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? ", " : "",
                                     name_length(&member), member.name);
    if (used >= size) memcpy(text + size - sizeof "…", "…", sizeof "…");
}

static FlowStatus no_array(const FlowReader *reader, Zip zip, const char *name) {
    char list[SHOWN];
    ZipMember member, best = {0};
    int least = name_distance_limit(strlen(name));
    for (Zip all = zip; zip_next(&all, &member);) {
        if (name_length(&member) < 0) continue;
        int edits = name_distance(name, member.name, (size_t)name_length(&member));
        if (edits >= least) continue;
        least = edits;
        best = member;
    }
    if (best.name)
        return flow_failure(FLOW_EXIT_data, "%s: has no array `%s`; did you mean `%.*s`?",
                            reader->path, name, name_length(&best), best.name);
    list_names(zip, list, sizeof list);
    return flow_failure(FLOW_EXIT_data, "%s: has no array `%s`; its arrays are %s", reader->path,
                        name, list);
}

/* The only member of that name. */
static FlowStatus find_member(const FlowReader *reader, const char *name, ZipMember *found) {
    const Zip start = zip_new(reader->file.bytes, reader->file.size);
    ZipMember member;
    int times = 0;
    Zip zip = start;
    while (zip_next(&zip, &member)) {
        if (!is_of_field(&member, name)) continue;
        *found = member;
        times++;
    }
    if (zip.error) return flow_failure(FLOW_EXIT_data, "%s: %s", reader->path, zip.error);
    if (!times) return no_array(reader, start, name);
    if (times == 1) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: has %d arrays `%s`", reader->path, times, name);
}

/* Arrays. */

static uint32_t checksum(const char *bytes, uint64_t size) {
    return (uint32_t)crc32_z(0, (const unsigned char *)bytes, size);
}

static FlowStatus check_sum(const Array *array, const ZipMember *member, const char *bytes) {
    if (checksum(bytes, member->size) == member->crc) return flow_ok;
    return damaged(array, "its checksum is wrong: it is damaged");
}

static FlowStatus open_stored(const char *bytes, const FlowField *field, const ZipMember *member,
                              Array *array) {
    FlowStatus status = array_open(array->place, field, bytes, member->size, array);
    if (!status.exit) status = check_sum(array, member, bytes);
    if (!status.exit) array_fill(array, bytes);
    return status;
}

/* Fills `size` bytes. */
static FlowStatus inflate_some(z_stream *stream, const Array *array, const ZipMember *member,
                               const char *packed, char *bytes, uint64_t size) {
    enum { MOST = 1 << 24 }; /* bytes at a time */
    int code = Z_OK;
    while (stream->total_out < size && code == Z_OK) {
        if (interrupted()) return interrupt_reading(array->place.path);
        uint64_t left = member->packed - stream->total_in, room = size - stream->total_out;
        stream->next_in = (unsigned char *)packed + stream->total_in;
        stream->avail_in = left < MOST ? (unsigned)left : MOST;
        stream->next_out = (unsigned char *)bytes + stream->total_out;
        stream->avail_out = room < MOST ? (unsigned)room : MOST;
        code = inflate(stream, Z_NO_FLUSH);
    }
    if (stream->total_out == size && (code == Z_OK || code == Z_STREAM_END)) return flow_ok;
    return damaged(array, "its compressed data is damaged or ends early");
}

/* Takes only the memory that the member can fill, and of that only what its header needs until the
 * header is known to fit. */
static FlowStatus unpack(z_stream *stream, const char *packed, const FlowField *field,
                         const ZipMember *member, Array *array, char **out) {
    uint64_t start = member->size < NPY_HEADER_LIMIT ? member->size : NPY_HEADER_LIMIT;
    if (member->packed < member->size / BEST_RATIO)
        return damaged(array, "it declares more data than it can hold");
    char *bytes = *out = held_new(member->size);
    if (!bytes) return no_memory(array->place.path);
    FlowStatus status = inflate_some(stream, array, member, packed, bytes, start);
    if (!status.exit) status = array_open(array->place, field, bytes, member->size, array);
    if (!status.exit) status = inflate_some(stream, array, member, packed, bytes, member->size);
    if (status.exit) return status;
    array_fill(array, bytes);
    return check_sum(array, member, bytes);
}

static FlowStatus open_packed(const char *packed, const FlowField *field, const ZipMember *member,
                              Array *array, char **out) {
    z_stream stream = {0};
    if (inflateInit2(&stream, RAW_WINDOW) != Z_OK) return no_memory(array->place.path);
    FlowStatus status = unpack(&stream, packed, field, member, array, out);
    inflateEnd(&stream);
    return status;
}

static FlowStatus open_field(FlowReader *reader, int index, const FlowField *field) {
    ZipMember member;
    Array *array = &reader->arrays[index];
    array->place = (ArrayPlace){reader->path, field->name};
    FlowStatus status = find_member(reader, field->name, &member);
    if (status.exit) return status;
    const char *bytes = reader->file.bytes + member.begin;
    return member.method == ZIP_stored
               ? open_stored(bytes, field, &member, array)
               : open_packed(bytes, field, &member, array, &reader->unpacked[index]);
}

static FlowStatus open_all(FlowReader *reader, const FlowField *fields) {
    reader->unpacked = calloc((size_t)reader->count, sizeof *reader->unpacked);
    if (!reader->unpacked) return no_memory(reader->path);
    FlowStatus status = mapped_open(reader->path, &reader->file);
    for (int i = 0; i < reader->count && !status.exit; i++)
        status = open_field(reader, i, &fields[i]);
    if (status.exit) return status;
    reader->points = arrays_point(reader->arrays, reader->count);
    return arrays_check(reader->arrays, reader->count);
}

/* The source. */

static void npz_close(FlowReader *reader) {
    for (int i = 0; reader->unpacked && i < reader->count; i++) {
        array_close(&reader->arrays[i]);
        free(reader->unpacked[i]);
    }
    free(reader->unpacked);
    mapped_close(&reader->file);
    free(reader);
}

static FlowStatus npz_open(const FlowField *fields, int count, const FlowSourceArguments *arguments,
                           FlowReader **out) {
    (void)arguments;
    FlowReader *reader = calloc(1, sizeof *reader + sizeof *reader->arrays * (size_t)count);
    *out = NULL;
    if (!reader) return no_memory(fields[0].path);
    reader->path = fields[0].path;
    reader->count = count;
    FlowStatus status = open_all(reader, fields);
    if (status.exit) npz_close(reader);
    else *out = reader;
    return status;
}

static int64_t npz_records(const FlowReader *reader) {
    return array_records(&reader->arrays[0]);
}

static bool npz_point(const FlowReader *reader, const void **firsts) {
    for (int i = 0; i < reader->count; i++) firsts[i] = array_at(&reader->arrays[i], 0);
    return reader->points;
}

static bool npz_make(const FlowReader *reader, int64_t record, void *const *values,
                     FlowStatus *failure) {
    for (int i = 0; i < reader->count; i++)
        if (!array_make(&reader->arrays[i], record, values[i], failure)) return false;
    return true;
}

static void npz_prefetch(const FlowReader *reader, int64_t record) {
    for (int i = 0; i < reader->count; i++) array_prefetch(&reader->arrays[i], record);
}

const FlowSource flow_source_npz = {
    .name = "npz",
    .open = npz_open,
    .records = npz_records,
    .point = npz_point,
    .make = npz_make,
    .prefetch = npz_prefetch,
    .close = npz_close,
};
