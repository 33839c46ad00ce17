/* CSV columns: which cells of a row the fields of a program are made of. */
#ifndef FLOW_CSV_COLUMNS_H
#define FLOW_CSV_COLUMNS_H

#include "runtime/source/csv_file.h"

/* A cell of each row that the program asks for. */
typedef struct CsvWanted {
    int64_t place; /* in a row, from 0 */
    int field;
    FlowElement element; /* if its number can be read at once; else FLOW_bool */
    size_t offset;       /* in the field's value */
} CsvWanted;

typedef struct CsvColumns {
    int64_t count;
    CsvWanted *wanted; /* by place */
} CsvColumns;

/* Is the cell one that says that a value is missing? Blanks around it don't count. */
bool csv_is_missing(const FlowSourceArguments *arguments, CsvCell cell);

/* False: it is not. */
static inline bool csv_may_be_missing(const FlowSourceArguments *arguments, CsvCell cell) {
    return arguments->missing_count || !cell.size || *cell.text <= ' ';
}

/* Without the blanks around it. */
CsvCell csv_trim(CsvCell cell);

/* The caller frees columns->wanted, on failure too. */
FlowStatus csv_find_columns(const CsvFile *file, const FlowField *fields, int count,
                            const FlowSourceArguments *arguments, CsvColumns *columns);

/* What a cell says, as far as a message has room. */
typedef struct CsvName {
    char text[88];
} CsvName;
CsvName csv_shown(const CsvCell *cell);

/* What the file calls the column. */
CsvName csv_column_name(const CsvFile *file, bool header, int64_t place);

#endif
