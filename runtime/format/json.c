/* JSON: RFC 8259, strict; UTF-8 is checked. */
#include "runtime/format/json.h"

#include <string.h>

Json json_new(char *text, size_t size) {
    return (Json){.at = text, .end = text + size, .first = true};
}

static bool fail(Json *json, const char *error) {
    if (!json->error) json->error = error;
    return false;
}

static void skip_space(Json *json) {
    while (json->at < json->end && *json->at && strchr(" \t\r\n", *json->at)) json->at++;
}

/* The next character after space, or 0 at the end or after a failure. */
static char peek(Json *json) {
    if (json->error) return 0;
    skip_space(json);
    return json->at < json->end ? *json->at : 0;
}

static bool take(Json *json, char wanted) {
    if (peek(json) != wanted) return false;
    json->at++;
    return true;
}

bool json_open(Json *json, char bracket) {
    if (!take(json, bracket))
        return fail(json, bracket == '{' ? "an object is expected" : "an array is expected");
    if (++json->depth > JSON_DEPTH_LIMIT) return fail(json, "nested too deeply");
    return json->first = true;
}

/* Takes the comma before the next item, or the bracket after the last: false. */
static bool next_item(Json *json, char bracket) {
    if (json->error) return false;
    if (take(json, bracket)) {
        json->depth--;
        return json->first = false;
    }
    if (!json->first && !take(json, ',')) return fail(json, "a comma is missing");
    json->first = false;
    return true;
}

bool json_member(Json *json, const char **name) {
    if (!next_item(json, '}') || !json_string(json, name)) return false;
    return take(json, ':') || fail(json, "a colon is missing");
}

bool json_element(Json *json) {
    return next_item(json, ']');
}

static int hexadecimal_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Four digits of \uXXXX; -1 when they are not there. */
static int32_t utf16_unit(Json *json) {
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = json->at < json->end ? hexadecimal_digit(*json->at++) : -1;
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high_surrogate(int32_t unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low_surrogate(int32_t unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}

/* What \u stands for, a surrogate pair taken together; -1 when it is nothing. */
static int32_t escaped_character(Json *json) {
    int32_t unit = utf16_unit(json);
    if (unit <= 0 || is_low_surrogate(unit)) return -1;
    if (!is_high_surrogate(unit)) return unit;
    if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u') return -1;
    json->at += 2;
    int32_t low = utf16_unit(json);
    return is_low_surrogate(low) ? 0x10000 + (unit - 0xd800) * 0x400 + (low - 0xdc00) : -1;
}

static char *put_utf8(char *out, int32_t c) {
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 63));
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    }
    return out;
}

/* Decodes the escape after a backslash to *out; an escape is never shorter than what it
 * means. */
static bool take_escape(Json *json, char **out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = json->at < json->end ? *json->at++ : 0;
    if (c == 'u') {
        int32_t character = escaped_character(json);
        if (character < 0) return fail(json, "a \\u escape stands for no character");
        *out = put_utf8(*out, character);
        return true;
    }
    const char *found = c ? strchr(from, c) : NULL;
    if (!found) return fail(json, "unknown escape in a string");
    *(*out)++ = to[found - from];
    return true;
}

/* The length of the UTF-8 sequence at `at`, or 0: shortest forms only, no surrogates (RFC
 * 3629). */
static int utf8_length(const unsigned char *at, const unsigned char *end) {
    int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *at < 0x80   ? 1
                 : *at < 0xc2 ? 0
                 : *at < 0xe0 ? 2
                 : *at < 0xf0 ? 3
                 : *at < 0xf5 ? 4
                              : 0;
    if (length < 2 || length > end - at) return length == 1;
    int32_t c = *at & (0x7f >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (at[i] & 63);
    }
    bool valid =
        c >= least[length] && c <= 0x10ffff && !is_high_surrogate(c) && !is_low_surrogate(c);
    return valid ? length : 0;
}

static bool take_character(Json *json, char **out) {
    unsigned char *at = (unsigned char *)json->at;
    if (*at < ' ') return fail(json, "control character in a string");
    if (*at == '\\') {
        json->at++;
        return take_escape(json, out);
    }
    int length = utf8_length(at, (unsigned char *)json->end);
    if (!length) return fail(json, "a string is not UTF-8");
    memmove(*out, json->at, (size_t)length);
    *out += length;
    json->at += length;
    return true;
}

bool json_string(Json *json, const char **string) {
    if (!take(json, '"')) return fail(json, "a string is expected");
    char *out = json->at;
    *string = out;
    while (json->at < json->end && *json->at != '"')
        if (!take_character(json, &out)) return false;
    if (json->at == json->end) return fail(json, "a string does not end");
    json->at++;
    *out = 0;
    return true;
}

static bool at_digit(const Json *json) {
    return json->at < json->end && *json->at >= '0' && *json->at <= '9';
}

bool json_natural(Json *json, uint64_t *number) {
    peek(json);
    if (json->error || !at_digit(json)) return fail(json, "a whole number is expected");
    char *start = json->at;
    *number = 0;
    for (; at_digit(json); json->at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*json->at - '0'), number))
            return fail(json, "a number is too large");
    if (*start == '0' && json->at - start > 1) return fail(json, "a number begins with zero");
    bool whole = json->at == json->end || !strchr(".eE", *json->at) || !*json->at;
    return whole || fail(json, "a whole number is expected");
}

static bool skip_digits(Json *json) {
    if (!at_digit(json)) return fail(json, "a digit is missing");
    while (at_digit(json)) json->at++;
    return true;
}

static bool take_one_of(Json *json, const char *set) {
    bool found = json->at < json->end && *json->at && strchr(set, *json->at);
    if (found) json->at++;
    return found;
}

static bool skip_number(Json *json) {
    take_one_of(json, "-");
    bool zero = json->at < json->end && *json->at == '0';
    char *first = json->at;
    if (!skip_digits(json)) return false;
    if (zero && json->at - first > 1) return fail(json, "a number begins with zero");
    if (take_one_of(json, ".") && !skip_digits(json)) return false;
    if (!take_one_of(json, "eE")) return true;
    take_one_of(json, "+-");
    return skip_digits(json);
}

static bool skip_word(Json *json) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(json->end - json->at) < length || memcmp(json->at, words[i], length)) continue;
        json->at += length;
        return true;
    }
    return fail(json, "a value is expected");
}

static bool skip_members(Json *json) {
    const char *name;
    json_open(json, '{');
    while (json_member(json, &name)) json_skip(json);
    return !json->error;
}

static bool skip_elements(Json *json) {
    json_open(json, '[');
    while (json_element(json)) json_skip(json);
    return !json->error;
}

bool json_skip(Json *json) {
    const char *string;
    char next = peek(json);
    if (next == '{') return skip_members(json);
    if (next == '[') return skip_elements(json);
    if (next == '"') return json_string(json, &string);
    if (next == '-' || at_digit(json)) return !json->error && skip_number(json);
    return !json->error && skip_word(json);
}

bool json_end(Json *json) {
    peek(json);
    if (json->error) return false;
    return json->at == json->end || fail(json, "something follows the end");
}
