/* print: records for readers, one a line: x=1.5 y=[[1, 2], [3, 4]] */
#include "runtime/sink/number.h"
#include "runtime/sink/writer.h"

static const NumberStyle style = {.comma = ", "};

static void write_record(Output *output, const FlowSinkField *fields, int count, int64_t record) {
    for (int i = 0; i < count; i++) {
        if (i) output_add(output, " ", 1);
        output_text(output, fields[i].name);
        output_add(output, "=", 1);
        write_tensor(output, &fields[i].type, value_of(&fields[i], record), style);
    }
    output_add(output, "\n", 1);
}

static FlowStatus print_write(FlowWriter *writer, int64_t first, int64_t records) {
    (void)first;
    for (int64_t i = 0; i < records; i++)
        write_record(&writer->output, writer->fields, writer->count, i);
    return output_pass(&writer->output);
}

const FlowSink flow_sink_print = {"print", writer_open, print_write, writer_close, NULL};
