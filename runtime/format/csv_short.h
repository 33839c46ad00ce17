/* CSV, short rows: where all cells are and what the numbers among them say, in a few instructions
 * on processors that can move any bytes of a row to any place. */
#ifndef FLOW_CSV_SHORT_H
#define FLOW_CSV_SHORT_H

#include "runtime/format/csv.h"

enum { CSV_SHORT = 128 /* bytes of a row and its line end */, CSV_SHORT_CELLS = 63 };

/* Cells that may be numbers. */
typedef struct CsvNumbers {
    int count;
    uint8_t places[64][8]; /* of each its number in the row, eight times */
} CsvNumbers;

typedef struct CsvShortRow {
    uint8_t ends[64];  /* of its cells, from the start of the row */
    float numbers[64]; /* what the cells say that may be numbers */
    uint64_t bad; /* bit i: number i may be none, or a longer one; else it is the nearest f32 */
} CsvShortRow;

/* Can this processor do so? */
bool csv_short_is_possible(void);

/* No more than CSV_SHORT_CELLS. */
void csv_add_number(CsvNumbers *numbers, int place);

/* Reads the row at `text` if it is short, has no quotes and as many cells as are expected,
 * CSV_SHORT_CELLS at most. False: it is no such row. */
bool csv_read_short(const CsvForm *form, const char *text, const char *end, int cells,
                    const CsvNumbers *numbers, CsvShortRow *row);

#endif
