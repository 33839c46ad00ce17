#include "runtime/source/csv_feed.h"

#include "runtime/interrupt.h"

#include <stdlib.h>
#include <string.h>

/* Where a scan of a row is. */
enum { OUTSIDE, INSIDE /* a quoted cell */, BEHIND /* a quote in one, which may be its end */ };

/* Cutting. */

/* The end of the row that begins the bytes, with its line end; 0: it does not end in them. */
static size_t row_length(const CsvForm *form, const char *bytes, size_t size, FeedScan *scan) {
    size_t at = scan->seen;
    while (at < size) {
        if (scan->state == BEHIND) scan->state = bytes[at] == '"' ? (at++, INSIDE) : OUTSIDE;
        else if (scan->state == INSIDE) {
            const char *quote = memchr(bytes + at, '"', size - at);
            at = quote ? (size_t)(quote - bytes) + 1 : size;
            if (quote) scan->state = BEHIND;
        } else {
            const char *line = memchr(bytes + at, '\n', size - at);
            size_t end = line ? (size_t)(line - bytes) : size;
            const char *quote = memchr(bytes + at, '"', end - at);
            if (!quote) return line ? end + 1 : 0;
            at = (size_t)(quote - bytes) + 1;
            if (at == 1 || quote[-1] == form->separator) scan->state = INSIDE;
        }
    }
    return 0;
}

static int64_t count_breaks(const char *bytes, size_t size) {
    int64_t breaks = 0;
    const char *end = bytes + size;
    for (; (bytes = memchr(bytes, '\n', (size_t)(end - bytes))); bytes++) breaks++;
    return breaks;
}

/* Lines that are no rows; -1: it is not known yet. */
static int is_no_row(const CsvFeed *csv, const char *bytes, size_t size, const FeedScan *scan) {
    if (*bytes == '\n' || (csv->form.comment && *bytes == csv->form.comment)) return 1;
    if (*bytes != '\r') return 0;
    if (size == 1) return scan->end ? 1 : -1;
    return bytes[1] == '\n';
}

static size_t keep_names(CsvFeed *csv, const char *bytes, size_t size) {
    csv->header = false;
    csv->names = malloc(size + 1);
    csv->names_size = size;
    if (csv->names) memcpy(csv->names, bytes, size);
    return size;
}

size_t csv_cut(void *context, const char *bytes, size_t size, FeedScan *scan) {
    CsvFeed *csv = context;
    int mark = feed_mark(bytes, size, scan), none = is_no_row(csv, bytes, size, scan);
    scan->nothing = true;
    scan->breaks = mark == 0;
    if (mark || none < 0) return mark > 0 ? (size_t)mark : 0;
    size_t length =
        none ? feed_cut_line(NULL, bytes, size, scan) : row_length(&csv->form, bytes, size, scan);
    if (!length && scan->end) length = size;
    if (!length || none) return length;
    scan->breaks = count_breaks(bytes, length);
    if (csv->header) return keep_names(csv, bytes, length);
    scan->nothing = false;
    return length;
}

/* Opening. */

/* The rows that the columns are found by. */
static FlowStatus begin_file(const CsvFeed *csv, bool header, bool record, CsvFile *file) {
    const char *name = feed_name(csv->feed), *bytes = NULL;
    Content text = {0};
    size_t first = header ? csv->names_size : 0, second = 0;
    if (record) bytes = feed_record(csv->feed, 0, &second);
    text.size = first + second;
    text.bytes = calloc(1, text.size + CONTENT_PADDING);
    if (!text.bytes || (header && !csv->names)) {
        free(text.bytes);
        return tap_no_memory(name);
    }
    if (first) memcpy(text.bytes, csv->names, first);
    if (second) memcpy(text.bytes + first, bytes, second);
    csv_file_begin(name, &csv->form, text, file);
    return csv_file_index(file, header);
}

FlowStatus csv_feed_open(CsvFeed *csv, const FlowOrigin *origin, CsvFile *file) {
    bool header = csv->header;
    FlowStatus status = feed_open_origin(origin, true, csv_cut, csv, &csv->feed);
    if (status.exit) return status;
    bool record = feed_wait(csv->feed, 1, 0, NULL) > 0;
    if (!record && interrupted())
        return flow_failure(FLOW_EXIT_interrupted, "interrupted before %s had a record",
                            feed_name(csv->feed));
    if (!record) feed_has_ended(csv->feed, &status);
    if (status.exit) return status;
    if (header && csv->header)
        return flow_failure(FLOW_EXIT_data, "%s: is empty: it has no line of names",
                            feed_name(csv->feed));
    return header || record ? begin_file(csv, header, record, file) : flow_ok;
}

void csv_feed_close(CsvFeed *csv) {
    feed_close(csv->feed);
    free(csv->names);
}
