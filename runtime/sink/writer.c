/* Writer. */
#include "runtime/sink/writer.h"

#include <stdlib.h>

FlowStatus writer_open(const FlowSinkArguments *arguments, const FlowSinkField *fields, int count,
                       int64_t records, FlowWriter **out) {
    FlowWriter *writer = *out = calloc(1, sizeof *writer);
    if (!writer) return flow_failure(FLOW_EXIT_resource, "no memory to write records");
    writer->arguments = arguments;
    writer->fields = fields;
    writer->count = count;
    writer->records = records;
    FlowStatus status = output_open(arguments->path, records, &writer->output);
    if (!status.exit) return status;
    free(writer);
    *out = NULL;
    return status;
}

FlowStatus writer_close(FlowWriter *writer, FlowEnd end) {
    FlowStatus status = output_close(&writer->output, end);
    free(writer->path);
    free(writer);
    return status;
}
