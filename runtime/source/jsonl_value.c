/* jsonl values: each is read where it lies; only texts with escapes are copied. */
#include "runtime/source/jsonl_value.h"

#include "runtime/blob.h"
#include "runtime/format/decimal.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/workplace.h"
#include "runtime/type.h"
#include "runtime/vocabulary.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool fail(JsonValue *value, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(JsonValue *value, const char *at, const char *format, ...) {
    va_list arguments;
    value->at = at;
    value->exit = FLOW_EXIT_data;
    va_start(arguments, format);
    vsnprintf(value->text, sizeof value->text, format, arguments);
    va_end(arguments);
    return false;
}

/* What its text, or the file that it names, could not become. */
static bool fail_status(JsonValue *value, const char *at, const FlowStatus *status) {
    const FlowField *field = value->member->field;
    fail(value, at, "`%.*s` %.300s", json_shown(value->member->name_size), field->name,
         status->text);
    value->exit = status->exit;
    return false;
}

static bool fail_memory(JsonValue *value, const char *at) {
    FlowStatus status = flow_failure(FLOW_EXIT_resource, "takes more memory than there is");
    return fail_status(value, at, &status);
}

/* "`age` is a text, the program expects f32" */
static bool fail_type(JsonValue *value, const char *at, const char *what, size_t size) {
    const FlowField *field = value->member->field;
    return fail(value, at, "`%.*s` is %.*s, the program expects %s",
                json_shown(value->member->name_size), field->name, json_shown(size), what,
                type_name(&field->type).text);
}

static const char *kind_of(char first) {
    switch (first) {
    case '{': return "an object";
    case '[': return "an array";
    case '"': return "a text";
    case 't':
    case 'f': return "a truth value";
    case 'n': return "null";
    default: return "a number";
    }
}

static bool fail_kind(JsonValue *value, const char *at) {
    const char *kind = kind_of(*at);
    return fail_type(value, at, kind, strlen(kind));
}

/* What is missing. */

