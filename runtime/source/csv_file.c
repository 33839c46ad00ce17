/* CSV file: its text stays where the file is mapped. Of each record 4 bytes are kept, and 16 of
 * each group of 64: the distance from the group's start. Line numbers are counted when one is asked
 * for. */
#include "runtime/source/csv_file.h"

#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FOUND = 1024 /* rows that are looked for at a time */ };

static FlowStatus no_memory(const CsvFile *file) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", file->path);
}

static bool resize(void *pointer, int64_t before, int64_t after, size_t size) {
    void **array = pointer;
    void *resized = held_resize(*array, (size_t)before * size, (size_t)after * size);
    if (resized) *array = resized;
    return resized != NULL;
}

static FlowStatus grow(CsvFile *file) {
    int64_t capacity = file->capacity ? 2 * file->capacity : FOUND;
    if (!resize(&file->starts, file->capacity, capacity, sizeof *file->starts) ||
        !resize(&file->groups, file->capacity / CSV_GROUP, capacity / CSV_GROUP,
                sizeof *file->groups))
        return no_memory(file);
    file->capacity = capacity;
    return flow_ok;
}

/* Groups are so small that only rows of 64 MiB each could be too far apart. */
static FlowStatus too_far(const CsvFile *file, int64_t record) {
    return flow_failure(FLOW_EXIT_data,
                        "%s: more than 4 GiB lie between records %lld and %lld; records of that "
                        "size can't be read",
                        file->path, (long long)(record / CSV_GROUP * CSV_GROUP), (long long)record);
}

static FlowStatus add_records(CsvFile *file, const size_t *rows, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        int64_t record = file->records++;
        uint64_t *group = &file->groups[record / CSV_GROUP];
        if (record % CSV_GROUP == 0) *group = rows[i];
        if (rows[i] - *group > UINT32_MAX) return too_far(file, record);
        file->starts[record] = (uint32_t)(rows[i] - *group);
    }
    return flow_ok;
}

/* What doubling took too much of is given back. Starts are asked for in any order, so they move to
 * huge pages. */
static FlowStatus finish(CsvFile *file) {
    int64_t groups = (file->records + CSV_GROUP - 1) / CSV_GROUP;
    if (!file->records) return flow_ok;
    size_t size = (size_t)file->records * sizeof *file->starts;
    uint32_t *starts = held_new(size);
    if (!starts) return no_memory(file);
    memcpy(starts, file->starts, size);
    free(file->starts);
    held_give((size_t)file->capacity * sizeof *file->starts);
    file->starts = starts;
    resize(&file->groups, file->capacity / CSV_GROUP, groups, sizeof *file->groups);
    file->lines = held_resize(NULL, 0, (size_t)groups * sizeof *file->lines);
    return file->lines ? flow_ok : no_memory(file);
}

FlowStatus csv_file_index(CsvFile *file, bool header) {
    size_t rows[FOUND], at = file->first_row, size = file->mapped.size;
    int64_t count;
    FlowStatus status = flow_ok;
    bool skip = header;
    while (!status.exit &&
           (count = csv_rows(&file->form, file->mapped.bytes, size, &at, rows, FOUND))) {
        if (file->records + count > file->capacity) status = grow(file);
        if (!status.exit) status = add_records(file, rows + skip, count - skip);
        skip = false;
        if (interrupted()) return interrupt_reading(file->path);
    }
    return status.exit ? status : finish(file);
}

/* Lines. */

static int64_t count_lines(const char *at, const char *end) {
    int64_t lines = 0;
    for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++) lines++;
    return lines;
}

static void count_groups(CsvFile *file, int64_t group) {
    for (; file->counted <= group; file->counted++) {
        int64_t i = file->counted;
        const char *bytes = file->mapped.bytes, *from = i ? bytes + file->groups[i - 1] : bytes;
        file->lines[i] = (i ? file->lines[i - 1] : 1) + count_lines(from, bytes + file->groups[i]);
    }
}

int64_t csv_file_line(CsvFile *file, int64_t record) {
    int64_t group = record / CSV_GROUP;
    pthread_mutex_lock(&file->counting);
    count_groups(file, group);
    int64_t line = file->lines[group];
    pthread_mutex_unlock(&file->counting);
    return line +
           count_lines(file->mapped.bytes + file->groups[group], csv_file_record(file, record));
}

/* Open and close. */

/* The first row, and how many cells it has. */
static void find_first(CsvFile *file) {
    CsvRow row;
    file->first_row = csv_start(&file->form, file->mapped.bytes, file->mapped.size);
    csv_open_row(&row, &file->form, file->mapped.bytes + file->first_row, file->end);
    file->cells = csv_count_cells(&row);
}

static void begin(CsvFile *file) {
    pthread_mutex_init(&file->counting, NULL);
    file->end = file->mapped.bytes + file->mapped.size;
    find_first(file);
}

void csv_file_begin(const char *path, const CsvForm *form, Content text, CsvFile *file) {
    *file = (CsvFile){.path = path, .form = *form};
    file->mapped = (Mapped){.bytes = text.bytes, .size = text.size, .content = text};
    begin(file);
}

FlowStatus csv_file_open(const char *path, const CsvForm *form, CsvFile *file) {
    *file = (CsvFile){.path = path, .form = *form};
    FlowStatus status = mapped_open(path, &file->mapped);
    if (status.exit) return status;
    begin(file);
    if (file->first_row < file->mapped.size) return flow_ok;
    csv_file_close(file);
    return flow_failure(FLOW_EXIT_data, "%s: is empty", path);
}

void csv_file_close(CsvFile *file) {
    if (!file->end) return;
    pthread_mutex_destroy(&file->counting);
    mapped_close(&file->mapped);
    free(file->starts);
    free(file->groups);
    free(file->lines);
    *file = (CsvFile){0};
}
