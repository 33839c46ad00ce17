/* CSV, short rows: where all cells are and what the numbers among them say, in a few instructions
 * on processors that can move any bytes of a row to any place. */
#ifndef FLOW_CSV_SHORT_H
#define FLOW_CSV_SHORT_H

#include "runtime/format/csv.h"

enum { CSV_SHORT = 128 /* bytes of a row and its line end */, CSV_SHORT_CELLS = 63 };

typedef struct CsvShortRow {
    uint8_t ends[64];  /* of its cells, from the start of the row */
    float numbers[64]; /* what the places say that were asked for */
    uint64_t good; /* bit i: number i is the nearest f32; else it may be none, or a longer one */
} CsvShortRow;

/* Can this processor do so? */
bool csv_short_is_possible(void);

/* Reads the row at `text` if it is short, has no quotes and as many cells as are expected. places:
 * of the cells that may be numbers, `count` of them and as many as make it a multiple of 8. False:
 * it is no such row. */
bool csv_read_short(const CsvForm *form, const char *text, const char *end, int cells,
                    const uint8_t *places, int count, CsvShortRow *row);

#endif
