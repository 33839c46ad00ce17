/* text: a file as it is, one record a byte; plain or compressed. */
#include "runtime/content.h"

#include <stdlib.h>

struct FlowReader {
    Content content;
    int count; /* of fields */
};

static void text_close(FlowReader *reader) {
    if (reader) content_free(&reader->content);
    free(reader);
}

static FlowStatus text_open(const FlowField *fields, int count,
                            const FlowSourceArguments *arguments, FlowReader **out) {
    (void)arguments;
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader)
        return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", fields[0].path);
    reader->count = count;
    FlowStatus status = content_read(fields[0].path, &reader->content);
    if (!status.exit && !reader->content.size)
        status = flow_failure(FLOW_EXIT_data, "%s: is empty", fields[0].path);
    if (!status.exit) return status;
    text_close(reader);
    *out = NULL;
    return status;
}

static int64_t text_records(const FlowReader *reader) {
    return (int64_t)reader->content.size;
}

static bool text_point(const FlowReader *reader, const void **firsts) {
    for (int i = 0; i < reader->count; i++) firsts[i] = reader->content.bytes;
    return true;
}

const FlowSource flow_source_text = {
    .name = "text",
    .open = text_open,
    .records = text_records,
    .point = text_point,
    .close = text_close,
};
