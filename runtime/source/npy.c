/* npy: numpy's arrays, a file each, plain or gzip. Plain ones are mapped, and records are pointed
 * at where their elements are the program's. */
#include "runtime/array.h"
#include "runtime/mapped.h"

#include <stdlib.h>

struct FlowReader {
    int count;
    bool points;
    Mapped *files;
    Array arrays[];
};

static FlowStatus open_file(FlowReader *reader, int index, const FlowField *field) {
    Mapped *file = &reader->files[index];
    Array *array = &reader->arrays[index];
    FlowStatus status = mapped_open(field->path, file);
    if (!status.exit)
        status =
            array_open((ArrayPlace){.path = field->path}, field, file->bytes, file->size, array);
    if (!status.exit) array_fill(array, file->bytes);
    return status;
}

static FlowStatus open_files(FlowReader *reader, const FlowField *fields) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < reader->count && !status.exit; i++)
        status = open_file(reader, i, &fields[i]);
    if (status.exit) return status;
    reader->points = arrays_point(reader->arrays, reader->count);
    return arrays_check(reader->arrays, reader->count);
}

static void npy_close(FlowReader *reader) {
    for (int i = 0; reader && reader->files && i < reader->count; i++) {
        array_close(&reader->arrays[i]);
        mapped_close(&reader->files[i]);
    }
    if (reader) free(reader->files);
    free(reader);
}

static FlowStatus npy_open(const FlowField *fields, int count, const FlowSourceArguments *arguments,
                           FlowReader **out) {
    (void)arguments;
    FlowReader *reader = calloc(1, sizeof *reader + sizeof *reader->arrays * (size_t)count);
    FlowStatus status =
        flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", fields[0].path);
    *out = NULL;
    if (!reader) return status;
    reader->count = count;
    reader->files = calloc((size_t)count, sizeof *reader->files);
    if (reader->files) status = open_files(reader, fields);
    if (status.exit) npy_close(reader);
    else *out = reader;
    return status;
}

static int64_t npy_records(const FlowReader *reader) {
    return array_records(&reader->arrays[0]);
}

static bool npy_point(const FlowReader *reader, const void **firsts) {
    for (int i = 0; i < reader->count; i++) firsts[i] = array_at(&reader->arrays[i], 0);
    return reader->points;
}

static bool npy_make(const FlowReader *reader, int64_t record, void *const *values,
                     FlowStatus *failure) {
    for (int i = 0; i < reader->count; i++)
        if (!array_make(&reader->arrays[i], record, values[i], failure)) return false;
    return true;
}

static void npy_prefetch(const FlowReader *reader, int64_t record) {
    for (int i = 0; i < reader->count; i++) array_prefetch(&reader->arrays[i], record);
}

const FlowSource flow_source_npy = {
    .name = "npy",
    .open = npy_open,
    .records = npy_records,
    .point = npy_point,
    .make = npy_make,
    .prefetch = npy_prefetch,
    .close = npy_close,
};
