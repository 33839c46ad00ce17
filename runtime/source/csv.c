/* csv: tables in text files, plain or compressed. When they are opened only the places of their
 * rows are noted; a record is read from the text when it is asked for, and only the cells that the
 * program uses are parsed. The values of a small table are kept from then on. */
#define _GNU_SOURCE
#include "runtime/source/csv_columns.h"
#include "runtime/plural.h"
#include "runtime/source/csv_feed.h"

#include "runtime/blob.h"
#include "runtime/format/block.h"
#include "runtime/format/csv_short.h"
#include "runtime/format/decimal_short.h"
#include "runtime/holdings.h"
#include "runtime/memory.h"
#include "runtime/path.h"
#include "runtime/spans.h"
#include "runtime/type.h"
#include "runtime/vocabulary.h"

#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NUMBER_SIZE = 80,      /* bytes, more than a number that stands for a missing one has */
    KEPT_LIMIT = 16 << 20, /* bytes of values that are kept */
    LINE = 64,             /* bytes that one prefetch brings */
    PREFETCHED = 4,        /* lines; the processor goes on by itself */
};

typedef struct Table {
    CsvFile file;
    CsvColumns columns;
    bool tries_short;   /* rows are read at once where they are short */
    CsvNumbers singles; /* columns that are f32 */
    CsvWanted *wanted;  /* columns.wanted, those first */
} Table;

/* A field of the program. */
typedef struct Field {
    FlowElement element;
    size_t size;             /* of one number */
    size_t whole;            /* of all its numbers */
    const Vocabulary *texts; /* of a category; else NULL */
} Field;

/* The values of a record are written once, by whoever says so first. */
typedef enum KeptState { KEPT_nothing, KEPT_writing, KEPT_values } KeptState;

struct FlowReader {
    const FlowField *described;
    FlowSourceArguments arguments;
    CsvForm form;
    bool missing_first; /* a text that says that a value is missing could be a number */
    int count;
    Field *fields;
    Table *tables;
    int table_count;
    Spans spans; /* of the tables; none of a feed */
    CsvFeed fed; /* of a table that comes on and on; else fed.feed is NULL */
    int64_t records;
    size_t row;           /* bytes of the values of a record */
    char *kept;           /* those of all records; or NULL */
    atomic_uchar *states; /* KeptState of each record */
};

static FlowStatus no_memory(const FlowReader *reader) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", reader->described[0].path);
}

/* Cells to values. What is wrong is only asked for when somebody listens. */

typedef struct Wrong {
    FlowExit exit; /* FLOW_EXIT_data, unless it is said to be another */
    char text[384];
} Wrong;

