/* images: each record a file, named by a pattern: "out/{label}/{index}.png". Only numbers are put
 * into it, so no record can choose another folder; {index} is in it, so none writes over another.
 * Folders are made where they are missing. */
#include "runtime/file.h"
#include "runtime/format/shortest.h"
#include "runtime/sink/writer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Names. */

static const FlowSinkField *find_field(const FlowWriter *writer, const char *name, size_t size) {
    for (int i = 0; i < writer->count; i++)
        if (strlen(writer->fields[i].name) == size && !memcmp(writer->fields[i].name, name, size))
            return &writer->fields[i];
    return NULL;
}

static int write_value(const FlowWriter *writer, const char *name, size_t size, int64_t first,
                       int64_t record, char *text) {
    const FlowSinkField *field = find_field(writer, name, size);
    if (!field) /* {index} */
        return sprintf(text, "%0*lld", index_width(writer->records), (long long)(first + record));
    return (int)(shortest_write(field->type.element, value_of(field, record), text) - text);
}

/* The path of a record; false: it is too long. `first` records came before this batch. */
static bool name_file(const FlowWriter *writer, int64_t first, int64_t record, char *path) {
    char *end = path, *limit = path + PATH_MAX - SHORTEST_SIZE;
    for (const char *c = writer->arguments->path; *c && end < limit; c++) {
        const char *close = *c == '{' ? strchr(c, '}') : NULL;
        if (!close) {
            *end++ = *c;
            continue;
        }
        end += write_value(writer, c + 1, (size_t)(close - c - 1), first, record, end);
        c = close;
    }
    *end = 0;
    return end < limit;
}

/* Files. */

/* Makes the folders that the path goes through. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
}

static FlowStatus put(char *path, FlowEncoded image) {
    FilePart part = {image.bytes, image.size};
    FlowStatus status = file_put(path, part);
    if (!status.exit) return status;
    make_folders(path);
    return file_put(path, part);
}

static const FlowSinkField *image_of(const FlowWriter *writer) {
    const FlowSinkField *field = writer->fields;
    while (!field->encoder) field++;
    return field;
}

static FlowStatus write_image(const FlowWriter *writer, int64_t first, int64_t record) {
    char path[PATH_MAX];
    const FlowSinkField *field = image_of(writer);
    FlowEncoded image;
    if (!name_file(writer, first, record, path))
        return flow_failure(FLOW_EXIT_resource, "%.300s: is too long for the name of a file",
                            writer->arguments->path);
    FlowStatus status = field->encoder->encode(&field->type, value_of(field, record),
                                               writer->arguments->quality, &image);
    if (status.exit) return flow_failure(status.exit, "%.250s: %.250s", path, status.text);
    status = put(path, image);
    free(image.bytes);
    return status;
}

/* The sink. */

static FlowStatus images_open(const FlowSinkArguments *arguments, const FlowSinkField *fields,
                              int count, int64_t records, FlowWriter **out) {
    FlowWriter *writer = *out = calloc(1, sizeof *writer);
    if (!writer) return flow_failure(FLOW_EXIT_resource, "no memory to write records");
    *writer =
        (FlowWriter){.arguments = arguments, .fields = fields, .count = count, .records = records};
    return flow_ok;
}

static FlowStatus images_share(FlowWriter *writer, int64_t first, int64_t records, int thread,
                               int threads) {
    FlowStatus status = flow_ok;
    for (int64_t i = thread; i < records && !status.exit; i += threads)
        status = write_image(writer, first, i);
    return status;
}

static FlowStatus images_close(FlowWriter *writer, FlowEnd end) {
    FlowStatus status = flow_ok;
    if (end == FLOW_END_stopped)
        status = flow_failure(FLOW_EXIT_interrupted, "%s", writer->arguments->path);
    free(writer);
    return status;
}

const FlowSink flow_sink_images = {
    .name = "images", .open = images_open, .share = images_share, .close = images_close};
