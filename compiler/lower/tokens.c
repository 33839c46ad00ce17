/* TextTokens: a field's text as numbers, and what is made of as many as there are. */
#include "compiler/lower/given.h"

#include <string.h>

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

bool is_same_tokens(const TextTokens *a, const TextTokens *b) {
    return is_same_text(a->kind, b->kind) && is_same_text(a->alphabet, b->alphabet) &&
           is_same_text(a->vocabulary, b->vocabulary) && is_same_text(a->merges, b->merges) &&
           a->vocabulary_option == b->vocabulary_option && a->merges_option == b->merges_option &&
           a->unknown == b->unknown && is_same_text(a->use, b->use) &&
           is_same_text(a->cut, b->cut) && a->filling == b->filling;
}

/* What the tokens are in, as far as it is known, with one more number among them. */
Value with_tokens_range(const Context *context, const TextTokens *tokens, double more,
                        Value value) {
    Dimensions *table = context->lowering->dimensions;
    int64_t limit;
    if (value.kind != VALUE_tensor || !tokens->limit || !dim_is_constant(tokens->limit, &limit))
        return value;
    value.low = dim_constant(table, more < 0 ? (int64_t)more : 0);
    value.high = dim_constant(table, more >= (double)limit ? (int64_t)more + 1 : limit);
    return value;
}

/* From text to tokens. */

/* The field described as tokens of that kind; NULL after reporting. */
static Field *describe_tokens(const FieldCall *call, const char *kind) {
    if (!expect_unfilled(call) || !expect(call, FORM_value, FORM_bytes, "a text")) return NULL;
    Field *field = describe(call);
    field->tokens = (TextTokens){.kind = kind, .use = "exact", .cut = "nothing", .unknown = -1};
    return field;
}

Value lower_bytes(const FieldCall *call) {
    static const char *const parameters[] = {NULL};
    Given given = given_behind_field(call, parameters, 0, "bytes(line)");
    Field *field = given.broken ? NULL : describe_tokens(call, "bytes");
    if (!field) return value_error;
    field->tokens.limit = dim_constant(call->context->lowering->dimensions, 256);
    return become(call, field, FORM_tokens);
}

static bool is_continuation(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The size of the character there: the lexer has taken nothing but UTF-8. */
static size_t character_size(const char *at) {
    size_t size = 1;
    while (is_continuation(at[size])) size++;
    return size;
}

/* How many characters there are; -1 after reporting that one is there twice. */
static int count_characters(Given *given, const char *alphabet) {
    int count = 0;
    for (const char *at = alphabet; *at; at += character_size(at), count++)
        for (const char *other = alphabet; other < at; other += character_size(other)) {
            if (character_size(at) != character_size(other) ||
                memcmp(at, other, character_size(at)) != 0)
                continue;
            report(given->context, E0211, given->values[0]->range,
                   "`%.*s` is in the alphabet twice", (int)character_size(at), at);
            given->broken = true;
            return -1;
        }
    return count;
}

static void set_alphabet(Given *given, TextTokens *tokens) {
    Value alphabet = given_string(given, 0);
    if (given->broken || alphabet.string == any_string) return;
    tokens->alphabet = fixed_string(given->context, &alphabet);
    int count = count_characters(given, tokens->alphabet);
    if (!count) given_refuse(given, 0, &alphabet, "at least one character");
    double limit = tokens->unknown >= count ? tokens->unknown + 1 : count;
    if (!given->broken)
        tokens->limit = dim_constant(given->context->lowering->dimensions, (int64_t)limit);
}

static void set_path(Given *given, int which, const char **path, int *option) {
    Value value = given_string(given, which);
    if (value_is_empty(&value)) given_refuse(given, which, &value, "the name of a file");
    if (given->broken) return;
    *path = value.string;
    *option = value.index;
}

Value lower_characters(const FieldCall *call) {
    static const char *const parameters[] = {"alphabet", "unknown", "vocabulary", NULL};
    const char *example =
        "characters(line, \"abc \")`, `characters(line, vocabulary = \"file.json\")";
    Given given = given_behind_field(call, parameters, 0, example);
    Field *field = given.broken ? NULL : describe_tokens(call, "characters");
    if (!field) return value_error;
    if (!given.values[0] == !given.values[2]) {
        Diagnostic *d = report(call->context, E0204, call->call->range,
                               "`characters` takes an alphabet, or the file of a vocabulary");
        diagnostic_help(d, "`%s`", example);
        return value_error;
    }
    field->tokens.unknown = given_number(&given, 1, -1, 0, (1 << 24) - 1);
    if (given.values[0]) set_alphabet(&given, &field->tokens);
    else set_path(&given, 2, &field->tokens.vocabulary, &field->tokens.vocabulary_option);
    return given.broken ? value_error : become(call, field, FORM_tokens);
}

Value lower_bpe(const FieldCall *call) {
    static const char *const parameters[] = {"vocabulary", "merges", NULL};
    Given given =
        given_behind_field(call, parameters, 2, "bpe(line, \"vocab.json\", \"merges.txt\")");
    Field *field = given.broken ? NULL : describe_tokens(call, "bpe");
    if (!field) return value_error;
    set_path(&given, 0, &field->tokens.vocabulary, &field->tokens.vocabulary_option);
    set_path(&given, 1, &field->tokens.merges, &field->tokens.merges_option);
    return given.broken ? value_error : become(call, field, FORM_tokens);
}

/* From tokens to values. */

Value lower_pad(const FieldCall *call) {
    static const char *const parameters[] = {"size", "value", "cut", NULL};
    static const char *const cuts[] = {"nothing", "end", "start", NULL};
    const Context *context = call->context;
    Given given =
        given_behind_field(call, parameters, 1, "pad(ids, 128, value = 0, cut = \"end\")");
    if (given.broken) return value_error;
    Field *field = describe(call);
    Type type = {.element = TYPE_i32, .rank = 1, .dims = {given_size(&given, 0)}};
    field->tokens.use = "padded";
    field->tokens.filling = given_number(&given, 1, 0, INT32_MIN, INT32_MAX);
    field->tokens.cut = given_choice(&given, 2, cuts);
    if (given.broken) return value_error;
    Value value = become(call, field, FORM_tensor);
    value = type_field(context, &value, type, call->call->range);
    return with_tokens_range(context, &field->tokens, field->tokens.filling, value);
}

Value lower_length(const FieldCall *call) {
    static const char *const parameters[] = {NULL};
    Given given = given_behind_field(call, parameters, 0, "length(ids)");
    if (given.broken) return value_error;
    Field *field = describe(call);
    field->tokens.use = "length";
    Value value = become(call, field, FORM_tensor);
    return type_field(call->context, &value, type_scalar(TYPE_i32), call->call->range);
}
