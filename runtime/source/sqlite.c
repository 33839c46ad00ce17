/* sqlite: the rows that a query selects. They are read once, when the file is opened, since rows
 * have no numbers by which they could be asked for: what the program needs of them lies in
 * memory. */
#include "runtime/source/sqlite_query.h"

#include "runtime/blob.h"
#include "runtime/cells.h"
#include "runtime/numbers.h"
#include "runtime/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 80 /* bytes of a text in a message */ };

static const uint64_t size_limit = 4ull << 30; /* of all cells, in bytes */

struct FlowReader {
    const FlowField *fields;
    int count;
    int *places; /* of the fields in a row */
    Query query; /* open while rows are read */
    int64_t records;
    Cells cells; /* `count` of each record */
};

static const char *path_of(const FlowReader *reader) {
    return reader->fields[0].path;
}

static FlowStatus no_memory(const FlowReader *reader) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path_of(reader));
}

/* Rows. */

static CellValue read_cell(sqlite3_stmt *row, int place) {
    static const CellKind kinds[] = {[SQLITE_INTEGER] = CELL_integer,
                                     [SQLITE_FLOAT] = CELL_real,
                                     [SQLITE_TEXT] = CELL_text,
                                     [SQLITE_BLOB] = CELL_bytes,
                                     [SQLITE_NULL] = CELL_missing};
    CellValue value = {.kind = kinds[sqlite3_column_type(row, place)]};
    if (value.kind == CELL_integer) value.integer = sqlite3_column_int64(row, place);
    if (value.kind == CELL_real) value.real = sqlite3_column_double(row, place);
    if (value.kind == CELL_text) value.bytes = (const char *)sqlite3_column_text(row, place);
    if (value.kind == CELL_bytes) value.bytes = sqlite3_column_blob(row, place);
    if (value.kind >= CELL_text) value.size = (uint64_t)sqlite3_column_bytes(row, place);
    return value;
}

static FlowStatus add_row(FlowReader *reader) {
    for (int i = 0; i < reader->count; i++) {
        CellValue value = read_cell(reader->query.statement, reader->places[i]);
        bool lost = value.kind == CELL_text && !value.bytes;
        lost |= sqlite3_errcode(reader->query.base) == SQLITE_NOMEM;
        if (lost || !cells_add(&reader->cells, &value)) return no_memory(reader);
    }
    reader->records++;
    if (cells_size(&reader->cells) <= size_limit) return flow_ok;
    return flow_failure(FLOW_EXIT_data,
                        "%s: the rows take more than 4 GiB; select fewer, or less of each",
                        path_of(reader));
}

static FlowStatus read_rows(FlowReader *reader) {
    FlowStatus status = flow_ok;
    int code = SQLITE_ROW;
    while (!status.exit && (code = sqlite3_step(reader->query.statement)) == SQLITE_ROW)
        status = add_row(reader);
    if (status.exit) return status;
    if (code != SQLITE_DONE) return query_failure(&reader->query, code);
    if (reader->records) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: the query selects no records", path_of(reader));
}

static FlowStatus read_table(FlowReader *reader, const char *text) {
    FlowStatus status = query_open(path_of(reader), text, &reader->query);
    reader->places = calloc((size_t)reader->count + 1, sizeof *reader->places);
    if (!reader->places) return no_memory(reader);
    for (int i = 0; i < reader->count && !status.exit; i++)
        status = query_column(&reader->query, reader->fields[i].name, &reader->places[i]);
    return status.exit ? status : read_rows(reader);
}

static void sqlite_close(FlowReader *reader) {
    cells_free(&reader->cells);
    free(reader->places);
    free(reader);
}

static FlowStatus sqlite_open(const FlowField *fields, int count,
                              const FlowSourceArguments *arguments, FlowReader **out) {
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return flow_failure(FLOW_EXIT_resource, "%s: no memory", fields[0].path);
    reader->fields = fields;
    reader->count = count;
    FlowStatus status = read_table(reader, arguments->query);
    query_close(&reader->query);
    if (!status.exit) return status;
    sqlite_close(reader);
    *out = NULL;
    return status;
}

/* Cells to values. Each says what is wrong, without the place. */

static FlowStatus no_number(const CellValue *cell, const FlowType *type) {
    TypeText name = type_name(type);
    if (cell->kind == CELL_integer)
        return flow_failure(FLOW_EXIT_data, "is %lld, the program expects %s",
                            (long long)cell->integer, name.text);
    return flow_failure(FLOW_EXIT_data, "is %.17g, the program expects %s", cell->real, name.text);
}

static FlowStatus make_number(const CellValue *cell, const FlowField *field, void *value) {
    FlowElement element = field->type.element;
    if (field->decoder || field->digits || field->texts || field->tokens)
        return flow_failure(FLOW_EXIT_data, "is a number, the program takes text or bytes");
    bool good = !field->type.rank;
    if (good && cell->kind == CELL_integer)
        good = store_integers(&cell->integer, 1, element, value);
    if (good && cell->kind == CELL_real) good = number_write(element, cell->real, value);
    good = good && isfinite(number_read(element, value));
    return good ? flow_ok : no_number(cell, &field->type);
}

static FlowStatus make_bytes(const CellValue *cell, const FlowField *field, void *value) {
    bool wants_bytes =
        field->decoder || field->digits || field->texts || field->tokens || field->type.rank;
    if (wants_bytes) return blob_value(cell->bytes, cell->size, field, value);
    if (cell->kind == CELL_bytes)
        return flow_failure(FLOW_EXIT_data, "holds bytes, the program expects %s",
                            type_name(&field->type).text);
    return flow_failure(FLOW_EXIT_data,
                        "is the text `%.*s`, the program expects %s; `cast(… as real)` in the "
                        "query makes a number of it",
                        cell->size < SHOWN ? (int)cell->size : SHOWN, cell->bytes,
                        type_name(&field->type).text);
}

static FlowStatus make_missing(const FlowField *field, void *value) {
    if (field->fills) return store_filling(field, value);
    return flow_failure(FLOW_EXIT_data, "is NULL; `missing(%s, 0)` takes 0 for it", field->name);
}

static FlowStatus make_field(const CellValue *cell, const FlowField *field, void *value) {
    switch (cell->kind) {
    case CELL_missing: return make_missing(field, value);
    case CELL_integer:
    case CELL_real: return make_number(cell, field, value);
    case CELL_text:
    case CELL_bytes: return make_bytes(cell, field, value);
    }
    return flow_ok;
}

static int64_t sqlite_records(const FlowReader *reader) {
    return reader->records;
}

static bool sqlite_make(const FlowReader *reader, int64_t record, void *const *values,
                        FlowStatus *failure) {
    for (int i = 0; i < reader->count; i++) {
        CellValue cell = cells_at(&reader->cells, record * reader->count + i);
        FlowStatus status = make_field(&cell, &reader->fields[i], values[i]);
        if (!status.exit) continue;
        if (failure)
            *failure = flow_failure(status.exit, "%s: row %lld: `%s` %s", path_of(reader),
                                    (long long)record, reader->fields[i].name, status.text);
        return false;
    }
    return true;
}

static void sqlite_locate(const FlowReader *reader, int64_t record, char *text, size_t size) {
    snprintf(text, size, "%s: row %lld", path_of(reader), (long long)record);
}

const FlowSource flow_source_sqlite = {
    .name = "sqlite",
    .open = sqlite_open,
    .records = sqlite_records,
    .make = sqlite_make,
    .locate = sqlite_locate,
    .close = sqlite_close,
};
