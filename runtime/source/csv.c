/* csv: a table in a text file, plain or gzip. The columns that are asked for are parsed once, when it
 * is opened, each into an array of its field's type. */
#define _GNU_SOURCE
#include "runtime/format/csv.h"

#include "runtime/content.h"
#include "runtime/nearest.h"
#include "runtime/type.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_RECORDS = 1024, SHOWN = 80 /* bytes of a cell or of names in a message */ };

typedef struct Column {
    const FlowField *field;
    int64_t place; /* in a row, from 0 */
    size_t size;   /* of a value */
    char *values;
} Column;

struct FlowReader {
    const char *path;
    int64_t records, capacity;
    int64_t cells; /* in each row */
    int count;
    Column columns[];
};

/* Where in the file something is wrong. */
typedef struct Place {
    const char *path;
    int64_t line;
} Place;

static FlowStatus no_memory(const FlowReader *reader) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", reader->path);
}

static FlowStatus syntax_failure(const FlowReader *reader, const Csv *csv) {
    return flow_failure(FLOW_EXIT_data, "%s: line %lld: %s", reader->path, (long long)csv->line,
                        csv->error);
}

static int shown(const Cell *cell) {
    return cell->size < SHOWN ? (int)cell->size : SHOWN;
}

/* Cells to values. */

static void trim(Cell *cell) {
    while (cell->size && (*cell->text == ' ' || *cell->text == '\t')) cell->text++, cell->size--;
    while (cell->size && strchr(" \t", cell->text[cell->size - 1])) cell->size--;
}

static bool is_word(const Cell *cell, const char *word) {
    return cell->size == strlen(word) && !strncasecmp(cell->text, word, cell->size);
}

/* Decimal numbers only: strtod would take hexadecimal ones, nan and infinity as well. */
static bool parse_number(const Cell *cell, double *number) {
    char *end;
    for (size_t i = 0; i < cell->size; i++)
        if (!cell->text[i] || !strchr("0123456789+-.eE", cell->text[i])) return false;
    *number = strtod(cell->text, &end);
    return cell->size && end == cell->text + cell->size;
}

/* Whole numbers beyond 2^53 are exact. */
static bool write_whole(const Cell *cell, void *value) {
    char *end;
    int64_t number = strtoll(cell->text, &end, 10);
    if (end != cell->text + cell->size || number == INT64_MAX || number == INT64_MIN) return false;
    memcpy(value, &number, sizeof number);
    return true;
}

static bool write_number(const Cell *cell, FlowElement element, void *value) {
    double number;
    if (element == FLOW_bool && (is_word(cell, "true") || is_word(cell, "false")))
        return number_write(element, is_word(cell, "true"), value);
    if (!parse_number(cell, &number)) return false;
    if (element == FLOW_i64 && write_whole(cell, value)) return true;
    return number_write(element, number, value) && isfinite(number_read(element, value));
}

static FlowStatus convert_category(Place place, const Cell *cell, const FlowField *field,
                                   void *value) {
    for (int i = 0; i < field->category_count; i++)
        if (cell->size == strlen(field->categories[i]) &&
            !memcmp(cell->text, field->categories[i], cell->size)) {
            number_write(field->type.element, i, value);
            return flow_ok;
        }
    return flow_failure(FLOW_EXIT_data, "%s: line %lld: `%s` is `%.*s`, none of its %d categories",
                        place.path, (long long)place.line, field->name, shown(cell), cell->text,
                        field->category_count);
}

static FlowStatus convert(Place place, Cell cell, const FlowField *field, void *value) {
    if (field->categories) return convert_category(place, &cell, field, value);
    trim(&cell);
    if (!cell.size && field->fills && number_write(field->type.element, field->filling, value))
        return flow_ok;
    if (!cell.size && field->fills)
        return flow_failure(FLOW_EXIT_data, "%s: line %lld: `%s` is missing, and %.10g is no %s",
                            place.path, (long long)place.line, field->name, field->filling,
                            type_name(&field->type).text);
    if (!cell.size)
        return flow_failure(FLOW_EXIT_data,
                            "%s: line %lld: `%s` is missing; `missing(%s, 0)` takes 0 for it",
                            place.path, (long long)place.line, field->name, field->name);
    if (write_number(&cell, field->type.element, value)) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: line %lld: `%s` is `%.*s`, the program expects %s",
                        place.path, (long long)place.line, field->name, shown(&cell), cell.text,
                        type_name(&field->type).text);
}

/* Columns. */

/* "a, b, c, …" */
static void list_names(const Cell *names, int64_t count, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (int64_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", i ? ", " : "",
                                 shown(&names[i]), names[i].text);
    if (used >= size) memcpy(text + size - sizeof "…", "…", sizeof "…");
}

static FlowStatus no_column(const FlowReader *reader, const FlowField *field, const Cell *names) {
    const Cell *best = NULL;
    char list[4 * SHOWN];
    int least = name_distance_limit(strlen(field->name));
    for (int64_t i = 0; i < reader->cells; i++) {
        int edits = name_distance(field->name, names[i].text, names[i].size);
        if (edits >= least) continue;
        least = edits;
        best = &names[i];
    }
    if (best)
        return flow_failure(FLOW_EXIT_data, "%s: has no column `%s`; did you mean `%.*s`?",
                            reader->path, field->name, shown(best), best->text);
    list_names(names, reader->cells, list, sizeof list);
    return flow_failure(FLOW_EXIT_data, "%s: has no column `%s`; its columns are %s", reader->path,
                        field->name, list);
}

