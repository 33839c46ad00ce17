/* Spacing: by the kinds of the words on both sides. */
#include "lang/spacing.h"

#include "parser.tab.h"

#include <limits.h>

static bool is_value(int kind) {
    return kind == TOKEN_NAME || kind == TOKEN_NUMBER || kind == TOKEN_STRING ||
           kind == TOKEN_UNKNOWN_SIZE || kind == TOKEN_TRUE || kind == TOKEN_FALSE;
}

bool ends_operand(const Words *words, uint32_t at) {
    int kind = kind_at(words, at);
    return is_value(kind) || kind == ')' || kind == ']' || kind == TOKEN_ELLIPSIS ||
           (at && kind_at(words, at - 1) == '.');
}

static bool is_minus_sign(const Words *words, uint32_t at) {
    return kind_at(words, at) == '-' && (!at || !ends_operand(words, at - 1));
}

int level_at(const Words *words, uint32_t at) {
    switch (kind_at(words, at)) {
    case TOKEN_PIPE: return LEVEL_pipe;
    case TOKEN_OR: return LEVEL_or;
    case TOKEN_AND: return LEVEL_and;
    case TOKEN_EQUAL:
    case TOKEN_NOT_EQUAL:
    case '<':
    case '>':
    case TOKEN_LESS_EQUAL:
    case TOKEN_GREATER_EQUAL: return LEVEL_comparison;
    case '+': return LEVEL_sum;
    case '-': return is_minus_sign(words, at) ? 0 : LEVEL_sum;
    case '*':
    case '/': return LEVEL_product;
    default: return 0;
    }
}

/* Kinds of one character are that character; others lie above. */
static bool is_one_of(int kind, const char *characters) {
    return kind > 0 && kind <= CHAR_MAX && strchr(characters, kind);
}

static bool is_sign(int kind) {
    return kind == '+' || kind == '-' || kind == '*' || kind == '/' || kind == '^';
}

/* `@gpu` or `@gpu(0)` ends here. */
static bool ends_annotation(const Words *words, uint32_t at) {
    if (kind_at(words, at) == ')') at = word_at(words, at)->match - 1;
    return at && kind_at(words, at - 1) == '@';
}

/* `print (x)`: as it is written, for a call alone is no statement. */
static bool is_action(const Words *words, uint32_t at) {
    const Word *word = word_at(words, at);
    return word->starts && word->token.range.end < word[1].token.range.begin;
}

static uint32_t blanks_before_bracket(const Words *words, uint32_t at) {
    int left = kind_at(words, at - 1);
    if (is_minus_sign(words, at - 1)) return 0;
    if (left == TOKEN_REPEAT) return 0; /* the stage */
    if (kind_at(words, at) == '(') return left != TOKEN_NAME || is_action(words, at - 1);
    return !ends_operand(words, at - 1);
}

static uint32_t usual_blanks(const Words *words, uint32_t at) {
    int left = kind_at(words, at - 1), right = kind_at(words, at);
    bool tight = word_at(words, at)->tight && word_at(words, at - 1)->tight;
    if (is_one_of(left, "([.@") || is_one_of(right, ",)]")) return 0;
    if (right == '.') return left == TOKEN_NUMBER;
    if (left == TOKEN_RANGE || right == TOKEN_RANGE || is_minus_sign(words, at - 1)) return 0;
    if (right == ':' && left != TOKEN_PIPE && left != ',') return 0;
    if (tight && (left == ':' || is_sign(right) || is_sign(left))) return 0;
    if (right == '(' || right == '[') return blanks_before_bracket(words, at);
    if (right == '@') return ends_annotation(words, at - 1) ? 1 : 2;
    return 1;
}

uint32_t blanks_before(const Words *words, uint32_t at) {
    return usual_blanks(words, at) + word_at(words, at)->blanks;
}
