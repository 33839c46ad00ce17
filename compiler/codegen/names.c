/* Names: nothing passes here of what they are made of but letters, digits, underscores and octal
 * escapes. */
#include "compiler/codegen/names.h"

#include "compiler/codegen/marked_text.h"
#include "lang/base/c_words.h"
#include "lang/base/path.h"

#include <math.h>

enum { HINT_LIMIT = 24 };

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_';
}

const char *marked_name(Arena *arena, char prefix, NodeId number, const char *hint) {
    char *safe = arena_format(arena, "_%.*s", HINT_LIMIT, hint);
    for (char *c = safe; *c; c++)
        if (!is_word(*c)) *c = '_';
    return arena_format(arena, "%c%u" MARK_HINT "%s" MARK_END, prefix, (unsigned)number, safe);
}

/* A name that stands in every header of a library, or that C has. */
static bool is_taken(const char *name) {
    static const char *const names[] = {"library", "result", "message", "size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return is_c_word(name);
}

const char *public_name(Arena *arena, const char *text) {
    char *name = arena_format(arena, "%s%s", is_letter(*text) ? "" : "x", text);
    for (char *c = name; *c; c++) {
        if (!is_word(*c)) *c = '_';
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    }
    return is_taken(name) ? arena_format(arena, "%s_", name) : name;
}

const char *string_literal(Arena *arena, const char *text) {
    if (!text) return "NULL";
    Text literal = text_new(arena);
    text_add(&literal, "\"");
    for (const char *c = text; *c; c++) {
        bool plain = is_word(*c) || *c == '.' || *c == '/' || *c == ' ' || *c == '-';
        const unsigned byte = (unsigned char)*c;
        const char octal[] = {'\\', (char)('0' + (byte >> 6)), (char)('0' + (byte >> 3 & 7)),
                              (char)('0' + (byte & 7))};
        text_add_bytes(&literal, plain ? c : octal, plain ? 1 : sizeof octal);
    }
    text_add(&literal, "\"");
    return text_string(&literal);
}

const char *comment_text(Arena *arena, const char *text) {
    char *safe = arena_copy(arena, text, strlen(text));
    for (char *c = safe; *c; c++)
        if (!is_word(*c) && !strchr(".: -,[]", *c) &&
            !(*c == '/' && is_word(c[1]) && c > safe && is_word(c[-1])))
            *c = '?';
    return safe;
}

static const char *floating_literal(Arena *arena, Element element, double number) {
    bool single = element != TYPE_f64;
    const char *suffix = single ? "f" : "";
    if (isnan(number)) return arena_format(arena, "__builtin_nan%s(\"\")", suffix);
    if (isinf(number))
        return arena_format(arena, "%s__builtin_inf%s()", number < 0 ? "-" : "", suffix);
    char *text = single ? arena_format(arena, "%.9g", (double)(float)number)
                        : arena_format(arena, "%.17g", number);
    bool whole = !strpbrk(text, ".e");
    return arena_format(arena, number < 0 || signbit(number) ? "(%s%s%s)" : "%s%s%s", text,
                        whole ? ".0" : "", suffix);
}

const char *number_literal(Arena *arena, Element element, double number) {
    if (is_floating(element)) return floating_literal(arena, element, number);
    if (number <= -9223372036854775808.0) return "INT64_MIN";
    if (number >= 9223372036854775807.0) return "INT64_MAX";
    long long whole = (long long)number;
    const char *suffix = element == TYPE_i64 ? "LL" : "";
    if (element == TYPE_i32 && whole == INT32_MIN) return "INT32_MIN";
    return arena_format(arena, whole < 0 ? "(%lld%s)" : "%lld%s", whole, suffix);
}

const char *place_text(Arena *arena, Range range) {
    if (!range.source) return "";
    return arena_format(arena, "%s:%u", path_name(range.source->path),
                        source_position(range.source, range.begin).line);
}
