/* tar: an archive as WebDataset has them: a record is 000017.jpg, 000017.cls, …, a member for each
 * field. An image that has an encoder is encoded, other u8 are bytes as they are, one number is its
 * digits, and other tensors are numpy's files, 000017.x.npy. The same records always give the same
 * archive. */
#include "runtime/format/shortest.h"
#include "runtime/sink/npy_header.h"
#include "runtime/sink/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, NAME_LIMIT = 100 };
#define SIZE_LIMIT ((size_t)1 << 32) /* bytes; an encoded image may be larger than its pixels */

/* A ustar header; numbers are octal digits. */
typedef struct Header {
    char name[100], mode[8], owner[8], group[8], size[12], time[12], checksum[8], kind, link[100];
    char magic[8], rest[247];
} Header;
_Static_assert(sizeof(Header) == BLOCK, "a header is one block");

static bool is_bytes(const FlowType *type) {
    return type->element == FLOW_u8 && type->rank;
}

static bool is_array(const FlowSinkField *field) {
    return field->type.rank && !is_bytes(&field->type);
}

/* What a member is made of: `head` stands before the bytes. */
typedef struct Member {
    char head[NPY_HEADER_ROOM];
    size_t head_size;
    const void *bytes;
    size_t size;
} Member;

static size_t write_digits(FlowElement element, const char *value, char *text) {
    if (element == FLOW_bool) element = FLOW_u8;
    return (size_t)(shortest_write(element, value, text) - text);
}

/* *image gets what the caller frees: the encoded image, or nothing. */
static FlowStatus make_member(const FlowSinkField *field, const char *value, int quality,
                              Member *member, FlowEncoded *image) {
    *member = (Member){.bytes = value, .size = flow_type_size(&field->type)};
    *image = (FlowEncoded){0};
    if (field->text) member->size = text_size(field, value);
    if (is_array(field))
        member->head_size = (size_t)npy_header_write(member->head, &field->type, -1);
    if (!field->type.rank) {
        member->size = 0;
        member->head_size = write_digits(field->type.element, value, member->head);
    }
    if (!field->encoder) return flow_ok;
    FlowStatus status = field->encoder->encode(&field->type, value, quality, image);
    member->bytes = image->bytes;
    member->size = image->size;
    return status;
}

static void write_header(Output *output, const char *name, size_t size) {
    Header header = {.mode = "0000644", .owner = "0000000", .group = "0000000", .kind = '0'};
    unsigned sum = 0;
    memcpy(header.name, name, strlen(name));
    snprintf(header.size, sizeof header.size, "%011llo", (unsigned long long)size);
    memcpy(header.time, "00000000000", sizeof header.time);
    memcpy(header.magic,
           "ustar\0"
           "00",
           sizeof header.magic);
    memset(header.checksum, ' ', sizeof header.checksum);
    for (size_t i = 0; i < BLOCK; i++) sum += ((const unsigned char *)&header)[i];
    snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
    output_add(output, &header, BLOCK);
}

static FlowStatus write_member(FlowWriter *writer, const FlowSinkField *field, int64_t first,
                               int64_t record) {
    static const char zeros[BLOCK];
    char name[NAME_LIMIT];
    Member member;
    FlowEncoded image;
    snprintf(name, sizeof name, "%0*lld.%s%s", index_width(writer->records),
             (long long)(first + record), field->name, is_array(field) ? ".npy" : "");
    FlowStatus status =
        make_member(field, value_of(field, record), writer->arguments->quality, &member, &image);
    if (status.exit) return flow_failure(status.exit, "%s: %.300s", name, status.text);
    size_t size = member.head_size + member.size;
    write_header(&writer->output, name, size);
    output_add(&writer->output, member.head, member.head_size);
    output_add(&writer->output, member.bytes, member.size);
    output_add(&writer->output, zeros, (BLOCK - size % BLOCK) % BLOCK);
    free(image.bytes);
    return flow_ok;
}

/* Shards: archives of so many records each, one after the other. */

static const char shard_part[] = "{shard}";

/* The path of a shard; NULL: no memory. The caller frees it. */
static char *name_shard(const char *pattern, int64_t shard) {
    const char *part = strstr(pattern, shard_part);
    char *path = malloc(strlen(pattern) + SHORTEST_SIZE);
    if (path)
        sprintf(path, "%.*s%06lld%s", (int)(part - pattern), pattern, (long long)shard,
                part + strlen(shard_part));
    return path;
}

static FlowStatus open_shard(FlowWriter *writer, int64_t shard) {
    free(writer->path);
    writer->path = name_shard(writer->arguments->path, shard);
    if (writer->path) return output_open(writer->path, writer->records, &writer->output);
    return flow_failure(FLOW_EXIT_resource, "no memory to write records");
}

static void write_end(Output *output) {
    static const char zeros[2 * BLOCK];
    output_add(output, zeros, sizeof zeros);
}

/* Where a shard ends, the next one begins. */
static FlowStatus turn_over(FlowWriter *writer, int64_t record) {
    int64_t size = writer->arguments->shard;
    if (!size || !record || record % size) return flow_ok;
    write_end(&writer->output);
    FlowStatus status = output_close(&writer->output, FLOW_END_whole);
    return status.exit ? status : open_shard(writer, record / size);
}

/* The sink. */

static FlowStatus check_sizes(const FlowSinkField *fields, int count, int64_t records) {
    for (int i = 0; i < count; i++) {
        size_t name = (size_t)index_width(records) + strlen(fields[i].name) + sizeof "..npy";
        if (name > NAME_LIMIT || flow_type_size(&fields[i].type) >= SIZE_LIMIT)
            return flow_failure(FLOW_EXIT_data, "`%.100s` is too large for a member of an archive",
                                fields[i].name);
    }
    return flow_ok;
}

static FlowStatus tar_sink_open(const FlowSinkArguments *arguments, const FlowSinkField *fields,
                                int count, int64_t records, FlowWriter **out) {
    FlowWriter *writer = *out = NULL;
    FlowStatus status = check_sizes(fields, count, records);
    if (status.exit || !arguments->shard)
        return status.exit ? status : writer_open(arguments, fields, count, records, out);
    writer = calloc(1, sizeof *writer);
    if (!writer) return flow_failure(FLOW_EXIT_resource, "no memory to write records");
    *writer =
        (FlowWriter){.arguments = arguments, .fields = fields, .count = count, .records = records};
    status = open_shard(writer, 0);
    if (!status.exit) *out = writer;
    else writer_close(writer, FLOW_END_failed);
    return status;
}

static FlowStatus write_record(FlowWriter *writer, int64_t first, int64_t record) {
    FlowStatus status = turn_over(writer, first + record);
    for (int i = 0; i < writer->count && !status.exit; i++)
        status = write_member(writer, &writer->fields[i], first, record);
    return status;
}

static FlowStatus tar_sink_write(FlowWriter *writer, int64_t first, int64_t records) {
    FlowStatus status = flow_ok;
    for (int64_t i = 0; i < records && !status.exit; i++) status = write_record(writer, first, i);
    return status.exit ? status : output_pass(&writer->output);
}

static FlowStatus tar_sink_close(FlowWriter *writer, FlowEnd end) {
    bool sharded = writer->arguments->shard;
    write_end(&writer->output);
    FlowStatus status = writer_close(writer, end);
    if (!sharded || status.exit != FLOW_EXIT_interrupted || !status.text[0]) return status;
    return flow_failure(status.exit, "%.400s and the shards before it", status.text);
}

const FlowSink flow_sink_tar = {"tar", tar_sink_open, tar_sink_write, tar_sink_close, NULL};
