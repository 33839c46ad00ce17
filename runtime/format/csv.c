/* CSV: separators, line ends and quotes are found in 64 bytes at a time. Which bytes are in quotes
 * is the parity of the quotes before them, as long as each that opens stands where a cell begins;
 * where one does not, the row is read cell by cell. */
#include "runtime/format/csv.h"

#include "runtime/format/block.h"

/* A block of a table. */
typedef struct Marks {
    uint64_t separators, lines, quotes;
} Marks;

/* One character after the other. */

/* The end of the line or of the text. */
static const char *line_end(const char *at, const char *end) {
    const char *found = memchr(at, '\n', (size_t)(end - at));
    return found ? found : end;
}

/* The quote that closes the cell at `at`, or NULL. */
static const char *closing_quote(const char *at, const char *end) {
    for (at++; at < end; at += 2) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at || at + 1 == end || at[1] != '"') return at;
    }
    return NULL;
}

/* What ends the cell: a separator, a line end, or the text's end. */
static const char *cell_end(const CsvForm *form, const char *at, const char *end) {
    if (at < end && *at == '"') {
        const char *closing = closing_quote(at, end);
        at = closing ? closing + 1 : end;
    }
    while (at < end && *at != form->separator && *at != '\n') at++;
    return at;
}

static const char *row_end(const CsvForm *form, const char *at, const char *end) {
    for (;; at++) {
        at = cell_end(form, at, end);
        if (at >= end || *at == '\n') return at;
    }
}

/* Quotes. */

/* Which bytes are in a quoted cell, its first quote included. *good is false when a quote opens
 * where no cell begins; before: a cell begins with the block. */
INLINED uint64_t find_quoted(const Marks *marks, uint64_t quoted, bool before, bool *good) {
    uint64_t inside = block_parity(marks->quotes) ^ quoted;
    uint64_t opening = marks->quotes & inside;
    uint64_t allowed = (marks->separators | marks->lines | marks->quotes) << 1 | before;
    *good = !(opening & ~allowed);
    return inside;
}

/* Rows. */

typedef struct RowSearch {
    const CsvForm *form;
    const char *text;
    size_t size, row; /* row: where one begins, that is not noted yet */
    size_t *rows;
    int64_t count;
} RowSearch;

INLINED bool is_blank(const RowSearch *search) {
    const char *row = search->text + search->row;
    return *row == '\n' || (*row == '\r' && row[1] == '\n');
}

/* Notes the row unless it is an empty line; the next one begins there. */
INLINED void note_row(RowSearch *search, size_t next) {
    search->rows[search->count] = search->row;
    search->count += !is_blank(search);
    search->row = next;
}

/* Goes past lines that are comments. Are there any? */
static bool skip_comments(RowSearch *search) {
    const char *start = search->text + search->row, *end = search->text + search->size;
    const char *at = start;
    while (search->form->comment && at < end && *at == search->form->comment) {
        at = line_end(at, end);
        at += at < end;
    }
    search->row = (size_t)(at - search->text);
    return at > start;
}

/* The rows that end in the block at `at`. True: the search begins anew at the last of them. */
INLINED bool note_lines(RowSearch *search, size_t at, uint64_t lines) {
    while (lines) {
        note_row(search, at + (size_t)__builtin_ctzll(lines) + 1);
        if (search->form->comment && skip_comments(search)) return true;
        lines &= lines - 1;
    }
    return false;
}

/* The row whose quotes can't be counted. */
static void note_odd_row(RowSearch *search) {
    const char *end = search->text + search->size;
    const char *at = row_end(search->form, search->text + search->row, end);
    note_row(search, (size_t)(at - search->text) + (at < end));
}

FOR_NEWER_PROCESSORS static void search_rows(RowSearch *search, int64_t most) {
    size_t at = search->row;
    uint64_t quoted = 0;
    for (; at < search->size && search->count <= most; at += BLOCK_SIZE) {
        const char *block = search->text + at;
        Marks marks = {0, block_find(block, '\n'), block_find(block, '"')};
        if (marks.quotes | quoted) {
            bool good, begins = at == search->row || block[-1] == '"' ||
                                block[-1] == search->form->separator;
            marks.separators = block_find(block, search->form->separator);
            uint64_t inside = find_quoted(&marks, quoted, begins, &good);
            if (!good) break;
            marks.lines &= ~inside;
            quoted = -(inside >> (BLOCK_SIZE - 1));
        }
        marks.lines &= block_first(search->size - at);
        if (note_lines(search, at, marks.lines)) return;
    }
    if (at >= search->size && search->row < search->size) note_row(search, search->size);
    else if (at < search->size && search->count <= most) note_odd_row(search);
}

int64_t csv_rows(const CsvForm *form, const char *text, size_t size, size_t *at, size_t *rows,
                 int64_t capacity) {
    RowSearch search = {form, text, size, *at, rows, 0};
    while (search.row < size && search.count + BLOCK_SIZE < capacity)
        if (!skip_comments(&search)) search_rows(&search, capacity - BLOCK_SIZE - 1);
    *at = search.row;
    return search.count;
}

