/* images: a folder of images, one record a file. `image` is the file's bytes, `label` the place of
 * its class among all classes. Only names are kept; a file is read when its record is made. */
#include "runtime/blob.h"
#include "runtime/folder.h"
#include "runtime/type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct FlowReader {
    Folder folder;
    const FlowField *fields;
    int count;
    bool reads; /* some field is made of the file's bytes */
};

static bool is_label(const FlowField *field) {
    return !strcmp(field->name, "label");
}

/* Values. */

static FlowStatus make_label(const FlowReader *reader, int64_t record, const FlowField *field,
                             void *value) {
    const char *path = reader->folder.path, *name = folder_name(&reader->folder, record);
    int64_t class = folder_class(&reader->folder, record);
    if (class < 0)
        return flow_failure(FLOW_EXIT_data,
                            "%s/%s: lies in no folder of a class, so it has no label", path, name);
    if (number_write(field->type.element, (double)class, value)) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s/%s: its label %lld is no %s", path, name,
                        (long long)class, type_name(&field->type).text);
}

static FlowStatus make_image(const FlowReader *reader, int64_t record, const FlowField *field,
                             const WholeFile *file, void *value) {
    FlowStatus status = blob_value(file->bytes, file->size, field, value);
    if (!status.exit) return status;
    return flow_failure(status.exit, "%s/%s: %s", reader->folder.path,
                        folder_name(&reader->folder, record), status.text);
}

static FlowStatus make_fields(const FlowReader *reader, int64_t record, const WholeFile *file,
                              void *const *values) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < reader->count && !status.exit; i++) {
        const FlowField *field = &reader->fields[i];
        status = is_label(field) ? make_label(reader, record, field, values[i])
                                 : make_image(reader, record, field, file, values[i]);
    }
    return status;
}

static bool images_make(const FlowReader *reader, int64_t record, void *const *values,
                        FlowStatus *failure) {
    WholeFile file = {0};
    FlowStatus status = flow_ok;
    if (reader->reads) status = folder_read(&reader->folder, record, &file);
    if (!status.exit) status = make_fields(reader, record, &file, values);
    whole_file_free(&file);
    if (status.exit && failure) *failure = status;
    return !status.exit;
}

static void images_locate(const FlowReader *reader, int64_t record, char *text, size_t size) {
    snprintf(text, size, "%s/%s", reader->folder.path, folder_name(&reader->folder, record));
}

/* The source. */

static void images_close(FlowReader *reader) {
    folder_close(&reader->folder);
    free(reader);
}

static FlowStatus images_open(const FlowField *fields, int count,
                              const FlowSourceArguments *arguments, FlowReader **out) {
    (void)arguments;
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return flow_failure(FLOW_EXIT_resource, "%s: no memory", fields[0].path);
    reader->fields = fields;
    reader->count = count;
    bool labels = false;
    for (int i = 0; i < count; i++) labels |= is_label(&fields[i]);
    for (int i = 0; i < count; i++) reader->reads |= !is_label(&fields[i]);
    FlowStatus status = folder_open(fields[0].path, &reader->folder);
    if (!status.exit && labels) folder_tell_empty(&reader->folder);
    if (!status.exit) return status;
    images_close(reader);
    *out = NULL;
    return status;
}

static int64_t images_records(const FlowReader *reader) {
    return reader->folder.files.count;
}

const FlowSource flow_source_images = {
    .name = "images",
    .open = images_open,
    .records = images_records,
    .make = images_make,
    .locate = images_locate,
    .close = images_close,
    .is_folder = true,
};
