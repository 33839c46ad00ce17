/* range: records that are nothing but their numbers. Without an end there are still 2^53, any of
 * which can be asked for; or they come one after the other, for what has to go through them in
 * order. */
#include "runtime/feed.h"

#include <stdlib.h>
#include <string.h>

struct FlowReader {
    int64_t records;
    int count;  /* of fields */
    Feed *feed; /* of a range without end; or NULL */
};

static const int64_t endless = INT64_C(1) << 53;

static void range_close(FlowReader *reader) {
    feed_close(reader->feed);
    free(reader);
}

static FlowStatus range_open(const FlowField *fields, int count,
                             const FlowSourceArguments *arguments, FlowReader **out) {
    (void)fields;
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return flow_failure(FLOW_EXIT_resource, "range: no memory");
    *reader = (FlowReader){arguments->records ? arguments->records : endless, count, NULL};
    FlowStatus status = arguments->records ? flow_ok : feed_open_endless(&reader->feed);
    if (!status.exit) return status;
    range_close(reader);
    *out = NULL;
    return status;
}

static Feed *range_feed(const FlowReader *reader) {
    return reader->feed;
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

const FlowSource flow_source_range = {
    .name = "range",
    .open = range_open,
    .records = range_records,
    .feed = range_feed,
    .make = range_make,
    .close = range_close,
};
