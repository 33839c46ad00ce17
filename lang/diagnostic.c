/* Diagnostic: collecting errors and printing them with the lines they speak of. */
#include "lang/diagnostic.h"

#include <stdlib.h>

enum { WIDTH_LIMIT = 160, WINDOW_LEAD = 60 }; /* columns of a shown line, and before its carets */

static const char *const titles[] = {
#define ERROR(code, title) [code] = title,
#include "lang/errors.def"
#undef ERROR
};

static const char *const names[] = {
#define ERROR(code, title) [code] = #code,
#include "lang/errors.def"
#undef ERROR
};

const char *error_title(ErrorCode code) {
    return titles[code];
}

const char *error_name(ErrorCode code) {
    return names[code];
}

Diagnostics *diagnostics_new(Arena *arena) {
    Diagnostics *diagnostics = arena_new_item(arena, Diagnostics);
    diagnostics->arena = arena;
    return diagnostics;
}

static bool same_range(Range a, Range b) {
    return a.source == b.source && a.begin == b.begin && a.end == b.end;
}

/* Errors without a place have only their words to tell them apart. */
static bool same_error(const Diagnostic *a, const Diagnostic *b) {
    return a->code == b->code && same_range(a->range, b->range) &&
           (a->range.source || !strcmp(a->text, b->text));
}

static bool is_listed(const Diagnostics *diagnostics, const Diagnostic *diagnostic) {
    vector_each(Diagnostic *, other, diagnostics->list)
        if (same_error(*other, diagnostic)) return true;
    return false;
}

Diagnostic *diagnostic_add(Diagnostics *diagnostics, ErrorCode code, Range range,
                           const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Diagnostic *diagnostic = arena_new_item(diagnostics->arena, Diagnostic);
    diagnostic->arena = diagnostics->arena;
    diagnostic->code = code;
    diagnostic->range = range;
    diagnostic->text = arena_format_list(diagnostics->arena, format, arguments);
    va_end(arguments);
    if (diagnostics->list.count == DIAGNOSTIC_STORE) diagnostics->unlisted++;
    else if (!is_listed(diagnostics, diagnostic))
        vector_push(diagnostics->arena, &diagnostics->list, diagnostic);
    return diagnostic;
}

void diagnostic_note(Diagnostic *diagnostic, Range range, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Note note = {range, arena_format_list(diagnostic->arena, format, arguments)};
    va_end(arguments);
    vector_push(diagnostic->arena, &diagnostic->notes, note);
}

void diagnostic_help(Diagnostic *diagnostic, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    diagnostic->help = arena_format_list(diagnostic->arena, format, arguments);
    va_end(arguments);
}

typedef struct Printer {
    FILE *file;
    const char *error, *gutter, *bold, *plain; /* terminal escapes, or "" */
} Printer;

/* Control characters, and those that reorder the text around them, must not reach a terminal. */
static bool is_printable(const unsigned char *text, uint32_t length) {
    if (length == 1) return *text >= 0x20 && *text != 0x7F;
    if (length == 2) return !(text[0] == 0xC2 && text[1] < 0xA0);
    if (length != 3 || text[0] != 0xE2) return length != 0;
    bool embeds = text[1] == 0x80 && text[2] >= 0xAA && text[2] <= 0xAE;
    bool isolates = text[1] == 0x81 && text[2] >= 0xA6 && text[2] <= 0xA9;
    return !embeds && !isolates;
}

/* Prints one column and gives its length in bytes: a code point with what continues it. */
static uint32_t print_column(FILE *file, const char *text, uint32_t size) {
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t length = code_point_length(text, size);
    if (*bytes == '\t') fputc(' ', file);
    else if (is_printable(bytes, length)) fwrite(text, 1, length, file);
    else fputc('?', file);
    if (!length) length = 1;
    while (length < size && (bytes[length] & 0xC0) == 0x80) length++;
    return length;
}

typedef struct Line {
    const char *text;
    uint32_t begin, end;           /* offsets in the source, without the line's end */
    uint32_t columns;              /* all of them */
    uint32_t number;               /* from 1 */
    uint32_t first_mark, end_mark; /* columns of the carets, from 0 */
} Line;

static Line find_line(Range range) {
    const Source *source = range.source;
    Position position = source_position(source, range.begin);
    uint32_t index = position.line - 1, begin = source->lines[index];
    uint32_t end = position.line < source->line_count ? source->lines[index + 1] - 1 : source->size;
    if (end > begin && source->text[end - 1] == '\r') end--;
    uint32_t marked = range.end < end ? range.end : end;
    Line line = {source->text,
                 begin,
                 end,
                 source_position(source, end).column - 1,
                 position.line,
                 position.column - 1,
                 source_position(source, marked).column - 1};
    if (line.end_mark <= line.first_mark) line.end_mark = line.first_mark + 1;
    return line;
}

/* The columns [first, last) of the line, with … where something was left out. */
static void print_columns(FILE *file, const Line *line, uint32_t first, uint32_t last) {
    if (first) fputs("…", file);
    uint32_t column = 0;
    for (uint32_t at = line->begin; at < line->end && column < last; column++) {
        const unsigned char *bytes = (const unsigned char *)line->text + at;
        uint32_t length = 1;
        if (column >= first) length = print_column(file, line->text + at, line->end - at);
        else
            while (at + length < line->end && (bytes[length] & 0xC0) == 0x80) length++;
        at += length;
    }
    fputs(last < line->columns ? "…\n" : "\n", file);
}

