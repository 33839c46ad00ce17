/* Tokens: brackets that always match. A closer that is missing is reported once, at the place
 * where it is known to be missing, and then supplied. */
#include "lang/tokens.h"

#include "parser.tab.h"

Tokens *tokens_new(Arena *arena, Range part, Diagnostics *diagnostics) {
    Tokens *tokens = arena_new_item(arena, Tokens);
    *tokens = (Tokens){.arena = arena,
                       .source = part.source,
                       .offset = part.begin,
                       .end = part.end,
                       .diagnostics = diagnostics,
                       .at_line_start = true,
                       .whole_program = true,
                       .recovered_at = UINT32_MAX};
    lexer_open(tokens);
    return tokens;
}

void tokens_free(Tokens *tokens) {
    lexer_close(tokens);
}

static int closer_of(int kind) {
    return kind == '(' ? ')' : kind == '[' ? ']' : kind == '{' ? '}' : 0;
}

static bool is_closer(int kind) {
    return kind == ')' || kind == ']' || kind == '}';
}

static bool is_declaration_word(int kind) {
    switch (kind) {
    case TOKEN_IMPORT:
    case TOKEN_OPTION:
    case TOKEN_DIM:
    case TOKEN_CONST:
    case TOKEN_EXTERN:
    case TOKEN_FN:
    case TOKEN_MODEL:
    case TOKEN_PIPELINE:
    case TOKEN_TRAIN:
    case TOKEN_EXPORT: return true;
    default: return false;
    }
}

static bool is_statement_word(int kind) {
    switch (kind) {
    case TOKEN_LET:
    case TOKEN_WEIGHT:
    case TOKEN_STATE:
    case TOKEN_RETURN:
    case TOKEN_REPEAT:
    case TOKEN_SCAN:
    case TOKEN_ON:
    case TOKEN_FIT:
    case TOKEN_IF:
    case TOKEN_EVERY: return true;
    default: return false;
    }
}

/* Deeper in its line than the innermost brace's line is: in a body, though it declares. */
static bool is_indented(const Tokens *tokens, const Token *token) {
    const char *text = tokens->source->text;
    if (!tokens->depth || tokens->brackets[tokens->depth - 1].closer != '}') return false;
    uint32_t line = tokens->brackets[tokens->depth - 1].range.begin;
    while (line && text[line - 1] != '\n') line--;
    uint32_t blanks = (uint32_t)strspn(text + line, " \t"), column = 0;
    while (column < token->range.begin && text[token->range.begin - column - 1] != '\n') column++;
    return column > blanks;
}

static bool starts_declaration(const Tokens *tokens, const Token *token) {
    return tokens->whole_program && token->first_on_line && is_declaration_word(token->kind);
}

/* What is left when a limit was passed: nothing. */
static Token stop(Tokens *tokens, Token token) {
    tokens->stopped = tokens->closing = true;
    token.kind = 0;
    return token;
}

static Token scan(Tokens *tokens) {
    Token token = lexer_scan(tokens);
    if (tokens->stopped) return stop(tokens, token);
    if (++tokens->count <= TOKEN_LIMIT) return token;
    diagnostic_add(tokens->diagnostics, E0108, token.range, "the rest of the file is not read");
    return stop(tokens, token);
}

static Token open_bracket(Tokens *tokens, Token token) {
    if (tokens->depth < NESTING_LIMIT) {
        tokens->brackets[tokens->depth++] = (Bracket){closer_of(token.kind), token.range};
        return token;
    }
    diagnostic_add(tokens->diagnostics, E0105, token.range, "the %dth open bracket",
                   NESTING_LIMIT + 1);
    return stop(tokens, token);
}

/* How many brackets are open up to and with the innermost that this closes, above base; or 0. */
static size_t find_opener(const Tokens *tokens, int closer, size_t base) {
    size_t depth = tokens->depth;
    while (depth > base && tokens->brackets[depth - 1].closer != closer) depth--;
    return depth > base ? depth : 0;
}

/* A closer that is wanted at once: the token cannot stand inside the innermost bracket. */
static bool ends_bracket(const Tokens *tokens, const Token *token) {
    if (!tokens->depth) return false;
    if (!token->kind) return true;
    if (starts_declaration(tokens, token)) return !is_indented(tokens, token);
    int closer = tokens->brackets[tokens->depth - 1].closer;
    if (is_closer(token->kind)) return closer != token->kind && find_opener(tokens, token->kind, 0);
    return closer != '}' && token->first_on_line && is_statement_word(token->kind) &&
           find_opener(tokens, '}', 0);
}

static char opener_text(int closer) {
    return closer == ')' ? '(' : closer == ']' ? '[' : '{';
}

