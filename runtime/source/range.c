/* range: records that are nothing but their numbers. */
#include "runtime/flow.h"

#include <stdlib.h>
#include <string.h>

struct FlowReader {
    int64_t records;
    int count; /* of fields */
};

static FlowStatus range_open(const FlowField *fields, int count,
                             const FlowSourceArguments *arguments, FlowReader **out) {
    (void)fields;
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return flow_failure(FLOW_EXIT_resource, "range: no memory");
    *reader = (FlowReader){arguments->records, count};
    return flow_ok;
}

static int64_t range_records(const FlowReader *reader) {
    return reader->records;
}

static bool range_make(const FlowReader *reader, int64_t record, void *const *values,
                       FlowStatus *failure) {
    (void)failure;
    for (int i = 0; i < reader->count; i++) memcpy(values[i], &record, sizeof record);
    return true;
}

static void range_close(FlowReader *reader) {
    free(reader);
}

const FlowSource flow_source_range = {
    .name = "range",
    .open = range_open,
    .records = range_records,
    .make = range_make,
    .close = range_close,
};
