/* watch: one record a file that comes into a folder; its only field is the name. */
#include "runtime/blob.h"
#include "runtime/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct FlowReader {
    const FlowField *fields;
    int count;
    Feed *feed;
};

static size_t cut_name(void *context, const char *bytes, size_t size, FeedScan *scan) {
    (void)context;
    const char *end = memchr(bytes + scan->seen, 0, size - scan->seen);
    return end ? (size_t)(end - bytes) + 1 : 0;
}

static bool watch_make(const FlowReader *reader, int64_t record, void *const *values,
                       FlowStatus *failure) {
    size_t size;
    const char *name = feed_record(reader->feed, record, &size);
    for (int i = 0; i < reader->count; i++) {
        const FlowField *field = &reader->fields[i];
        FlowStatus status = blob_text(name, size - 1, field, values[i]);
        if (!status.exit) continue;
        if (failure)
            *failure = flow_failure(status.exit, "%s: `%s` %s", feed_name(reader->feed),
                                    field->name, status.text);
        return false;
    }
    return true;
}

static void watch_locate(const FlowReader *reader, int64_t record, char *text, size_t length) {
    size_t size;
    snprintf(text, length, "%s", feed_record(reader->feed, record, &size));
}

static void watch_close(FlowReader *reader) {
    feed_close(reader->feed);
    free(reader);
}

static FlowStatus watch_open(const FlowField *fields, int count,
                             const FlowSourceArguments *arguments, FlowReader **out) {
    (void)arguments;
    Tap *tap;
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return tap_no_memory(fields[0].path);
    reader->fields = fields;
    reader->count = count;
    FlowStatus status = tap_of_folder(fields[0].path, &tap);
    if (!status.exit) status = feed_open(tap, cut_name, NULL, &reader->feed);
    if (!status.exit) return status;
    watch_close(reader);
    *out = NULL;
    return status;
}

static Feed *watch_feed(const FlowReader *reader) {
    return reader->feed;
}

const FlowSource flow_source_watch = {
    .name = "watch",
    .open = watch_open,
    .feed = watch_feed,
    .make = watch_make,
    .locate = watch_locate,
    .close = watch_close,
    .awaits = true,
};
