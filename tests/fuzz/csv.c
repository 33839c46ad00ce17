/* Fuzz: any bytes as a table. Rows and cells are those that a reader finds that takes one character
 * after the other. The source opens it with and without a header; numbers, categories, missing
 * cells, arrays of columns; every record is made, and why one can't be is asked for. */
#define _GNU_SOURCE
#include "runtime/format/csv_short.h"
#include "runtime/format/decimal.h"
#include "runtime/flow.h"
#include "tests/runtime/category.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { LIMIT = 4096 };

/* The reader that takes one character after the other. */

static size_t plain_cell_end(const CsvForm *form, const char *text, size_t size, size_t at) {
    bool quoted = at < size && text[at] == '"';
    for (at += quoted; at < size; at++) {
        if (quoted && text[at] == '"' && at + 1 < size && text[at + 1] == '"') at++;
        else if (quoted) quoted = text[at] != '"';
        else if (text[at] == form->separator || text[at] == '\n') break;
    }
    return at < size ? at : size;
}

/* A short row is read alike at once: its cells' ends, and numbers that decimal_write reads
 * alike. */
static void check_short(const CsvForm *form, const char *text, const char *end,
                        const CsvRow *cells) {
    CsvShortRow row;
    CsvNumbers numbers = {0};
    int count = cells->count < CSV_SHORT_CELLS ? cells->count : CSV_SHORT_CELLS;
    for (int i = 0; i < count; i++) csv_add_number(&numbers, i);
    if (!csv_short_is_possible() || !csv_read_short(form, text, end, count, &numbers, &row)) return;
    if (!cells->last || cells->count != count) abort();
    for (int i = 0; i < count; i++) {
        CsvCell cell;
        float number;
        if (csv_cell(cells, i, &cell) || cell.text + cell.size != text + row.ends[i]) abort();
        if (row.bad >> i & 1) continue;
        if (!decimal_write(cell.text, cell.size, FLOW_f32, &number)) abort();
        if (memcmp(&number, &row.numbers[i], sizeof number)) abort();
    }
}

static size_t check_row(const CsvForm *form, const char *text, size_t size, size_t at) {
    CsvRow row;
    int64_t cells = 0;
    csv_open_row(&row, form, text + at, text + size);
    check_short(form, text + at, text + size, &row);
    for (;; at++, cells++) {
        at = plain_cell_end(form, text, size, at);
        if (cells == row.first + row.count) csv_next_cells(&row);
        if (csv_cell_end(&row, (int)(cells - row.first)) != text + at) abort();
        if (at == size || text[at] == '\n') break;
    }
    if (csv_count_cells(&row) != cells + 1) abort();
    return at < size ? at + 1 : size;
}

static bool is_skipped(const CsvForm *form, const char *text, size_t at) {
    return text[at] == '\n' || (text[at] == '\r' && text[at + 1] == '\n') ||
           (form->comment && text[at] == form->comment);
}

static void check_rows(const CsvForm *form, const char *text, size_t size) {
    size_t rows[80], from = csv_start(form, text, size), at = from;
    int64_t count = csv_rows(form, text, size, &from, rows, 80), next = 0;
    while (at < size) {
        if (is_skipped(form, text, at)) {
            const char *line = memchr(text + at, '\n', size - at);
            at = line ? (size_t)(line - text) + 1 : size;
            continue;
        }
        if (next == count) count = csv_rows(form, text, size, &from, rows, 80), next = 0;
        if (next >= count || rows[next++] != at) abort();
        at = check_row(form, text, size, at);
    }
    if (next != count || csv_rows(form, text, size, &from, rows, 80)) abort();
}

/* The source. */

static FlowField kind;
static const char *const categories[] = {"a", "", "b\"c"};
static const char *const missing[] = {"NA", "-1"};

static void make_all(const FlowReader *reader) {
    double values[4];
    for (int64_t i = 0; i < flow_source_csv.records(reader); i++) {
        FlowStatus failure = {0}, again = {0};
        bool good = flow_source_csv.make(reader, i, (void *[]){values}, NULL);
        if (good != flow_source_csv.make(reader, i, (void *[]){values}, &failure)) abort();
        if (good || i > LIMIT / 64) continue;
        flow_source_csv.make(reader, i, (void *[]){values}, &again);
        if (!failure.exit || strcmp(failure.text, again.text)) abort();
    }
}

/* which: of the fields below. */
static void open_as(const char *path, int which, FlowSourceArguments arguments) {
    bool header = arguments.header;
    FlowField x = {.name = header ? "x" : "0", .path = path, .type = {.element = FLOW_f64}};
    FlowField fields[5] = {x, x, x, x, x};
    fields[1].type.element = FLOW_i64;
    fields[1].fills = true;
    fields[2].type.element = FLOW_i32;
    if (!kind.texts) kind = with_categories((FlowField){0}, categories, 3);
    fields[2].texts = kind.texts;
    fields[3].type = (FlowType){FLOW_f32, 1, {2}};
    fields[4].type = (FlowType){FLOW_f32, 1, {2}};
    fields[4].numbers = true;
    FlowReader *reader;
    if (flow_source_csv.open(&fields[which], 1, &arguments, &reader).exit) return;
    make_all(reader);
    flow_source_csv.close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    const CsvForm plain = {',', 0}, other = {';', '#'};
    char *text = malloc(size + CSV_PADDING);
    if (!text) return 0;
    memcpy(text, bytes, size);
    memset(text + size, bytes && size ? bytes[0] : 0, CSV_PADDING);
    check_rows(&plain, text, size);
    check_rows(&other, text, size);
    free(text);
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) return 0;
    if (size / 5 % 2) open_as(path, size % 5, (FlowSourceArguments){.header = true});
    else
        open_as(path, size % 5,
                (FlowSourceArguments){
                    .separator = ';', .comment = '#', .missing = missing, .missing_count = 2});
    return 0;
}