/* The place of the column of that name; without a header its name is the place. */
static FlowStatus find_column(const FlowReader *reader, const Cell *names, bool header,
                              Column *column) {
    const char *name = column->field->name;
    for (int64_t i = 0; header && i < reader->cells; i++)
        if (names[i].size == strlen(name) && !memcmp(names[i].text, name, names[i].size)) {
            column->place = i;
            return flow_ok;
        }
    if (header) return no_column(reader, column->field, names);
    char *end;
    column->place = strtoll(name, &end, 10);
    if (isdigit((unsigned char)*name) && !*end && column->place < reader->cells) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: has no column %s: it has %lld, counted from 0",
                        reader->path, name, (long long)reader->cells);
}

static int by_place(const void *a, const void *b) {
    int64_t x = (*(const Column *const *)a)->place, y = (*(const Column *const *)b)->place;
    return (x > y) - (x < y);
}

/* The cells of the first row; the caller frees *names. */
static FlowStatus read_first(FlowReader *reader, Csv *csv, Cell **names) {
    int64_t capacity = 0;
    *names = NULL;
    if (!csv_row(csv)) return flow_failure(FLOW_EXIT_data, "%s: is empty", reader->path);
    for (Cell cell = {0}; !cell.last; reader->cells++) {
        if (!csv_cell(csv, &cell)) return syntax_failure(reader, csv);
        if (reader->cells == capacity) {
            capacity = 2 * capacity + 16;
            Cell *more = realloc(*names, (size_t)capacity * sizeof *more);
            if (!more) return no_memory(reader);
            *names = more;
        }
        (*names)[reader->cells] = cell;
    }
    return flow_ok;
}

static FlowStatus find_columns(FlowReader *reader, Csv *csv, bool header) {
    Cell *names;
    Csv start = *csv;
    FlowStatus status = read_first(reader, csv, &names);
    for (int64_t i = 0; header && !status.exit && i < reader->cells; i++) csv_decode(&names[i]);
    for (int i = 0; i < reader->count && !status.exit; i++)
        status = find_column(reader, names, header, &reader->columns[i]);
    free(names);
    if (!header) *csv = start;
    return status;
}

/* Rows. */

static FlowStatus grow(FlowReader *reader) {
    int64_t capacity = reader->capacity ? 2 * reader->capacity : FIRST_RECORDS;
    for (int i = 0; i < reader->count; i++) {
        Column *column = &reader->columns[i];
        char *larger = realloc(column->values, (size_t)capacity * column->size);
        if (!larger) return no_memory(reader);
        column->values = larger;
    }
    reader->capacity = capacity;
    return flow_ok;
}

/* order: the columns as they come in a row. */
static FlowStatus read_row(FlowReader *reader, Csv *csv, Column *const *order) {
    Place place = {reader->path, csv->line};
    int next = 0;
    int64_t cells = 0;
    FlowStatus status = flow_ok;
    for (Cell cell = {0}; !cell.last && !status.exit; cells++) {
        if (!csv_cell(csv, &cell)) return syntax_failure(reader, csv);
        if (next < reader->count && order[next]->place == cells) csv_decode(&cell);
        for (; next < reader->count && order[next]->place == cells && !status.exit; next++) {
            Column *column = order[next];
            status = convert(place, cell, column->field,
                             column->values + (size_t)reader->records * column->size);
        }
    }
    if (status.exit || cells == reader->cells) return status;
    return flow_failure(FLOW_EXIT_data, "%s: line %lld: has %lld cells, the first line %lld",
                        place.path, (long long)place.line, (long long)cells,
                        (long long)reader->cells);
}

static FlowStatus read_rows(FlowReader *reader, Csv *csv) {
    Column *order[reader->count + 1];
    FlowStatus status = flow_ok;
    for (int i = 0; i < reader->count; i++) order[i] = &reader->columns[i];
    qsort(order, (size_t)reader->count, sizeof *order, by_place);
    while (!status.exit && csv_row(csv)) {
        if (reader->records == reader->capacity) status = grow(reader);
        if (!status.exit) status = read_row(reader, csv, order);
        reader->records += !status.exit;
    }
    if (status.exit || reader->records) return status;
    return flow_failure(FLOW_EXIT_data, "%s: has no records", reader->path);
}

static FlowStatus read_table(FlowReader *reader, bool header) {
    Content content;
    FlowStatus status = content_read(reader->path, &content);
    if (status.exit) return status;
    Csv csv = csv_new(content.bytes, content.size);
    status = find_columns(reader, &csv, header);
    if (!status.exit) status = read_rows(reader, &csv);
    content_free(&content);
    return status;
}

/* The source. */

static void csv_close(FlowReader *reader) {
    for (int i = 0; reader && i < reader->count; i++) free(reader->columns[i].values);
    free(reader);
}

static FlowStatus csv_open(const FlowField *fields, int count, const FlowSourceArguments *arguments,
                           FlowReader **out) {
    FlowReader *reader = *out = calloc(1, sizeof *reader + sizeof *reader->columns * (size_t)count);
    if (!reader)
        return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", fields[0].path);
    reader->path = fields[0].path;
    reader->count = count;
    for (int i = 0; i < count; i++)
        reader->columns[i] =
            (Column){.field = &fields[i], .size = flow_element_size(fields[i].type.element)};
    FlowStatus status = read_table(reader, arguments->header);
    if (!status.exit) return status;
    csv_close(reader);
    *out = NULL;
    return status;
}

static int64_t csv_records(const FlowReader *reader) {
    return reader->records;
}

static void csv_read(const FlowReader *reader, int64_t record, const void **values) {
    for (int i = 0; i < reader->count; i++)
        values[i] = reader->columns[i].values + (size_t)record * reader->columns[i].size;
}

const FlowSource flow_source_csv = {
    .name = "csv",
    .open = csv_open,
    .records = csv_records,
    .read = csv_read,
    .close = csv_close,
};