size_t csv_start(const CsvForm *form, const char *text, size_t size) {
    static const char mark[] = "\xef\xbb\xbf";
    size_t start = size >= 3 && !memcmp(text, mark, 3) ? 3 : 0;
    RowSearch search = {form, text, size, start, NULL, 0};
    while (search.row < size) {
        if (is_blank(&search)) search.row += text[search.row] == '\n' ? 1 : 2;
        else if (!skip_comments(&search)) break;
    }
    return search.row;
}

/* Cells. */

INLINED void add_end(CsvRow *row, const char *end) {
    row->begins[++row->count] = end + 1;
}

/* Eight at a time, some too many: that costs less than a wrong guess of their number. */
INLINED void add_ends(CsvRow *row, uint64_t found) {
    const uint64_t highest = (uint64_t)1 << (BLOCK_SIZE - 1);
    const char *next = row->at + 1, **begins = row->begins + row->count + 1;
    row->count += __builtin_popcountll(found);
    for (; found; begins += 8)
        for (int i = 0; i < 8; i++, found &= found - 1)
            begins[i] = next + __builtin_ctzll(found | highest);
}

static void add_cells(CsvRow *row) {
    while (row->count < CSV_CELLS && !row->last) {
        const char *end = cell_end(&row->form, row->at, row->end);
        add_end(row, end);
        row->last = end == row->end || *end == '\n';
        row->at = end + !row->last;
    }
}

INLINED bool add_block(CsvRow *row) {
    size_t left = (size_t)(row->end - row->at);
    uint64_t inside = 0;
    Marks marks = {block_find(row->at, row->form.separator), block_find(row->at, '\n'),
                   block_find(row->at, '"')};
    if (marks.quotes | row->quoted) {
        bool good, begins = row->at == row->begins[row->count] || row->at[-1] == '"';
        inside = find_quoted(&marks, row->quoted, begins, &good);
        if (!good) return false;
        row->quoted = -(inside >> (BLOCK_SIZE - 1));
    }
    uint64_t all = ~inside & block_first(left), lines = marks.lines & all;
    uint64_t found = (marks.separators & all) | lines;
    row->last = lines || left <= BLOCK_SIZE;
    add_ends(row, lines ? found & (lines ^ (lines - 1)) : found);
    if (!lines && row->last) add_end(row, row->end);
    row->at += BLOCK_SIZE;
    return true;
}

FOR_NEWER_PROCESSORS static void find_cells(CsvRow *row) {
    while (row->count < CSV_CELLS && !row->last && !row->by_cell) {
        row->by_cell = !add_block(row);
        if (row->by_cell) row->at = row->begins[row->count];
    }
    if (row->by_cell) add_cells(row);
}

void csv_open_row(CsvRow *row, const CsvForm *form, const char *text, const char *end) {
    row->form = *form;
    row->at = row->begins[0] = text;
    row->end = end;
    row->first = row->count = 0;
    row->last = row->by_cell = false;
    row->quoted = 0;
    find_cells(row);
}

void csv_next_cells(CsvRow *row) {
    row->begins[0] = row->begins[row->count];
    row->first += row->count;
    row->count = 0;
    find_cells(row);
}

int64_t csv_count_cells(CsvRow *row) {
    while (!row->last) csv_next_cells(row);
    return row->first + row->count;
}

static const char *unquote(const char *begin, const char *end, CsvCell *cell) {
    const char *closing = closing_quote(begin, end);
    if (!closing) return "has a quote that is not closed";
    if (closing + 1 != end) return "has something between its closing quote and the separator";
    *cell = (CsvCell){begin + 1, (size_t)(closing - begin) - 1, false};
    cell->doubled = memchr(cell->text, '"', cell->size) != NULL;
    return NULL;
}

const char *csv_cell(const CsvRow *row, int index, CsvCell *cell) {
    const char *begin = row->begins[index], *end = csv_cell_end(row, index);
    if (end > begin && end[-1] == '\r' && end < row->end && *end == '\n') end--;
    *cell = (CsvCell){begin, (size_t)(end - begin), false};
    return begin < end && *begin == '"' ? unquote(begin, end, cell) : NULL;
}

size_t csv_copy(const CsvCell *cell, char *text, size_t room) {
    size_t length = 0;
    for (size_t i = 0; i < cell->size && length < room; i++) {
        text[length++] = cell->text[i];
        i += cell->doubled && cell->text[i] == '"';
    }
    return length;
}

size_t csv_cell_copy(const CsvCell *cell, char *text) {
    size_t size = 0;
    for (size_t i = 0; i < cell->size; i++) {
        text[size++] = cell->text[i];
        i += cell->doubled && cell->text[i] == '"';
    }
    return size;
}

bool csv_cell_is(const CsvCell *cell, const char *text) {
    size_t at = 0;
    for (size_t i = 0; i < cell->size; i++, at++) {
        if (!text[at] || cell->text[i] != text[at]) return false;
        i += cell->doubled && cell->text[i] == '"';
    }
    return !text[at];
}
