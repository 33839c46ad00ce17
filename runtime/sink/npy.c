/* npy: each field a file of numpy's, with the records as the first axis. The header has room for
 * any number of records, so that it can be written again when fewer came. */
#include "runtime/output.h"
#include "runtime/sink/npy_header.h"

#include <stdlib.h>

struct FlowWriter {
    const FlowSinkField *fields;
    int count;
    int64_t expected, written; /* records */
    Output outputs[];
};

static FlowStatus close_file(FlowWriter *writer, int index, FlowEnd end) {
    char header[NPY_HEADER_ROOM];
    Output *output = &writer->outputs[index];
    FlowStatus status = flow_ok;
    int size = npy_header_write(header, &writer->fields[index].type, writer->written);
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
    char header[NPY_HEADER_ROOM];
    Output *output = &writer->outputs[index];
    FlowStatus status = output_open(path, writer->expected, output);
    int size = npy_header_write(header, &writer->fields[index].type, writer->expected);
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

static FlowStatus npy_write(FlowWriter *writer, int64_t first, int64_t records) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < writer->count && !status.exit; i++) {
        const FlowSinkField *field = &writer->fields[i];
        output_add(&writer->outputs[i], field->values,
                   (size_t)records * flow_type_size(&field->type));
        status = output_pass(&writer->outputs[i]);
    }
    writer->written = first + records;
    return status;
}

const FlowSink flow_sink_npy = {"npy", npy_open, npy_write, npy_close, NULL};