static bool says(Wrong *wrong, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns false. wrong: or NULL. */
static bool says(Wrong *wrong, const char *format, ...) {
    va_list arguments;
    if (!wrong) return false;
    va_start(arguments, format);
    wrong->exit = FLOW_EXIT_data;
    vsnprintf(wrong->text, sizeof wrong->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool says_status(Wrong *wrong, const FlowStatus *status) {
    says(wrong, "%s", status->text);
    if (wrong) wrong->exit = status->exit;
    return false;
}

static bool says_no_memory(Wrong *wrong) {
    FlowStatus status = flow_failure(FLOW_EXIT_resource, "takes more memory than there is");
    return says_status(wrong, &status);
}

static bool fill_missing(const FlowField *field, void *value, Wrong *wrong) {
    FlowType type = {.element = field->type.element};
    const char *name = field->numbers ? "columns" : field->name;
    if (!field->fills) return says(wrong, "is missing; `missing(%s, 0)` takes 0 for it", name);
    return number_write(type.element, field->filling, value) ||
           says(wrong, "is missing, and %.10g is no %s", field->filling, type_name(&type).text);
}

static bool convert_odd_number(const FlowReader *reader, const FlowField *field,
                               const CsvCell *whole, void *value, Wrong *wrong) {
    FlowType type = {.element = field->type.element};
    CsvCell cell = csv_trim(*whole);
    if (csv_is_missing(&reader->arguments, cell)) return fill_missing(field, value, wrong);
    return decimal_write(cell.text, cell.size, type.element, value) ||
           says(wrong, "is `%s`, the program expects %s", csv_shown(&cell).text,
                type_name(&type).text);
}

/* *place: of the cell's text among the categories, or -1. False: no memory. */
static bool find_category(const FlowReader *reader, int index, const CsvCell *cell, int *place) {
    const Vocabulary *texts = reader->fields[index].texts;
    char *text = cell->doubled ? malloc(cell->size + 1) : NULL;
    if (!cell->doubled) *place = vocabulary_find(texts, cell->text, cell->size);
    else if (text) *place = vocabulary_find(texts, text, csv_cell_copy(cell, text));
    free(text);
    return text || !cell->doubled;
}

static bool write_place(const Field *field, int place, void *value) {
    if (field->element != FLOW_i32) return number_write(field->element, place, value);
    memcpy(value, &(int32_t){place}, sizeof(int32_t));
    return true;
}

/* A missing value is the empty text, if that is one of the categories. */
static bool convert_category(const FlowReader *reader, int index, const CsvCell *cell, void *value,
                             Wrong *wrong) {
    const Field *field = &reader->fields[index];
    int category = -1;
    if (csv_may_be_missing(&reader->arguments, *cell) && csv_is_missing(&reader->arguments, *cell))
        category = vocabulary_find(field->texts, "", 0);
    if (category < 0 && !find_category(reader, index, cell, &category))
        return says_no_memory(wrong);
    if (category < 0) category = reader->described[index].unknown - 1;
    if (category >= 0) return write_place(field, category, value);
    return says(wrong, "is `%s`, %s", csv_shown(cell).text,
                vocabulary_fault(&reader->described[index]).text);
}

static bool convert_name(const FlowField *field, const CsvCell *cell, void *value, Wrong *wrong) {
    char name[PATH_MAX];
    size_t size = csv_copy(cell, name, sizeof name);
    FlowStatus status = blob_value(name, size, field, value);
    return !status.exit || says_status(wrong, &status);
}

static bool convert(const FlowReader *reader, int index, const CsvCell *cell, void *value,
                    Wrong *wrong) {
    const Field *field = &reader->fields[index];
    if (field->texts) return convert_category(reader, index, cell, value, wrong);
    if (reader->described[index].reads)
        return convert_name(&reader->described[index], cell, value, wrong);
    if (!reader->missing_first && decimal_write(cell->text, cell->size, field->element, value))
        return true;
    return convert_odd_number(reader, &reader->described[index], cell, value, wrong);
}

/* Rows. */

typedef struct Place {
    const Table *table;
    int64_t record; /* in it */
} Place;

static Place find_record(const FlowReader *reader, int64_t record) {
    if (reader->fed.feed) return (Place){reader->tables, record};
    int table = spans_find(&reader->spans, record);
    return (Place){&reader->tables[table], record - reader->spans.firsts[table]};
}

static long long line_of(const FlowReader *reader, Place place) {
    if (reader->fed.feed) return feed_line(reader->fed.feed, place.record);
    return csv_file_line((CsvFile *)&place.table->file, place.record);
}

/* column: the one that is wrong, or NULL. */
static void explain(const FlowReader *reader, Place place, const CsvWanted *column,
                    const Wrong *wrong, FlowStatus *failure) {
    const CsvFile *file = &place.table->file;
    long long line = line_of(reader, place);
    CsvName name = {""};
    if (column) name = csv_column_name(file, reader->arguments.header, column->place);
    *failure = flow_failure(wrong->exit, column ? "%s: line %lld: `%s` %s" : "%s: line %lld: %s%s",
                            file->path, line, name.text, wrong->text);
}

/* A quote that is not closed takes all the rest of the file into its cell, asked for or not. */
static bool check_count(const Table *table, CsvRow *row, Wrong *wrong) {
    CsvCell cell;
    int64_t count = csv_count_cells(row);
    const char *unquoted = NULL;
    if (csv_cell_end(row, row->count - 1) == row->end)
        unquoted = csv_cell(row, row->count - 1, &cell);
    if (unquoted) return says(wrong, "its last cell %s", unquoted);
    if (count == table->file.cells) return true;
    return says(wrong, "has %lld cell%s, the first line %lld", (long long)count, plural(count),
                (long long)table->file.cells);
}

/* A row that is being read. */
typedef struct Parser {
    const FlowReader *reader;
    const Table *table;
    void *const *values;
    Wrong *wrong;
    const CsvWanted *column; /* that is wrong */
    const char *text, *end;  /* the row, and the end of the text that it stands in */
    CsvRow row;
} Parser;

static bool make_cell(Parser *parser, const CsvWanted *wanted, void *value) {
    CsvCell cell;
    const char *unquoted = csv_cell(&parser->row, (int)(wanted->place - parser->row.first), &cell);
    parser->column = wanted;
    if (unquoted) return says(parser->wrong, "%s", unquoted);
    return convert(parser->reader, wanted->field, &cell, value, parser->wrong);
}

/* Goes on to the cells that have this one. False: there is none. */
static bool go_to(CsvRow *row, int64_t place) {
    while (place >= row->first + row->count && !row->last) csv_next_cells(row);
    return place < row->first + row->count;
}

/* Numbers in quotes, categories and all that is odd take the longer way. */
FOR_NEWER_PROCESSORS static bool make_cells(Parser *parser) {
    CsvRow *row = &parser->row;
    const CsvWanted *end = parser->table->columns.wanted + parser->table->columns.count;
    for (const CsvWanted *wanted = parser->table->columns.wanted; wanted < end; wanted++) {
        if (wanted->place >= row->first + row->count && !go_to(row, wanted->place)) break;
        const char *const *begin = &row->begins[wanted->place - row->first];
        void *value = (char *)parser->values[wanted->field] + wanted->offset;
        bool made = decimal_write_short(begin[0], (size_t)(begin[1] - begin[0]) - 1,
                                        wanted->element, value);
        if (!made && !make_cell(parser, wanted, value)) return false;
    }
    return true;
}

/* What cell `place` of a row without quotes says. */
static CsvCell short_cell(const CsvShortRow *row, const char *text, int64_t place) {
    size_t begin = place ? row->ends[place - 1] + 1u : 0;
    return (CsvCell){text + begin, row->ends[place] - begin, false};
}

static void *value_of(const Parser *parser, const CsvWanted *wanted) {
    return (char *)parser->values[wanted->field] + wanted->offset;
}

static bool convert_short(const Parser *parser, const CsvShortRow *row, const CsvWanted *wanted) {
    CsvCell cell = short_cell(row, parser->text, wanted->place);
    return convert(parser->reader, wanted->field, &cell, value_of(parser, wanted), NULL);
}

/* False: it can't be read in this way, or something is wrong with it. */
static bool parse_short(const Parser *parser) {
    const Table *table = parser->table;
    int64_t singles = table->singles.count;
    CsvShortRow row;
    if (!csv_read_short(&parser->reader->form, parser->text, parser->end, (int)table->file.cells,
                        &table->singles, &row))
        return false;
    for (int64_t i = 0; i < singles; i++)
        memcpy(value_of(parser, &table->wanted[i]), &row.numbers[i], sizeof(float));
    for (uint64_t bad = row.bad; bad; bad &= bad - 1)
        if (!convert_short(parser, &row, &table->wanted[__builtin_ctzll(bad)])) return false;
    for (int64_t i = singles; i < table->columns.count; i++)
        if (!convert_short(parser, &row, &table->wanted[i])) return false;
    return true;
}

static bool parse_row(Parser *parser) {
    if (parser->table->tries_short && parse_short(parser)) return true;
    csv_open_row(&parser->row, &parser->reader->form, parser->text, parser->end);
    if (!make_cells(parser)) return false;
    parser->column = NULL;
    return check_count(parser->table, &parser->row, parser->wrong);
}

static bool parse_fed(Parser *parser, int64_t record) {
    FeedCopy copy;
    feed_copy(parser->reader->fed.feed, record, &copy);
    parser->column = NULL;
    if (!copy.bytes) return says_no_memory(parser->wrong);
    parser->text = copy.bytes;
    parser->end = copy.bytes + copy.size;
    bool good = parse_row(parser);
    feed_drop_copy(&copy);
    return good;
}

static bool parse(Parser *parser, int64_t record) {
    const CsvFile *file = &parser->table->file;
    if (parser->reader->fed.feed) return parse_fed(parser, record);
    parser->text = csv_file_record(file, record);
    parser->end = file->end;
    return parse_row(parser);
}

/* Values that are kept. */

/* Small ones without a call. */
static void copy(void *to, const void *from, size_t size) {
    if (size == 4) memcpy(to, from, 4);
    else if (size == 8) memcpy(to, from, 8);
    else memcpy(to, from, size);
}

static bool take_kept(const FlowReader *reader, int64_t record, void *const *values) {
    if (atomic_load_explicit(&reader->states[record], memory_order_acquire) != KEPT_values)
        return false;
    const char *row = reader->kept + (size_t)record * reader->row;
    for (int i = 0; i < reader->count; row += reader->fields[i++].whole)
        copy(values[i], row, reader->fields[i].whole);
    return true;
}

static void keep(const FlowReader *reader, int64_t record, void *const *values) {
    unsigned char nothing = KEPT_nothing;
    if (!atomic_compare_exchange_strong(&reader->states[record], &nothing, KEPT_writing)) return;
    char *row = reader->kept + (size_t)record * reader->row;
    for (int i = 0; i < reader->count; row += reader->fields[i++].whole)
        copy(row, values[i], reader->fields[i].whole);
    atomic_store_explicit(&reader->states[record], KEPT_values, memory_order_release);
}

static FlowStatus make_room(FlowReader *reader) {
    size_t size;
    for (int i = 0; i < reader->count; i++)
        if (reader->described[i].seer)
            return flow_ok; /* which sees each record when it is asked for */
    if (__builtin_mul_overflow(reader->row, (size_t)reader->records, &size) || size > KEPT_LIMIT)
        return flow_ok;
    reader->kept = held_resize(NULL, 0, size);
    reader->states = held_resize(NULL, 0, (size_t)reader->records * sizeof *reader->states);
    if (reader->states) memset(reader->states, 0, (size_t)reader->records * sizeof *reader->states);
    return reader->kept && reader->states ? flow_ok : no_memory(reader);
}

/* Files. */

static bool has_numbers(const FlowReader *reader) {
    bool has = false;
    for (int i = 0; i < reader->count; i++) has |= reader->described[i].numbers;
    return has;
}

static bool same_first_row(const CsvFile *a, const CsvFile *b) {
    size_t i = 0;
    const char *x = a->mapped.bytes + a->first_row, *y = b->mapped.bytes + b->first_row;
    while (x + i < a->end && y + i < b->end && x[i] == y[i] && x[i] != '\n') i++;
    return x + i < a->end && y + i < b->end && x[i] == y[i];
}

/* Columns of numbers are those of the first file. */
static FlowStatus find_columns(FlowReader *reader, Table *table) {
    const FlowSourceArguments *arguments = &reader->arguments;
    const CsvFile *first = &reader->tables[0].file;
    if (table == reader->tables || !has_numbers(reader))
        return csv_find_columns(&table->file, reader->described, reader->count, arguments,
                                &table->columns);
    if (table->file.cells != first->cells ||
        (arguments->header && !same_first_row(&table->file, first)))
        return flow_failure(FLOW_EXIT_data, "%s: has other columns than %s", table->file.path,
                            first->path);
    size_t size = (size_t)reader->tables[0].columns.count * sizeof(CsvWanted);
    table->columns = (CsvColumns){reader->tables[0].columns.count, malloc(size + 1)};
    if (!table->columns.wanted) return no_memory(reader);
    memcpy(table->columns.wanted, reader->tables[0].columns.wanted, size);
    return flow_ok;
}

/* False: no memory. */
static bool find_singles(Table *table) {
    const CsvColumns *columns = &table->columns;
    int64_t last = columns->count;
    if (last > CSV_SHORT_CELLS || table->file.cells > CSV_SHORT_CELLS) return true;
    table->wanted = malloc((size_t)last * sizeof *table->wanted + 1);
    if (!table->wanted) return false;
    for (int64_t i = 0; i < columns->count; i++) {
        const CsvWanted *wanted = &columns->wanted[i];
        bool single = wanted->element == FLOW_f32;
        table->wanted[single ? table->singles.count : --last] = *wanted;
        if (single) csv_add_number(&table->singles, (int)wanted->place);
    }
    table->tries_short = table->singles.count && csv_short_is_possible();
    return true;
}

static FlowStatus finish_table(FlowReader *reader, Table *table) {
    FlowStatus status = find_columns(reader, table);
    for (int64_t i = 0; reader->missing_first && i < table->columns.count; i++)
        table->columns.wanted[i].element = FLOW_bool;
    return status.exit || find_singles(table) ? status : no_memory(reader);
}

static FlowStatus open_table(FlowReader *reader, const char *path) {
    Table *table = &reader->tables[reader->table_count];
    char *own = strdup(path);
    FlowStatus status = own ? csv_file_open(own, &reader->form, &table->file) : no_memory(reader);
    if (status.exit) {
        free(own);
        return status;
    }
    reader->table_count++;
    status = csv_file_index(&table->file, reader->arguments.header);
    if (!status.exit) status = finish_table(reader, table);
    reader->records += table->file.records;
    return status;
}

static FlowStatus open_tables(FlowReader *reader, char *const *paths, size_t count) {
    FlowStatus status = flow_ok;
    reader->tables = calloc(count, sizeof *reader->tables);
    if (!reader->tables || !spans_new((int)count, &reader->spans)) return no_memory(reader);
    for (size_t i = 0; i < count && !status.exit; i++) {
        status = open_table(reader, paths[i]);
        reader->spans.firsts[i + 1] = reader->records;
    }
    return status.exit || spans_index(&reader->spans, (int)count) ? status : no_memory(reader);
}

/* A file of that very name, or those that match it. */
static FlowStatus find_tables(FlowReader *reader) {
    glob_t found;
    char *path = (char *)reader->described[0].path;
    if (!access(path, F_OK)) return open_tables(reader, &path, 1);
    int failed = glob(path, 0, NULL, &found);
    FlowStatus status = failed ? flow_failure(FLOW_EXIT_data, "%s: no such file", path)
                               : open_tables(reader, found.gl_pathv, found.gl_pathc);
    globfree(&found);
    return status;
}

/* The one table of a feed. */
static FlowStatus open_feed(FlowReader *reader) {
    Table *table = reader->tables = calloc(1, sizeof *reader->tables);
    if (!table) return no_memory(reader);
    reader->fed = (CsvFeed){.form = reader->form, .header = reader->arguments.header};
    FlowStatus status = csv_feed_open(&reader->fed, &reader->arguments.origin, &table->file);
    if (!table->file.end) return status;
    reader->table_count = 1;
    table->file.path = strdup(table->file.path);
    if (!status.exit && !table->file.path) status = no_memory(reader);
    return status.exit ? status : finish_table(reader, table);
}

static FlowStatus read_tables(FlowReader *reader) {
    if (path_is_standard_input(reader->described[0].path)) return open_feed(reader);
    FlowStatus status = find_tables(reader);
    if (status.exit) return status;
    if (!reader->records)
        return flow_failure(FLOW_EXIT_data, "%s: has no records", reader->described[0].path);
    return make_room(reader);
}

/* The source. */

static FlowStatus describe_fields(FlowReader *reader) {
    reader->fields = calloc((size_t)reader->count, sizeof *reader->fields);
    if (!reader->fields) return no_memory(reader);
    for (int i = 0; i < reader->count; i++) {
        const FlowField *described = &reader->described[i];
        Field *field = &reader->fields[i];
        field->element = described->type.element;
        field->size = flow_element_size(field->element);
        field->whole = flow_type_size(&described->type);
        reader->row += field->whole;
        field->texts = described->texts;
    }
    return flow_ok;
}

static bool has_number_among(const FlowSourceArguments *arguments) {
    bool has = false;
    for (int i = 0; i < arguments->missing_count; i++) {
        char text[DECIMAL_PADDING + NUMBER_SIZE] = "";
        double number;
        size_t size = strlen(arguments->missing[i]);
        if (size > NUMBER_SIZE) size = NUMBER_SIZE;
        memcpy(text, arguments->missing[i], size);
        has |= decimal_write(text, size, FLOW_f64, &number);
    }
    return has;
}

static void csv_close(FlowReader *reader) {
    csv_feed_close(&reader->fed);
    for (int i = 0; i < reader->table_count; i++) {
        free(reader->tables[i].columns.wanted);
        free(reader->tables[i].wanted);
        char *path = (char *)reader->tables[i].file.path;
        csv_file_close(&reader->tables[i].file);
        free(path);
    }
    spans_close(&reader->spans);
    free(reader->fields);
    free(reader->tables);
    free(reader->kept);
    free(reader->states);
    free(reader);
}

static FlowStatus csv_open(const FlowField *fields, int count, const FlowSourceArguments *arguments,
                           FlowReader **out) {
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader)
        return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", fields[0].path);
    reader->described = fields;
    reader->arguments = *arguments;
    reader->count = count;
    reader->form = (CsvForm){arguments->separator ? arguments->separator : ',', arguments->comment};
    reader->missing_first = has_number_among(arguments);
    FlowStatus status = describe_fields(reader);
    if (!status.exit) status = read_tables(reader);
    if (!status.exit) return status;
    csv_close(reader);
    *out = NULL;
    return status;
}

static int64_t csv_records(const FlowReader *reader) {
    return reader->records;
}

static bool csv_make(const FlowReader *reader, int64_t record, void *const *values,
                     FlowStatus *failure) {
    Wrong wrong;
    Parser parser;
    if (reader->kept && take_kept(reader, record, values)) return true;
    Place place = find_record(reader, record);
    parser.reader = reader;
    parser.table = place.table;
    parser.values = values;
    parser.wrong = failure ? &wrong : NULL;
    if (parse(&parser, place.record)) {
        if (reader->kept) keep(reader, record, values);
        return true;
    }
    if (failure) explain(reader, place, parser.column, &wrong, failure);
    return false;
}

static Feed *csv_feed(const FlowReader *reader) {
    return reader->fed.feed;
}

static void csv_locate(const FlowReader *reader, int64_t record, char *text, size_t size) {
    Place place = find_record(reader, record);
    snprintf(text, size, "%s: line %lld", place.table->file.path, line_of(reader, place));
}

/* Kept values are few, so they are at hand. */
static void csv_prefetch(const FlowReader *reader, int64_t record) {
    if (reader->kept || reader->fed.feed) return;
    Place place = find_record(reader, record);
    const char *text = csv_file_record(&place.table->file, place.record);
    for (int i = 0; i < PREFETCHED; i++) __builtin_prefetch(text + i * LINE);
}

const FlowSource flow_source_csv = {
    .name = "csv",
    .open = csv_open,
    .records = csv_records,
    .feed = csv_feed,
    .make = csv_make,
    .prefetch = csv_prefetch,
    .locate = csv_locate,
    .close = csv_close,
    .finds_many = true,
};
