/* Parse, words: punctuation, names, numbers and strings. */
#include "compiler/graph/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void reader_fail(Reader *reader, const char *format, ...) {
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

char next_char(const Reader *reader) {
    return reader->at < reader->source->size ? reader->source->text[reader->at] : 0;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_decimal(char c) {
    return c >= '0' && c <= '9';
}

void skip_blanks(Reader *reader) {
    while (is_space(next_char(reader)) || next_char(reader) == '#') {
        bool comment = next_char(reader) == '#';
        while (comment && reader->at < reader->source->size && next_char(reader) != '\n')
            reader->at++;
        if (is_space(next_char(reader))) reader->at++;
    }
    reader->begin = reader->at;
}

bool reader_at_end(Reader *reader) {
    skip_blanks(reader);
    return reader->failed || reader->at >= reader->source->size;
}

bool take_mark(Reader *reader, const char *mark) {
    skip_blanks(reader);
    size_t size = strlen(mark);
    if (reader->failed || reader->source->size - reader->at < size) return false;
    if (memcmp(reader->source->text + reader->at, mark, size)) return false;
    reader->at += (uint32_t)size;
    return true;
}

void expect_mark(Reader *reader, const char *mark) {
    if (!take_mark(reader, mark)) reader_fail(reader, "expected `%s`", mark);
}

const char *read_name(Reader *reader) {
    skip_blanks(reader);
    while (is_letter(next_char(reader)) ||
           (reader->at > reader->begin && is_decimal(next_char(reader))))
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
    if (next_char(reader) == '-') reader->at++;
    uint32_t digits = reader->at;
    while (is_decimal(next_char(reader))) reader->at++;
    errno = 0;
    long long value = strtoll(reader->source->text + reader->begin, NULL, 10);
    if (reader->at == digits) reader_fail(reader, "expected a whole number");
    else if (errno) reader_fail(reader, "the number is too large");
    return reader->failed ? 0 : value;
}

double read_number(Reader *reader) {
    skip_blanks(reader);
    while (is_letter(next_char(reader)) || is_decimal(next_char(reader)) ||
           (next_char(reader) && strchr("+-.", next_char(reader))))
        reader->at++;
    const char *word =
        arena_copy(reader->arena, reader->source->text + reader->begin, reader->at - reader->begin);
    char *end;
    double value = strtod(word, &end);
    if (!*word || *end) reader_fail(reader, "expected a number");
    return value;
}

static int digit_value(char c) {
    return is_decimal(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What stands behind a backslash. */
static char read_escape(Reader *reader) {
    char c = next_char(reader);
    reader->at++;
    if (c == '"' || c == '\\') return c;
    int high = digit_value(next_char(reader)), low = -1;
    if (high >= 0 && reader->at + 1 < reader->source->size)
        low = digit_value(reader->source->text[reader->at + 1]);
    if (c != 'x' || low < 0 || !(high | low)) {
        reader_fail(reader, "unknown escape");
        return 0;
    }
    reader->at += 2;
    return (char)(high << 4 | low);
}

const char *read_string(Reader *reader) {
    Text text = text_new(reader->arena);
    expect_mark(reader, "\"");
    while (!reader->failed && next_char(reader) != '"') {
        char c = next_char(reader);
        if (!c || c == '\n') reader_fail(reader, "expected `\"`");
        reader->at++;
        if (c == '\\') c = read_escape(reader);
        text_add_bytes(&text, &c, 1);
    }
    if (!reader->failed) reader->at++;
    return text_string(&text);
}

NodeId read_id(Reader *reader) {
    expect_mark(reader, "%");
    if (!is_decimal(next_char(reader))) reader_fail(reader, "expected the number of a node");
    int64_t id = reader->failed ? 0 : read_integer(reader);
    if (id >= (int64_t)reader->graph->nodes.count && !reader->failed)
        reader_fail(reader, "there is no node %%%lld yet", (long long)id);
    return reader->failed ? 0 : (NodeId)id;
}
