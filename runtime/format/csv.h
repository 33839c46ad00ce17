/* CSV: a table in memory as rows of cells (RFC 4180): cells between commas, perhaps in quotes, which
 * may hold commas, lines and doubled quotes; lines end in LF or CRLF. Empty lines are no rows. A NUL
 * has to follow the text. */
#ifndef FLOW_CSV_H
#define FLOW_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Csv {
    char *at, *end;
    int64_t line;      /* of `at`, from 1 */
    const char *error; /* what is wrong, there */
} Csv;

typedef struct Cell {
    char *text; /* followed by something that is no part of a number */
    size_t size;
    bool doubled; /* it holds quotes that are doubled */
    bool last;    /* of its row */
} Cell;

Csv csv_new(char *text, size_t size);

/* Goes to the next row. False: there is none. */
bool csv_row(Csv *csv);

/* The next cell of the row; until `last`. False: csv->error is set. */
bool csv_cell(Csv *csv, Cell *cell);

/* Makes doubled quotes single, in the text itself: a cell is decoded once. */
void csv_decode(Cell *cell);

#endif
