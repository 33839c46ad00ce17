/* Writer: what sinks have that write all their records into one output, one after the other. */
#ifndef FLOW_SINK_WRITER_H
#define FLOW_SINK_WRITER_H

#include "runtime/output.h"

struct FlowWriter {
    Output output;
    const FlowSinkArguments *arguments;
    const FlowSinkField *fields;
    int count;
    int64_t records; /* at most so many come */
    char *path;      /* of the output, where it is not the arguments'; freed with the writer */
};

/* As FlowSink.open and close. */
FlowStatus writer_open(const FlowSinkArguments *arguments, const FlowSinkField *fields, int count,
                       int64_t records, FlowWriter **writer);
FlowStatus writer_close(FlowWriter *writer, FlowEnd end);

static inline const char *value_of(const FlowSinkField *field, int64_t record) {
    return field->values + (size_t)record * flow_type_size(&field->type);
}

/* Bytes of a text: zeros at its end only fill it. */
static inline size_t text_size(const FlowSinkField *field, const char *text) {
    size_t size = flow_type_size(&field->type);
    while (size && !text[size - 1]) size--;
    return size;
}

/* Digits of a record's number in names: so many that names sort as records do. */
static inline int index_width(int64_t records) {
    int width = 1;
    if (records == INT64_MAX) return 9;
    for (int64_t last = records - 1; last >= 10; last /= 10) width++;
    return width < 6 ? 6 : width;
}

#endif
