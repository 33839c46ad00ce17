/* Mistake: a syntax error told at the place, and in the words, that a reader would choose. The
 * parser stumbles late where a line's end or a missing name let it read on. */
#include "lang/mistake.h"

#include "lang/habit.h"
#include "parser.tab.h"

enum { QUOTE_LIMIT = 40 }; /* bytes of a token that are repeated in a message */

static const char *found_text(Arena *arena, const Token *token) {
    int size = (int)(token->range.end - token->range.begin);
    if (!token->kind) return "the end of the file";
    if (token->kind == TOKEN_STRING) return "a string";
    if (size > QUOTE_LIMIT) return "a long name";
    return arena_format(arena, "`%.*s`", size, token->range.source->text + token->range.begin);
}

static bool ends_operand(const Token *token) {
    switch (token->kind) {
    case TOKEN_NAME:
    case TOKEN_NUMBER:
    case TOKEN_STRING:
    case ')':
    case ']': return true;
    default: return false;
    }
}

/* `let x = a b + c`: a statement could begin at b, so that the parser stumbles only at `+`. */
static bool is_late(const Tokens *tokens) {
    const Token *before = &tokens->before_previous, *previous = &tokens->previous;
    return previous->kind == TOKEN_NAME && !previous->first_on_line && ends_operand(before) &&
           !before->first_on_line && tokens->depth_before &&
           tokens->brackets[tokens->depth_before - 1].closer == '}';
}

static bool is_bare_word(const Token *token) {
    return token->kind == TOKEN_NAME && token->first_on_line && lexer_is_word(token->text);
}

/* `const = 2` or a lone `weight`: with no name behind it, the word was read as a name. */
static const Token *find_bare_word(const Tokens *tokens) {
    if (!tokens->depth_before && is_bare_word(&tokens->current)) return &tokens->current;
    bool lone = tokens->current.kind != '=' && is_bare_word(&tokens->previous);
    return lone ? &tokens->previous : NULL;
}

static const char *advice(Arena *arena, const Tokens *tokens, const Token *found) {
    int previous = tokens->previous.kind;
    bool word = found->text && found->kind != TOKEN_NAME && found->kind != TOKEN_STRING &&
                found->kind != TOKEN_NUMBER;
    if (found->kind == ';') return "no semicolons are needed";
    if (found->kind == '{' && previous == TOKEN_NUMBER)
        return "say what is counted: steps, epochs or seconds";
    if (word && (previous == TOKEN_LET || previous == '(' || previous == ','))
        return arena_format(arena, "`%s` is a word of the language and can't be a name",
                            found->text);
    return NULL;
}

static bool is_missing_at_line_end(const Token *token, const char *expected) {
    return expected && (token->first_on_line || !token->kind) && !strstr(expected, "a statement") &&
           !strstr(expected, "a declaration");
}

static void report_behind(Parser *parser, const Token *token, const char *text) {
    Range behind = {token->range.source, token->range.end, token->range.end};
    report_syntax(parser, behind, text, NULL);
}

/* Behind the token that the line should not have ended with. */
static void report_line_end(Parser *parser, const Token *last, const char *expected) {
    report_behind(parser, last,
                  arena_format(parser->arena, "%s, found the end of the line", expected));
}

static const char *general_help(Arena *arena, const Tokens *tokens, const Token *token,
                                const char *expected) {
    if (expected && strstr(expected, "a declaration"))
        return "declarations begin with import, option, dim, const, fn, model, pipeline, train, "
               "export or extern fn";
    return expected || token->kind == ';' ? advice(arena, tokens, token) : NULL;
}

static void report_unexpected(Parser *parser, const Token *token, const char *expected) {
    Arena *arena = parser->arena;
    const char *found = found_text(arena, token);
    Habit habit = find_habit(arena, parser->tokens, token, expected);
    const char *text = habit.text ? habit.text
                       : expected ? arena_format(arena, "%s, found %s", expected, found)
                                  : arena_format(arena, "unexpected %s", found);
    const char *help =
        habit.help ? habit.help : general_help(arena, parser->tokens, token, expected);
    report_syntax(parser, habit.range, text, help);
}

void report_mistake(Parser *parser, const char *expected) {
    const Tokens *tokens = parser->tokens;
    const Token *token = &tokens->current, *previous = &tokens->previous;
    const Token *word = find_bare_word(tokens);
    if (previous->spoiled) return;
    if (tokens_misread(tokens))
        report_line_end(parser, &tokens->before_previous, "expected an expression");
    else if (word) report_behind(parser, word, "expected a name");
    else if (is_late(tokens)) report_unexpected(parser, previous, NULL);
    else if (is_missing_at_line_end(token, expected)) report_line_end(parser, previous, expected);
    else report_unexpected(parser, token, expected);
}
