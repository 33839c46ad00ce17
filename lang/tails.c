/* Tails. */
#include "lang/tails.h"

typedef struct Tail {
    size_t line, comment, end; /* offsets in the text */
    uint32_t indent, column, width;
} Tail;
typedef Vector(Tail) Tails;

static Tail find_tail(const Text *text, size_t comment) {
    Tail tail = {.line = comment, .comment = comment};
    while (tail.line && text->bytes[tail.line - 1] != '\n') tail.line--;
    while (text->bytes[tail.line + tail.indent] == ' ') tail.indent++;
    const char *end = memchr(text->bytes + comment, '\n', text->size - comment);
    tail.end = end ? (size_t)(end - text->bytes) : text->size;
    tail.column = text_columns(text->bytes + tail.line, comment - tail.line);
    tail.width = text_columns(text->bytes + comment, tail.end - comment);
    return tail;
}

static bool continues(const Tail *tail, const Tail *next) {
    return next->line == tail->end + 1 && next->indent == tail->indent;
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* Behind the last of the run that begins at first; *column is where its comments go. */
static size_t find_run(const Tails *tails, size_t first, uint32_t *column) {
    uint32_t width = *column = 0;
    size_t next = first;
    do {
        *column = larger(*column, tails->items[next].column);
        width = larger(width, tails->items[next].width);
        next++;
    } while (next < tails->count && continues(&tails->items[next - 1], &tails->items[next]));
    if (*column + width > PARAGRAPH_WIDTH) *column = 0;
    return next;
}

static void add_blanks(Text *text, uint32_t column, uint32_t wanted) {
    for (; column < wanted; column++) text_add(text, " ");
}

const Text *align_tails(Arena *arena, const Text *text, const Offsets *comments) {
    Tails tails = {0};
    vector_each(const size_t, offset, *comments)
        vector_push(arena, &tails, find_tail(text, *offset));
    Text *aligned = arena_new_item(arena, Text);
    *aligned = text_new(arena);
    size_t done = 0;
    for (size_t first = 0, next; first < tails.count; first = next) {
        uint32_t column;
        for (next = find_run(&tails, first, &column); first < next; first++) {
            const Tail *tail = &tails.items[first];
            text_add_bytes(aligned, text->bytes + done, tail->comment - done);
            add_blanks(aligned, tail->column, column);
            done = tail->comment;
        }
    }
    text_add_bytes(aligned, text_string(text) + done, text->size - done);
    return aligned;
}
