/* JSON scan. Strings are gone through eight bytes at a time. */
#include "runtime/format/json_scan.h"

#include "runtime/format/json.h"

#include <stdint.h>
#include <string.h>

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

JsonScan json_scan_new(const char *text) {
    return (JsonScan){.at = text, .first = true};
}

bool json_scan_fail(JsonScan *scan, const char *error) {
    if (!scan->error) scan->error = error;
    return false;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

char json_scan_peek(JsonScan *scan) {
    if (scan->error) return 0;
    while (is_space(*scan->at)) scan->at++;
    return *scan->at == '\n' ? 0 : *scan->at;
}

static bool take(JsonScan *scan, char wanted) {
    if (json_scan_peek(scan) != wanted) return false;
    scan->at++;
    return true;
}

bool json_scan_open(JsonScan *scan, char bracket) {
    if (!take(scan, bracket))
        return json_scan_fail(scan,
                              bracket == '{' ? "an object is expected" : "an array is expected");
    if (++scan->depth > JSON_DEPTH_LIMIT) return json_scan_fail(scan, "nested too deeply");
    return scan->first = true;
}

/* Takes the comma before the next item, or the bracket after the last: false. */
static bool next_item(JsonScan *scan, char bracket) {
    bool first = scan->first;
    char next = json_scan_peek(scan);
    if (scan->error) return false;
    scan->first = false;
    if (next == bracket) {
        scan->at++;
        scan->depth--;
        return false;
    }
    if (first) return true;
    if (next == ',') {
        scan->at++;
        return true;
    }
    return json_scan_fail(scan, next ? "a comma is missing" : "the line ends too early");
}

bool json_scan_member(JsonScan *scan, JsonToken *name) {
    if (!next_item(scan, '}') || !json_scan_string(scan, name)) return false;
    return take(scan, ':') || json_scan_fail(scan, "a colon is missing");
}

bool json_scan_element(JsonScan *scan) {
    return next_item(scan, ']');
}

/* The highest bit of each byte that is 0; those above the first such byte may be wrong. */
static uint64_t zero_bytes(uint64_t word) {
    return (word - EACH_BYTE(1)) & ~word & EACH_BYTE(0x80);
}

/* To the first quote, backslash or control character. */
static const char *end_of_plain(const char *at) {
    for (;; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        uint64_t control = (word - EACH_BYTE(0x20)) & ~word & EACH_BYTE(0x80);
        uint64_t found =
            control | zero_bytes(word ^ EACH_BYTE('"')) | zero_bytes(word ^ EACH_BYTE('\\'));
        if (found) return at + __builtin_ctzll(found) / 8;
    }
}

static bool is_hexadecimal(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* What a string may not go on with; NULL after an escape, which is taken. */
static const char *take_escape(JsonScan *scan) {
    if (!*scan->at || *scan->at == '\n') return "a string does not end";
    if (*scan->at != '\\') return "control character in a string";
    char kind = scan->at[1];
    if (!kind || !strchr("\"\\/bfnrtu", kind)) return "unknown escape in a string";
    scan->at += 2;
    for (int i = 0; kind == 'u' && i < 4; i++)
        if (!is_hexadecimal(*scan->at++)) return "a \\u escape stands for no character";
    return NULL;
}

bool json_scan_string(JsonScan *scan, JsonToken *string) {
    if (!take(scan, '"')) return json_scan_fail(scan, "a string is expected");
    *string = (JsonToken){.text = scan->at};
    while (*(scan->at = end_of_plain(scan->at)) != '"') {
        const char *error = take_escape(scan);
        if (error) return json_scan_fail(scan, error);
        string->escaped = true;
    }
    string->size = (size_t)(scan->at++ - string->text);
    return true;
}

static bool at_digit(const JsonScan *scan) {
    return *scan->at >= '0' && *scan->at <= '9';
}

static bool take_digits(JsonScan *scan) {
    if (!at_digit(scan)) return json_scan_fail(scan, "a digit is missing");
    while (at_digit(scan)) scan->at++;
    return true;
}

static bool take_fraction(JsonScan *scan) {
    if (*scan->at == '.') {
        scan->at++;
        if (!take_digits(scan)) return false;
    }
    if (*scan->at != 'e' && *scan->at != 'E') return true;
    scan->at++;
    if (*scan->at == '+' || *scan->at == '-') scan->at++;
    return take_digits(scan);
}

static bool ends_value(char c) {
    return c == ',' || c == ']' || c == '}' || is_space(c) || c == '\n' || !c;
}

static const char no_numbers[] = "NaN and Infinity are no numbers in JSON";

bool json_scan_number(JsonScan *scan, JsonToken *number) {
    json_scan_peek(scan);
    *number = (JsonToken){.text = scan->at};
    if (*scan->at == '-') scan->at++;
    if (*scan->at == 'I') return json_scan_fail(scan, no_numbers);
    const char *first = scan->at;
    if (scan->error || !take_digits(scan)) return json_scan_fail(scan, "a number is expected");
    if (*first == '0' && scan->at - first > 1)
        return json_scan_fail(scan, "a number begins with zero");
    if (!take_fraction(scan)) return false;
    number->size = (size_t)(scan->at - number->text);
    return ends_value(*scan->at) || json_scan_fail(scan, "something follows a number");
}

bool json_scan_word(JsonScan *scan, const char *word) {
    size_t length = strlen(word);
    json_scan_peek(scan);
    if (scan->error || strncmp(scan->at, word, length) || !ends_value(scan->at[length]))
        return false;
    scan->at += length;
    return true;
}

static bool skip_members(JsonScan *scan) {
    JsonToken name;
    json_scan_open(scan, '{');
    while (json_scan_member(scan, &name)) json_scan_skip(scan);
    return !scan->error;
}

static bool skip_elements(JsonScan *scan) {
    json_scan_open(scan, '[');
    while (json_scan_element(scan)) json_scan_skip(scan);
    return !scan->error;
}

static bool skip_word(JsonScan *scan) {
    if (json_scan_word(scan, "true") || json_scan_word(scan, "false") ||
        json_scan_word(scan, "null"))
        return true;
    if (!strncmp(scan->at, "NaN", 3) || !strncmp(scan->at, "Infinity", 8))
        return json_scan_fail(scan, no_numbers);
    return json_scan_fail(scan, *scan->at && *scan->at != '\n' ? "a value is expected"
                                                               : "the line ends too early");
}

bool json_scan_skip(JsonScan *scan) {
    JsonToken token;
    switch (json_scan_peek(scan)) {
    case '{': return skip_members(scan);
    case '[': return skip_elements(scan);
    case '"': return json_scan_string(scan, &token);
    case '-':
    case '0' ... '9': return json_scan_number(scan, &token);
    default: return !scan->error && skip_word(scan);
    }
}

bool json_scan_end(JsonScan *scan) {
    char next = json_scan_peek(scan);
    if (scan->error) return false;
    return !next || json_scan_fail(scan, "something follows the end");
}

bool json_token_decode(const JsonToken *string, char *text, size_t room, size_t *size) {
    const char *decoded;
    if (string->size + 3 > room) return false;
    memcpy(text, string->text - 1, string->size + 2);
    text[string->size + 2] = 0;
    Json json = json_new(text, string->size + 2);
    if (!json_string(&json, &decoded)) return false;
    *size = strlen(decoded);
    memmove(text, decoded, *size + 1);
    return true;
}
