/* CSV columns: a field is a column that is named, so many columns side by side from one on, or all
 * that hold numbers. What holds numbers is seen from the first records. */
#include "runtime/source/csv_columns.h"

#include "runtime/format/decimal.h"
#include "runtime/nearest.h"
#include "runtime/vocabulary.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN = 80,    /* bytes of a name in a message */
    SAMPLE = 1000, /* records that are asked what a column holds */
};

/* What is known while columns are looked for. */
typedef struct Search {
    const CsvFile *file;
    const FlowSourceArguments *arguments;
    CsvCell *names; /* of all columns; NULL: there is no header */
    CsvColumns *columns;
} Search;

static FlowStatus no_memory(const CsvFile *file) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", file->path);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

CsvCell csv_trim(CsvCell cell) {
    while (cell.size && is_blank(*cell.text)) cell.text++, cell.size--;
    while (cell.size && is_blank(cell.text[cell.size - 1])) cell.size--;
    return cell;
}

bool csv_is_missing(const FlowSourceArguments *arguments, CsvCell cell) {
    cell = csv_trim(cell);
    for (int i = 0; i < arguments->missing_count; i++)
        if (csv_cell_is(&cell, arguments->missing[i])) return true;
    return !cell.size;
}

/* Names. */

/* Calls `visit` with each cell of the row. NULL, or what is wrong with one. */
static const char *each_cell(const CsvFile *file, const char *row,
                             void (*visit)(void *argument, int64_t place, CsvCell cell),
                             void *argument) {
    CsvRow cells;
    CsvCell cell;
    const char *wrong = NULL;
    csv_open_row(&cells, &file->form, row, file->end);
    for (;; csv_next_cells(&cells)) {
        for (int i = 0; i < cells.count && !wrong; i++) {
            wrong = csv_cell(&cells, i, &cell);
            if (!wrong && cells.first + i < file->cells) visit(argument, cells.first + i, cell);
        }
        if (cells.last || wrong) return wrong;
    }
}

static void note_name(void *names, int64_t place, CsvCell cell) {
    ((CsvCell *)names)[place] = cell;
}

static FlowStatus read_names(Search *search) {
    const CsvFile *file = search->file;
    search->names = calloc((size_t)file->cells, sizeof *search->names);
    if (!search->names) return no_memory(file);
    const char *wrong =
        each_cell(file, file->mapped.bytes + file->first_row, note_name, search->names);
    if (!wrong) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: in its first line %s", file->path, wrong);
}

CsvName csv_shown(const CsvCell *cell) {
    CsvName name;
    size_t size = csv_copy(cell, name.text, SHOWN);
    for (size_t i = 0; i < size; i++)
        if (!name.text[i]) name.text[i] = '?';
    strcpy(name.text + size, size == SHOWN ? "…" : "");
    return name;
}

static void note_one(void *argument, int64_t place, CsvCell cell) {
    struct {
        int64_t place;
        CsvName name;
    } *wanted = argument;
    if (place == wanted->place) wanted->name = csv_shown(&cell);
}

CsvName csv_column_name(const CsvFile *file, bool header, int64_t place) {
    struct {
        int64_t place;
        CsvName name;
    } wanted = {.place = place};
    snprintf(wanted.name.text, sizeof wanted.name.text, "%lld", (long long)place);
    if (header) each_cell(file, file->mapped.bytes + file->first_row, note_one, &wanted);
    return wanted.name;
}

/* "a, b, c, …" */
static void list_names(const Search *search, const CsvWanted *wanted, int64_t count, char *text,
                       size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (int64_t i = 0; i < count && used < size; i++) {
        int64_t place = wanted ? wanted[i].place : i;
        CsvName name;
        snprintf(name.text, sizeof name.text, "%lld", (long long)place);
        if (search->names) name = csv_shown(&search->names[place]);
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", name.text);
    }
    if (used >= size) memcpy(text + size - sizeof "…", "…", sizeof "…");
}

static FlowStatus no_column(const Search *search, const char *wanted) {
    const CsvCell *best = NULL;
    char list[4 * SHOWN];
    const char *path = search->file->path;
    int least = name_distance_limit(strlen(wanted));
    for (int64_t i = 0; i < search->file->cells; i++) {
        int edits = name_distance(wanted, search->names[i].text, search->names[i].size);
        if (edits >= least) continue;
        least = edits;
        best = &search->names[i];
    }
    if (best)
        return flow_failure(FLOW_EXIT_data, "%s: has no column `%s`; did you mean `%s`?", path,
                            wanted, csv_shown(best).text);
    list_names(search, NULL, search->file->cells, list, sizeof list);
    return flow_failure(FLOW_EXIT_data, "%s: has no column `%s`; its columns are %s", path, wanted,
                        list);
}

/* The first column of that name from `place` on, or as many as there are. */
static int64_t next_column(const Search *search, const char *name, int64_t place) {
    while (place < search->file->cells && !csv_cell_is(&search->names[place], name)) place++;
    return place;
}

static FlowStatus find_named(const Search *search, const char *name, int64_t *place) {
    const int64_t cells = search->file->cells;
    *place = next_column(search, name, 0);
    if (*place == cells) return no_column(search, name);
    const int64_t other = next_column(search, name, *place + 1);
    if (other == cells) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: its columns %lld and %lld are both called `%s`",
                        search->file->path, (long long)*place + 1, (long long)other + 1, name);
}

