/* Cells: values of several kinds, one after the other, as a table has them: each takes nine bytes,
 * and those that are no number their own. */
#ifndef FLOW_CELLS_H
#define FLOW_CELLS_H

#include "runtime/flow.h"

typedef enum CellKind { CELL_missing, CELL_integer, CELL_real, CELL_text, CELL_bytes } CellKind;

typedef struct CellValue {
    CellKind kind;
    int64_t integer;
    double real;
    const char *bytes; /* of a text or of bytes; without a NUL */
    uint64_t size;
} CellValue;

typedef struct Cells {
    int64_t count, capacity;
    unsigned char *kinds;
    uint64_t *numbers; /* the bits of a number, or where in `bytes` a size and so many bytes lie */
    char *bytes;
    uint64_t size, room; /* of bytes */
} Cells;

/* False: no memory. */
bool cells_add(Cells *cells, const CellValue *value);

/* Its bytes live as long as the cells, and until the next is added. */
CellValue cells_at(const Cells *cells, int64_t index);

/* Bytes that all cells take. */
uint64_t cells_size(const Cells *cells);
void cells_free(Cells *cells);

#endif
