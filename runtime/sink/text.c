/* text: the bytes of the only field: one a record as they are, several as a line. */
#include "runtime/sink/writer.h"

static FlowStatus text_write(FlowWriter *writer, int64_t first, int64_t records) {
    (void)first;
    const FlowSinkField *field = &writer->fields[0];
    if (!field->type.rank) output_add(&writer->output, field->values, (size_t)records);
    for (int64_t i = 0; i < records && field->type.rank; i++) {
        const char *line = value_of(field, i);
        output_add(&writer->output, line, text_size(field, line));
        output_add(&writer->output, "\n", 1);
    }
    return output_pass(&writer->output);
}

const FlowSink flow_sink_text = {"text", writer_open, text_write, writer_close, NULL};
