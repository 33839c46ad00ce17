/* CSV. */
#include "runtime/format/csv.h"

#include <string.h>

Csv csv_new(char *text, size_t size) {
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some programs write it */
    Csv csv = {.at = text, .end = text + size, .line = 1};
    if (size >= 3 && !memcmp(text, mark, 3)) csv.at += 3;
    return csv;
}

/* The length of the line end at that place; 0: there is none. */
static size_t line_end(const Csv *csv, const char *at) {
    if (at < csv->end && *at == '\n') return 1;
    return csv->end - at >= 2 && at[0] == '\r' && at[1] == '\n' ? 2 : 0;
}

bool csv_row(Csv *csv) {
    for (size_t length; (length = line_end(csv, csv->at)); csv->line++) csv->at += length;
    return csv->at < csv->end;
}

/* Goes past what follows a cell. */
static bool finish_cell(Csv *csv, Cell *cell) {
    size_t length = line_end(csv, csv->at);
    cell->last = length || csv->at == csv->end;
    if (length) csv->line++;
    if (cell->last) csv->at += length;
    else if (*csv->at == ',') csv->at++;
    else csv->error = "something stands between a closing quote and the comma";
    return !csv->error;
}

static bool plain_cell(Csv *csv, Cell *cell) {
    cell->text = csv->at;
    while (csv->at < csv->end && *csv->at != ',' && !line_end(csv, csv->at)) csv->at++;
    cell->size = (size_t)(csv->at - cell->text);
    return finish_cell(csv, cell);
}

static bool quoted_cell(Csv *csv, Cell *cell) {
    cell->text = ++csv->at;
    for (; csv->at < csv->end; csv->at++) {
        if (*csv->at == '\n') csv->line++;
        bool doubled = *csv->at == '"' && csv->at + 1 < csv->end && csv->at[1] == '"';
        if (*csv->at == '"' && !doubled) break;
        cell->doubled |= doubled;
        csv->at += doubled;
    }
    cell->size = (size_t)(csv->at - cell->text);
    if (csv->at == csv->end) {
        csv->error = "a quote is not closed";
        return false;
    }
    csv->at++;
    return finish_cell(csv, cell);
}

bool csv_cell(Csv *csv, Cell *cell) {
    cell->doubled = false;
    return csv->at < csv->end && *csv->at == '"' ? quoted_cell(csv, cell) : plain_cell(csv, cell);
}

void csv_decode(Cell *cell) {
    char *out = cell->text;
    for (size_t i = 0; cell->doubled && i < cell->size; i++) {
        *out++ = cell->text[i];
        i += cell->text[i] == '"';
    }
    if (cell->doubled) cell->size = (size_t)(out - cell->text);
    cell->doubled = false;
}
