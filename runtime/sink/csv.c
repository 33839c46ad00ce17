/* csv: a column for each element, named x, or x[0], x[1], … */
#include "runtime/sink/writer.h"

#include "runtime/sink/number.h"

#include <stdio.h>

static void write_column_name(Output *output, const FlowSinkField *field, int64_t i) {
    char index[32];
    int64_t block = element_count(&field->type);
    output_text(output, field->name);
    for (int axis = 0; axis < field->type.rank; axis++) {
        block /= field->type.sizes[axis];
        snprintf(index, sizeof index, "[%lld]", (long long)(i / block));
        output_text(output, index);
        i %= block;
    }
}

static void write_header(Output *output, const FlowSinkField *fields, int count) {
    for (int i = 0; i < count; i++)
        for (int64_t j = 0; j < element_count(&fields[i].type); j++) {
            if (i || j) output_add(output, ",", 1);
            write_column_name(output, &fields[i], j);
        }
    output_add(output, "\n", 1);
}

static void write_row(Output *output, const FlowSinkField *fields, int count, int64_t record) {
    for (int i = 0; i < count; i++) {
        const FlowType *type = &fields[i].type;
        const char *value = value_of(&fields[i], record);
        for (int64_t j = 0; j < element_count(type); j++) {
            if (i || j) output_add(output, ",", 1);
            write_number(output, type->element,
                         value + (size_t)j * flow_element_size(type->element));
        }
    }
    output_add(output, "\n", 1);
}

static FlowStatus csv_open(const FlowSinkArguments *arguments, const FlowSinkField *fields,
                           int count, int64_t records, FlowWriter **writer) {
    FlowStatus status = writer_open(arguments, fields, count, records, writer);
    if (!status.exit) write_header(&(*writer)->output, fields, count);
    return status;
}

static FlowStatus csv_write(FlowWriter *writer, int64_t records) {
    for (int64_t i = 0; i < records; i++)
        write_row(&writer->output, writer->fields, writer->count, i);
    return output_pass(&writer->output);
}

const FlowSink flow_sink_csv = {"csv", csv_open, csv_write, writer_close};