static void print_carets(const Printer *printer, uint32_t before, uint32_t count) {
    fprintf(printer->file, "%s      |%s ", printer->gutter, printer->plain);
    for (uint32_t i = 0; i < before; i++) fputc(' ', printer->file);
    fputs(printer->error, printer->file);
    for (uint32_t i = 0; i < count; i++) fputc('^', printer->file);
    fprintf(printer->file, "%s\n", printer->plain);
}

static void print_place(const Printer *printer, Range range) {
    Line line = find_line(range);
    fprintf(printer->file, "%s  -->%s %s:%u:%u\n", printer->gutter, printer->plain,
            range.source->path, line.number, line.first_mark + 1);
    uint32_t first = 0, last = line.columns;
    if (line.columns > WIDTH_LIMIT) {
        if (line.first_mark > WINDOW_LEAD) first = line.first_mark - WINDOW_LEAD;
        if (last - first > WIDTH_LIMIT) last = first + WIDTH_LIMIT;
    }
    fprintf(printer->file, "%s%5u |%s ", printer->gutter, line.number, printer->plain);
    print_columns(printer->file, &line, first, last);
    uint32_t end = line.end_mark > last && last > line.first_mark ? last : line.end_mark;
    print_carets(printer, line.first_mark - first + (first > 0), end - line.first_mark);
}

static void print_diagnostic(const Printer *printer, const Diagnostic *diagnostic) {
    const char *colon = *diagnostic->text ? ": " : "";
    fprintf(printer->file, "%serror[%s]%s%s: %s%s%s%s\n", printer->error,
            error_name(diagnostic->code), printer->plain, printer->bold,
            error_title(diagnostic->code), colon, diagnostic->text, printer->plain);
    if (diagnostic->range.source) print_place(printer, diagnostic->range);
    vector_each(const Note, note, diagnostic->notes) {
        fprintf(printer->file, "  %snote:%s %s\n", printer->bold, printer->plain, note->text);
        if (note->range.source) print_place(printer, note->range);
    }
    if (diagnostic->help)
        fprintf(printer->file, "  %shelp:%s %s\n", printer->bold, printer->plain, diagnostic->help);
    fputc('\n', printer->file);
}

typedef struct Entry {
    const Diagnostic *diagnostic;
    size_t source, index; /* when its source, and itself, was first spoken of */
} Entry;

static size_t first_of_source(const Diagnostics *diagnostics, const Source *source) {
    size_t i = 0;
    while (diagnostics->list.items[i]->range.source != source) i++;
    return i;
}

static int compare_entries(const void *a, const void *b) {
    const Entry *first = a, *second = b;
    if (first->source != second->source) return first->source < second->source ? -1 : 1;
    uint32_t begin = first->diagnostic->range.begin, other = second->diagnostic->range.begin;
    if (begin != other) return begin < other ? -1 : 1;
    return first->index < second->index ? -1 : first->index > second->index;
}

static Entry *sort_by_place(const Diagnostics *diagnostics) {
    size_t count = diagnostics->list.count;
    Entry *entries = arena_new_array(diagnostics->arena, Entry, count);
    for (size_t i = 0; i < count; i++) {
        const Diagnostic *diagnostic = diagnostics->list.items[i];
        entries[i] = (Entry){diagnostic, first_of_source(diagnostics, diagnostic->range.source), i};
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    return entries;
}

void diagnostics_print(const Diagnostics *diagnostics, FILE *file, bool color) {
    Printer printer = color ? (Printer){file, "\033[1;31m", "\033[34m", "\033[1m", "\033[0m"}
                            : (Printer){file, "", "", "", ""};
    size_t listed = diagnostics->list.count, count = listed + diagnostics->unlisted;
    if (!count) return;
    Entry *entries = sort_by_place(diagnostics);
    size_t shown = listed < DIAGNOSTIC_LIMIT ? listed : DIAGNOSTIC_LIMIT;
    for (size_t i = 0; i < shown; i++) print_diagnostic(&printer, entries[i].diagnostic);
    if (count > shown) fprintf(file, "%zu more\n", count - shown);
    fprintf(file, count == 1 ? "%zu error\n" : "%zu errors\n", count);
}

void diagnostics_print_json(const Diagnostics *diagnostics, FILE *file) {
    size_t count = diagnostics->list.count;
    const Entry *entries = count ? sort_by_place(diagnostics) : NULL;
    for (size_t i = 0; i < count; i++) diagnostic_print_json(entries[i].diagnostic, file);
}

enum { NEAREST_LENGTH = 63 }; /* longer names get no suggestions */

static unsigned smallest(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits that turn a into b: insert, delete, replace, swap two neighbours (Damerau-Levenshtein,
 * optimal string alignment). */
static unsigned edit_distance(const char *a, size_t m, const char *b, size_t n) {
    unsigned rows[3][NEAREST_LENGTH + 1] = {{0}};
    for (unsigned j = 0; j <= n; j++) rows[0][j] = j;
    for (unsigned i = 1; i <= m; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = smallest(row[j], second[j - 2] + 1, row[j]);
        }
    }
    return rows[m % 3][n];
}

const char *nearest_name(const char *name, const char *const *candidates, size_t count) {
    size_t length = strlen(name);
    if (length > NEAREST_LENGTH) return NULL;
    unsigned limit = length < 3 ? 1 : (unsigned)(length + 2) / 3;
    unsigned best = (unsigned)length < limit + 1 ? (unsigned)length : limit + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = candidates[i] ? strlen(candidates[i]) : NEAREST_LENGTH + 1;
        if (other > NEAREST_LENGTH) continue;
        unsigned distance = edit_distance(name, length, candidates[i], other);
        if (distance < best) best = distance, nearest = candidates[i];
    }
    return nearest;
}