/* The place of the column of that name; without a header its name is the place. */
static FlowStatus find_place(const Search *search, const char *name, int64_t *place) {
    int64_t cells = search->file->cells;
    char *end;
    if (search->names) return find_named(search, name, place);
    *place = strtoll(name, &end, 10);
    if (isdigit((unsigned char)*name) && !*end && *place < cells) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: has no column %s: it has %lld, counted from 0",
                        search->file->path, name, (long long)cells);
}

/* Columns of numbers. */

/* What the records that were looked at have in a column. */
typedef enum Kind { KIND_unknown, KIND_numbers, KIND_texts } Kind;

typedef struct Sample {
    const Search *search;
    uint8_t *kinds; /* one a column */
} Sample;

static void note_kind(void *argument, int64_t place, CsvCell cell) {
    const Sample *sample = argument;
    double number;
    uint8_t *kind = &sample->kinds[place];
    cell = csv_trim(cell);
    if (*kind == KIND_texts || csv_is_missing(sample->search->arguments, cell)) return;
    *kind = decimal_write(cell.text, cell.size, FLOW_f64, &number) ? KIND_numbers : KIND_texts;
}

/* One kind a column; the caller frees them. NULL: no memory. Rows that are broken say nothing. */
static uint8_t *find_kinds(const Search *search) {
    const CsvFile *file = search->file;
    Sample sample = {search, calloc((size_t)file->cells, 1)};
    for (int64_t i = 0; sample.kinds && i < file->records && i < SAMPLE; i++)
        each_cell(file, csv_file_record(file, i), note_kind, &sample);
    return sample.kinds;
}

static FlowStatus leave_out(const Search *search, const FlowField *field, uint8_t *kinds) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < field->except_count && !status.exit; i++) {
        int64_t place;
        status = find_place(search, field->except[i], &place);
        if (!status.exit) kinds[place] = KIND_texts;
    }
    return status;
}

static FlowStatus other_number(const Search *search, const CsvWanted *wanted, int64_t found,
                               int64_t expected) {
    char list[4 * SHOWN];
    list_names(search, wanted, found < expected ? found : expected, list, sizeof list);
    return flow_failure(FLOW_EXIT_data,
                        "%s: %lld columns hold numbers, the program expects %lld: %s%s",
                        search->file->path, (long long)found, (long long)expected, list,
                        found > expected ? ", …" : "");
}

/* Fields. */

static int64_t columns_of(const FlowField *field) {
    return field->type.rank && !field->reads ? field->type.sizes[0] : 1;
}

/* The column is value `index` of the field. */
static void want(const Search *search, int64_t place, const FlowField *field, int number,
                 int64_t index) {
    FlowElement element = field->type.element;
    search->columns->wanted[search->columns->count++] =
        (CsvWanted){.place = place,
                    .field = number,
                    .element = field->texts || field->reads ? FLOW_bool : element,
                    .offset = (size_t)index * flow_element_size(element)};
}

static FlowStatus want_numbers(const Search *search, const FlowField *field, int number) {
    uint8_t *kinds = find_kinds(search);
    int64_t found = 0, expected = field->type.sizes[0], before = search->columns->count;
    FlowStatus status = kinds ? leave_out(search, field, kinds) : no_memory(search->file);
    for (int64_t i = 0; !status.exit && i < search->file->cells; i++) {
        if (kinds[i] != KIND_numbers) continue;
        if (found < expected) want(search, i, field, number, found);
        found++;
    }
    free(kinds);
    if (status.exit || found == expected) return status;
    return other_number(search, search->columns->wanted + before, found, expected);
}

static FlowStatus want_columns(const Search *search, const FlowField *field, int number) {
    int64_t place, count = columns_of(field);
    FlowStatus status = find_place(search, field->name, &place);
    if (status.exit) return status;
    if (place > search->file->cells - count)
        return flow_failure(FLOW_EXIT_data,
                            "%s: %lld columns begin with `%s`, the program expects %lld",
                            search->file->path, (long long)(search->file->cells - place),
                            field->name, (long long)count);
    for (int64_t i = 0; i < count; i++) want(search, place + i, field, number, i);
    return flow_ok;
}

static int by_place(const void *a, const void *b) {
    int64_t x = ((const CsvWanted *)a)->place, y = ((const CsvWanted *)b)->place;
    return (x > y) - (x < y);
}

/* NULL: no memory, or more than the file has. */
static CsvWanted *room_for(const CsvFile *file, const FlowField *fields, int count) {
    size_t room = 1;
    for (int i = 0; i < count; i++) {
        int64_t columns = columns_of(&fields[i]);
        room += (size_t)(columns < file->cells ? columns : file->cells);
    }
    return calloc(room, sizeof(CsvWanted));
}

FlowStatus csv_find_columns(const CsvFile *file, const FlowField *fields, int count,
                            const FlowSourceArguments *arguments, CsvColumns *columns) {
    Search search = {file, arguments, NULL, columns};
    *columns = (CsvColumns){0, room_for(file, fields, count)};
    FlowStatus status = columns->wanted ? flow_ok : no_memory(file);
    if (!status.exit && arguments->header) status = read_names(&search);
    for (int i = 0; i < count && !status.exit; i++)
        status = fields[i].numbers ? want_numbers(&search, &fields[i], i)
                                   : want_columns(&search, &fields[i], i);
    if (!status.exit)
        qsort(columns->wanted, (size_t)columns->count, sizeof *columns->wanted, by_place);
    free(search.names);
    return status;
}