static bool is_identifier(const char *name) {
    bool good = *name == '_' || (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z');
    for (const char *c = name; good && *c; c++)
        good = *c == '_' || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
               (*c >= 'A' && *c <= 'Z');
    return good;
}

static bool fail_missing(JsonValue *value, const char *at) {
    const char *name = value->member->field->name;
    int shown = json_shown(value->member->name_size);
    if (value->member->field->tokens)
        return fail(value, at, "`%.*s` is missing; a text may be empty, but has to be there", shown,
                    name);
    bool plain = is_identifier(name);
    return fail(value, at, "`%.*s` is missing; `missing(%s%.*s%s, 0)` takes 0 for it", shown, name,
                plain ? "" : "column(\"", shown, name, plain ? "" : "\")");
}

static bool fill(JsonValue *value, const char *at, char *out, size_t elements) {
    const FlowField *field = value->member->field;
    if (!field->fills) return fail_missing(value, at);
    for (size_t i = 0; i < elements; i++)
        if (!number_write(field->type.element, field->filling,
                          out + i * value->member->element_size))
            return fail(value, at, "`%.*s` is missing, and %.10g is no %s",
                        json_shown(value->member->name_size), field->name, field->filling,
                        type_name(&field->type).text);
    return true;
}

static size_t element_count(const JsonMember *member) {
    return flow_type_size(&member->field->type) / member->element_size;
}

bool json_value_fill(JsonValue *value, void *out) {
    return fill(value, NULL, out, element_count(value->member));
}

/* Numbers. */

static bool read_number(JsonValue *value, void *out) {
    JsonToken token;
    if (!json_scan_number(value->scan, &token)) return false;
    return decimal_write(token.text, token.size, value->member->field->type.element, out) ||
           fail_type(value, token.text, token.text, token.size);
}

static bool read_element(JsonValue *value, void *out) {
    JsonScan *scan = value->scan;
    char next = json_scan_peek(scan);
    if (next == '-' || (next >= '0' && next <= '9')) return read_number(value, out);
    const char *at = scan->at;
    if (json_scan_word(scan, "null")) return fill(value, at, out, 1);
    bool truth = json_scan_word(scan, "true");
    if (truth || json_scan_word(scan, "false"))
        return number_write(value->member->field->type.element, truth, out);
    return json_scan_skip(scan) && fail_kind(value, at);
}

static bool fail_count(JsonValue *value, const char *at, int64_t count, const char *more) {
    char text[JSON_SHOWN];
    int size = snprintf(text, sizeof text, "an array of %s%lld", more, (long long)count);
    return fail_type(value, at, text, (size_t)size);
}

/* Arrays in arrays, down to the last axis. */
static bool read_array(JsonValue *value, int axis, char **out) {
    const FlowType *type = &value->member->field->type;
    char next = json_scan_peek(value->scan);
    const char *at = value->scan->at;
    bool last = axis == type->rank - 1;
    int64_t count = 0;
    if (next != '[') return json_scan_skip(value->scan) && fail_kind(value, at);
    for (json_scan_open(value->scan, '['); json_scan_element(value->scan); count++) {
        if (count == type->sizes[axis]) return fail_count(value, at, count, "more than ");
        if (last ? !read_element(value, *out) : !read_array(value, axis + 1, out)) return false;
        if (last) *out += value->member->element_size;
    }
    return !value->scan->error && (count == type->sizes[axis] || fail_count(value, at, count, ""));
}

/* Texts. */

static int find_category(const FlowField *field, const JsonToken *string) {
    char text[JSON_TEXT_SIZE];
    size_t size;
    if (!string->escaped) return vocabulary_find(field->texts, string->text, string->size);
    if (!json_token_decode(string, text, sizeof text, &size)) return -1;
    return vocabulary_find(field->texts, text, size);
}

/* The text without its escapes; false: it can't be, value->text says why. */
static bool decode_text(JsonValue *value, const JsonToken *string, const char **text,
                        size_t *size) {
    size_t room = string->size + 3;
    Workplace *place = workplace();
    char *decoded = place ? room_for(&place->decoded, room) : NULL;
    int shown = json_shown(value->member->name_size);
    const char *name = value->member->field->name;
    if (!decoded) return fail_memory(value, string->text);
    *text = decoded;
    return json_token_decode(string, decoded, room, size) ||
           fail(value, string->text, "`%.*s` has an escape that stands for nothing, or is no UTF-8",
                shown, name);
}

static bool read_tokens(JsonValue *value, void *out) {
    const FlowField *field = value->member->field;
    JsonToken string;
    int shown = json_shown(value->member->name_size);
    char next = json_scan_peek(value->scan);
    const char *at = value->scan->at;
    if (next != '"')
        return json_scan_skip(value->scan) &&
               fail(value, at, "`%.*s` is %s, the program takes a text", shown, field->name,
                    kind_of(next));
    if (!json_scan_string(value->scan, &string)) return false;
    const char *text = string.text;
    size_t size = string.size;
    if (string.escaped && !decode_text(value, &string, &text, &size)) return false;
    FlowStatus status = tokenizer_value(text, size, field, out);
    return !status.exit || fail_status(value, at, &status);
}

static bool read_category(JsonValue *value, void *out) {
    const FlowField *field = value->member->field;
    JsonToken string;
    int shown = json_shown(value->member->name_size);
    char next = json_scan_peek(value->scan);
    const char *at = value->scan->at;
    if (next != '"')
        return json_scan_skip(value->scan) &&
               fail(value, at, "`%.*s` is %s, but its categories are texts", shown, field->name,
                    kind_of(next));
    if (!json_scan_string(value->scan, &string)) return false;
    int place = find_category(field, &string);
    if (place < 0) place = field->unknown - 1;
    if (place >= 0) return number_write(field->type.element, place, out);
    return fail(value, at, "`%.*s` is `%.*s`, %s", shown, field->name, json_shown(string.size),
                string.text, vocabulary_fault(field).text);
}

/* A text is the name of a file. */
static bool read_file(JsonValue *value, void *out) {
    const FlowField *field = value->member->field;
    char name[JSON_TEXT_SIZE];
    size_t size;
    JsonToken string;
    int shown = json_shown(value->member->name_size);
    char next = json_scan_peek(value->scan);
    const char *at = value->scan->at;
    if (next != '"')
        return json_scan_skip(value->scan) && fail(value, at, "`%.*s` is %s, no name of a file",
                                                   shown, field->name, kind_of(next));
    if (!json_scan_string(value->scan, &string)) return false;
    if (!json_token_decode(&string, name, sizeof name, &size))
        return fail(value, at, "`%.*s` is no name of a file", shown, field->name);
    FlowStatus status = blob_value(name, size, field, out);
    return !status.exit || fail_status(value, at, &status);
}

/* Where one number is expected: it may be that the program does not say how many there are. */
static bool refuse_array(JsonValue *value) {
    const FlowField *field = value->member->field;
    int shown = json_shown(value->member->name_size);
    const char *at = value->scan->at;
    TypeText element = type_name(&field->type);
    long long count = 0;
    for (json_scan_open(value->scan, '['); json_scan_element(value->scan); count++)
        json_scan_skip(value->scan);
    return !value->scan->error &&
           fail(
               value, at,
               "`%.*s` is an array, the program expects %s; `%.*s |> : %s[%lld]` takes one of %lld",
               shown, field->name, element.text, shown, field->name, element.text, count, count);
}

bool json_value_read(JsonValue *value, void *out) {
    char *values = out;
    char next = json_scan_peek(value->scan);
    const char *at = value->scan->at;
    if (value->member->field->tokens) return read_tokens(value, out);
    if (next == 'n' && json_scan_word(value->scan, "null"))
        return fill(value, at, out, element_count(value->member));
    if (value->member->field->reads) return read_file(value, out);
    if (value->member->field->texts) return read_category(value, out);
    if (value->member->field->type.rank) return read_array(value, 0, &values);
    return next == '[' ? refuse_array(value) : read_element(value, out);
}
