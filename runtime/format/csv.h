/* CSV: a table in memory as rows of cells (RFC 4180). Cells stand between separators; one that
 * begins with a quote ends at the next that is not doubled, and may hold separators and line ends.
 * Other quotes are plain text. Rows end in LF or CRLF, the last one perhaps in nothing. Empty lines
 * are no rows, nor are lines that begin with `comment`. Behind the text CSV_PADDING more bytes can
 * be read. */
#ifndef FLOW_CSV_H
#define FLOW_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CSV_PADDING = 64,
    CSV_CELLS = 256,   /* as many as are looked for at a time, or a few more */
    CSV_ROOM = 64 + 8, /* for those */
};

typedef struct CsvForm {
    char separator;
    char comment; /* 0: there are none */
} CsvForm;

/* Where rows begin from *at on, which is behind a row: fewer than `capacity`, which is more than
 * 64, and none only when the text ends. *at is where to go on. */
int64_t csv_rows(const CsvForm *form, const char *text, size_t size, size_t *at, size_t *rows,
                 int64_t capacity);

/* Where the first row begins: behind a mark of UTF-8, as some programs write it, and lines that are
 * no rows. */
size_t csv_start(const CsvForm *form, const char *text, size_t size);

/* The cells of a row, some at a time. */
typedef struct CsvRow {
    CsvForm form;
    const char *at, *end; /* what is left of the text */
    int64_t first;        /* the number of the first of these cells in the row */
    int count;            /* of these */
    bool last;            /* no more follow them */
    bool by_cell;         /* quotes do not stand where they can be counted */
    uint64_t quoted;      /* is `at` in a quoted cell? all bits or none */
    const char
        *begins[1 + CSV_CELLS + CSV_ROOM]; /* cell i ends a byte before the next one begins */
} CsvRow;

/* The first cells of the row at `text`; the table ends at `end`. */
void csv_open_row(CsvRow *row, const CsvForm *form, const char *text, const char *end);

/* The cells after these, unless these are the last. */
void csv_next_cells(CsvRow *row);

/* How many cells the row has in all. */
int64_t csv_count_cells(CsvRow *row);

typedef struct CsvCell {
    const char *text; /* without quotes around it */
    size_t size;
    bool doubled; /* its quotes are doubled */
} CsvCell;

/* Cell `index` of these. NULL, or what is wrong with it. */
const char *csv_cell(const CsvRow *row, int index, CsvCell *cell);

static inline const char *csv_cell_end(const CsvRow *row, int index) {
    return row->begins[index + 1] - 1;
}

/* Copies what the cell says, as far as there is room. Returns how much that is. */
size_t csv_copy(const CsvCell *cell, char *text, size_t room);

bool csv_cell_is(const CsvCell *cell, const char *text);

/* Copies what the cell says, which has no more bytes than the cell. Returns how many. */
size_t csv_cell_copy(const CsvCell *cell, char *text);

#endif