/* Behind the last token, where the closer should have been written. */
static void report_missing(Tokens *tokens, const Bracket *bracket) {
    uint32_t end = tokens->current.range.end;
    Range range = {tokens->source, end, end};
    Diagnostic *diagnostic =
        diagnostic_add(tokens->diagnostics, E0101, range, "`%c` is missing", bracket->closer);
    diagnostic_note(diagnostic, bracket->range, "this `%c` is not closed",
                    opener_text(bracket->closer));
}

static Token inject_closer(Tokens *tokens, Token token) {
    const Bracket *bracket = &tokens->brackets[--tokens->depth];
    if (!tokens->closing) report_missing(tokens, bracket);
    tokens->closing = true;
    tokens->pending[tokens->pending_count++] = token;
    uint32_t end = tokens->current.range.end;
    return (Token){.kind = bracket->closer, .range = {tokens->source, end, end}, .injected = true};
}

/* A closer with no opener of its kind: `)` for `]` is taken as meant, others are dropped. */
static bool correct_closer(Tokens *tokens, Token *token) {
    const Bracket *top = tokens->depth ? &tokens->brackets[tokens->depth - 1] : NULL;
    bool swapped = top && top->closer != '}' && token->kind != '}';
    Diagnostic *diagnostic = diagnostic_add(
        tokens->diagnostics, E0101, token->range,
        swapped ? "`%c` does not close what is open" : "`%c` closes nothing", token->kind);
    tokens->spoiled = !swapped;
    if (!swapped) return false;
    diagnostic_note(diagnostic, top->range, "this `%c` wants `%c`", opener_text(top->closer),
                    top->closer);
    token->kind = top->closer;
    return true;
}

static Token next_matched(Tokens *tokens) {
    for (;;) {
        Token token =
            tokens->pending_count ? tokens->pending[--tokens->pending_count] : scan(tokens);
        if (closer_of(token.kind)) token = open_bracket(tokens, token);
        if (ends_bracket(tokens, &token)) return inject_closer(tokens, token);
        tokens->closing = tokens->stopped;
        if (!is_closer(token.kind)) return token;
        if (!find_opener(tokens, token.kind, 0) && !correct_closer(tokens, &token)) continue;
        tokens->depth--;
        return token;
    }
}

Token tokens_next(Tokens *tokens) {
    tokens->depth_before = tokens->depth;
    Token token = next_matched(tokens);
    tokens->before_previous = tokens->previous;
    tokens->previous = tokens->current;
    return tokens->current = token;
}

/* Whether the parser can go on at this token. Opens and closes brackets above base; base is how
 * many were open where the error is. */
static bool can_resume(Tokens *tokens, const Token *token, size_t base) {
    int closer = base ? tokens->brackets[base - 1].closer : 0;
    if (!token->kind || starts_declaration(tokens, token)) return true;
    if (closer_of(token->kind)) return open_bracket(tokens, *token), false;
    if (is_closer(token->kind)) {
        size_t opener = find_opener(tokens, token->kind, base);
        if (opener) tokens->depth = opener - 1;
        return !opener && find_opener(tokens, token->kind, 0);
    }
    bool in_block = find_opener(tokens, '}', base), first = token->first_on_line;
    if (first && is_statement_word(token->kind) && base && !in_block)
        return closer == '}' || find_opener(tokens, '}', 0);
    if (!base && tokens->whole_program) return !tokens->depth && is_declaration_word(token->kind);
    if (closer != '}' || tokens->depth != base) return false;
    return token->kind == ';' || (first && token->kind == TOKEN_NAME);
}

static bool ends_operand(int kind) {
    return kind == TOKEN_NAME || kind == TOKEN_NUMBER || kind == TOKEN_STRING || is_closer(kind);
}

bool tokens_misread(const Tokens *tokens) {
    int before = tokens->before_previous.kind;
    if (tokens->current.kind != '=' || tokens->previous.kind != TOKEN_NAME) return false;
    if (!tokens->previous.first_on_line || !tokens->depth) return false;
    return tokens->brackets[tokens->depth - 1].closer == '}' && !ends_operand(before) &&
           before != '{' && before != ';';
}

bool tokens_recover(Tokens *tokens) {
    Token token = tokens->current;
    if (tokens_misread(tokens)) {
        tokens->pending[tokens->pending_count++] = token;
        tokens->pending[tokens->pending_count++] = tokens->previous;
        return true;
    }
    if (token.injected) token = tokens->pending[--tokens->pending_count];
    size_t base = tokens->depth = tokens->depth_before;
    if (token.range.begin == tokens->recovered_at) {
        if (!token.kind) return false;
        token = scan(tokens);
    }
    while (!can_resume(tokens, &token, base)) token = scan(tokens);
    tokens->depth = base;
    tokens->closing = true;
    tokens->pending[tokens->pending_count++] = token;
    tokens->recovered_at = token.range.begin;
    return true;
}
