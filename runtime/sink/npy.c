/* npy: each field a file of numpy's, with the records as the first axis. The header has room for any number of
 * records, so that it can be written again when fewer came. */
#include "runtime/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BEFORE = 10 /* bytes: magic, version, length */, HEADER_LIMIT = 512 };

/* bf16 as ml_dtypes saves it. */
static const char *const types[] = {
    [FLOW_bool] = "|b1", [FLOW_u8] = "|u1",   [FLOW_i8] = "|i1",
    [FLOW_i32] = "<i4",  [FLOW_i64] = "<i8",  [FLOW_f16] = "<f2",
    [FLOW_f32] = "<f4",  [FLOW_bf16] = "<V2", [FLOW_f64] = "<f8",
};

struct FlowWriter {
    const FlowSinkField *fields;
    int count;
    int64_t expected, written; /* records */
    Output outputs[];
};

/* Returns its length. */
static int write_literal(char *text, const FlowType *type, int64_t records) {
    int used = sprintf(text, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,",
                       types[type->element], (long long)records);
    for (int i = 0; i < type->rank; i++)
        used += sprintf(text + used, "%s%lld", i ? ", " : " ", (long long)type->sizes[i]);
    return used + sprintf(text + used, "), }");
}

/* Returns the length of the header, which is the same for any number of records. */
static int write_header(char *header, const FlowType *type, int64_t records) {
    int longest = write_literal(header, type, INT64_MAX);
    int length = (BEFORE + longest + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - BEFORE;
    memset(header, ' ', (size_t)(BEFORE + length));
    memcpy(header, "\x93NUMPY\1\0", 8);
    header[8] = (char)length;
    header[9] = (char)(length >> 8);
    header[BEFORE + write_literal(header + BEFORE, type, records)] = ' ';
    header[BEFORE + length - 1] = '\n';
    return BEFORE + length;
}

static FlowStatus close_file(FlowWriter *writer, int index, FlowEnd end) {
    char header[HEADER_LIMIT];
    Output *output = &writer->outputs[index];
    FlowStatus status = flow_ok;
    int size = write_header(header, &writer->fields[index].type, writer->written);
    if (end != FLOW_END_failed && writer->written != writer->expected && output->part)
        status = output_over(output, 0, header, (size_t)size);
    FlowStatus closed = output_close(output, status.exit ? FLOW_END_failed : end);
    return status.exit ? status : closed;
}

/* All names of files that stay. */
static FlowStatus join(FlowStatus before, FlowStatus last) {
    if (!before.text[0]) return last;
    return flow_failure(FLOW_EXIT_interrupted, "%.250s, %.250s", before.text, last.text);
}

static FlowStatus npy_close(FlowWriter *writer, FlowEnd end) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < writer->count; i++) {
        FlowStatus closed = close_file(writer, i, end);
        if (!closed.exit) continue;
        bool stays =
            closed.exit == FLOW_EXIT_interrupted && (!status.exit || status.exit == closed.exit);
        status = stays ? join(status, closed) : closed;
    }
    free(writer);
    return status;
}

static FlowStatus open_file(FlowWriter *writer, int index, const char *path) {
    char header[HEADER_LIMIT];
    Output *output = &writer->outputs[index];
    FlowStatus status = output_open(path, output);
    int size = write_header(header, &writer->fields[index].type, writer->expected);
    if (!status.exit) output_add(output, header, (size_t)size);
    return status;
}

static FlowStatus npy_open(const FlowSinkArguments *arguments, const FlowSinkField *fields,
                           int count, int64_t records, FlowWriter **out) {
    FlowWriter *writer = *out = calloc(1, sizeof *writer + sizeof(Output) * (size_t)count);
    if (!writer) return flow_failure(FLOW_EXIT_resource, "no memory to write records");
    *writer = (FlowWriter){.fields = fields, .expected = records};
    FlowStatus status = flow_ok;
    for (int i = 0; i < count && !status.exit; i++) {
        status = open_file(writer, i, fields[i].path ? fields[i].path : arguments->path);
        writer->count += !status.exit;
    }
    if (!status.exit) return status;
    npy_close(writer, FLOW_END_failed);
    *out = NULL;
    return status;
}

static FlowStatus npy_write(FlowWriter *writer, int64_t records) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < writer->count && !status.exit; i++) {
        const FlowSinkField *field = &writer->fields[i];
        output_add(&writer->outputs[i], field->values,
                   (size_t)records * flow_type_size(&field->type));
        status = output_pass(&writer->outputs[i]);
    }
    writer->written += records;
    return status;
}

const FlowSink flow_sink_npy = {"npy", npy_open, npy_write, npy_close};
