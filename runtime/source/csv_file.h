/* CSV file: one file of a table, and where its rows begin. */
#ifndef FLOW_CSV_FILE_H
#define FLOW_CSV_FILE_H

#include "runtime/format/csv.h"
#include "runtime/mapped.h"

#include <pthread.h>

enum { CSV_GROUP = 64 /* records */ };

typedef struct CsvFile {
    const char *path;
    CsvForm form;
    Mapped mapped;
    const char *end;  /* of its text */
    size_t first_row; /* the header, or a record; mapped.size: there is none */
    int64_t cells;    /* in each row, as in the first */
    int64_t records, capacity;
    uint32_t *starts; /* of records, from the start of their group on */
    uint64_t *groups; /* where each group of records begins */
    pthread_mutex_t counting;
    int64_t counted; /* groups whose line is known: those that somebody asked for */
    int64_t *lines;
} CsvFile;

/* Opens it as far as its first row. On failure there is nothing to close. */
FlowStatus csv_file_open(const char *path, const CsvForm *form, CsvFile *file);
void csv_file_close(CsvFile *file);

/* The same of a text that is not empty, which becomes the file's. */
void csv_file_begin(const char *path, const CsvForm *form, Content text, CsvFile *file);

/* Finds the records; header: the first row is none. */
FlowStatus csv_file_index(CsvFile *file, bool header);

/* Where the record begins, in memory. Thread-safe. */
static inline const char *csv_file_record(const CsvFile *file, int64_t record) {
    return file->mapped.bytes + file->groups[(uint64_t)record / CSV_GROUP] + file->starts[record];
}

/* The line that the record begins at, from 1; the first time the file is read. Thread-safe. */
int64_t csv_file_line(CsvFile *file, int64_t record);

#endif
