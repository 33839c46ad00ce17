/* Parse, words: punctuation, names, numbers and strings. */
#include "compiler/graph/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void fail(Reader *reader, const char *format, ...) {
    va_list arguments;
    if (reader->failed) return;
    reader->failed = true;
    va_start(arguments, format);
    uint32_t end = reader->at > reader->begin ? reader->at : reader->begin + 1;
    if (end > reader->source->size) end = reader->source->size;
    Range range = {reader->source, reader->begin < end ? reader->begin : end, end};
    diagnostic_add(reader->diagnostics, E0101, range, "%s",
                   arena_format_list(reader->arena, format, arguments));
    va_end(arguments);
}

char peek(const Reader *reader) {
    return reader->at < reader->source->size ? reader->source->text[reader->at] : 0;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

void skip_blanks(Reader *reader) {
    while (is_space(peek(reader)) || peek(reader) == '#') {
        bool comment = peek(reader) == '#';
        while (comment && reader->at < reader->source->size && peek(reader) != '\n') reader->at++;
        if (is_space(peek(reader))) reader->at++;
    }
    reader->begin = reader->at;
}

bool at_end(Reader *reader) {
    skip_blanks(reader);
    return reader->failed || reader->at >= reader->source->size;
}

bool take(Reader *reader, const char *mark) {
    skip_blanks(reader);
    size_t size = strlen(mark);
    if (reader->failed || reader->source->size - reader->at < size) return false;
    if (memcmp(reader->source->text + reader->at, mark, size)) return false;
    reader->at += (uint32_t)size;
    return true;
}

void expect(Reader *reader, const char *mark) {
    if (!take(reader, mark)) fail(reader, "expected `%s`", mark);
}

const char *read_name(Reader *reader) {
    skip_blanks(reader);
    while (is_letter(peek(reader)) || (reader->at > reader->begin && is_digit(peek(reader))))
        reader->at++;
    return arena_copy(reader->arena, reader->source->text + reader->begin,
                      reader->at - reader->begin);
}

bool take_name(Reader *reader, const char *name) {
    uint32_t before = (skip_blanks(reader), reader->at);
    if (!reader->failed && !strcmp(read_name(reader), name)) return true;
    reader->at = before;
    return false;
}

int64_t read_integer(Reader *reader) {
    skip_blanks(reader);
    if (peek(reader) == '-') reader->at++;
    uint32_t digits = reader->at;
    while (is_digit(peek(reader))) reader->at++;
    errno = 0;
    long long value = strtoll(reader->source->text + reader->begin, NULL, 10);
    if (reader->at == digits) fail(reader, "expected a whole number");
    else if (errno) fail(reader, "the number is too large");
    return reader->failed ? 0 : value;
}

double read_number(Reader *reader) {
    skip_blanks(reader);
    while (is_letter(peek(reader)) || is_digit(peek(reader)) ||
           (peek(reader) && strchr("+-.", peek(reader))))
        reader->at++;
    const char *word =
        arena_copy(reader->arena, reader->source->text + reader->begin, reader->at - reader->begin);
    char *end;
    double value = strtod(word, &end);
    if (!*word || *end) fail(reader, "expected a number");
    return value;
}

static int digit_value(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What stands behind a backslash. */
static char read_escape(Reader *reader) {
    char c = peek(reader);
    reader->at++;
    if (c == '"' || c == '\\') return c;
    int high = digit_value(peek(reader)), low = -1;
    if (high >= 0 && reader->at + 1 < reader->source->size)
        low = digit_value(reader->source->text[reader->at + 1]);
    if (c != 'x' || low < 0 || !(high | low)) {
        fail(reader, "unknown escape");
        return 0;
    }
    reader->at += 2;
    return (char)(high << 4 | low);
}

const char *read_string(Reader *reader) {
    Text text = text_new(reader->arena);
    expect(reader, "\"");
    while (!reader->failed && peek(reader) != '"') {
        char c = peek(reader);
        if (!c || c == '\n') fail(reader, "expected `\"`");
        reader->at++;
        if (c == '\\') c = read_escape(reader);
        text_add_bytes(&text, &c, 1);
    }
    if (!reader->failed) reader->at++;
    return text_string(&text);
}
