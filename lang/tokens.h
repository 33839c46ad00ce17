/* Tokens: what the parser reads. Between it and the lexer, brackets are made to match, so that
 * one forgotten brace is one error, and the parser can always skip to a bracket's end. */
#ifndef FLOW_LANG_TOKENS_H
#define FLOW_LANG_TOKENS_H

#include "lang/diagnostic.h"
#include "lang/parse.h"

typedef struct Token {
    int kind; /* of parser.tab.h; 0 at the end of the text */
    Range range;
    const char *text; /* of a name; of a string, escapes resolved; unit of a number, or NULL */
    double number;    /* with the unit multiplied in */
    bool first_on_line;
    bool injected; /* not written: it closes a bracket that was left open */
    bool spoiled;  /* it, or what stands before it, was reported: an error here is no news */
} Token;

typedef struct Bracket {
    int closer; /* ')' ']' '}' */
    Range range;
} Bracket;

typedef struct Tokens {
    Arena *arena;
    const Source *source;
    Diagnostics *diagnostics;
    void *scanner;      /* flex's */
    uint32_t end;       /* of the part that is read */
    uint32_t offset;    /* of the first byte that was not scanned */
    bool at_line_start; /* nothing but blanks since the last line's end */
    bool whole_program; /* false: one expression, where no word starts a declaration */
    bool stopped;       /* a limit was passed: the rest of the text is not read */
    bool spoiled;       /* the next token is */
    bool closing;       /* why brackets are being closed was reported */
    uint32_t count;
    Bracket brackets[NESTING_LIMIT];
    size_t depth, depth_before; /* open brackets after and before the current token */
    Token current, previous, before_previous;
    Token pending[2]; /* come next, the last first */
    size_t pending_count;
    uint32_t recovered_at; /* where the last recovery stopped; past the end: none yet */
} Tokens;

/* Of a part of a source. */
Tokens *tokens_new(Arena *arena, Range part, Diagnostics *diagnostics);
void tokens_free(Tokens *tokens);

/* The next token; it becomes current. */
Token tokens_next(Tokens *tokens);

/* Whether the current `=` shows that the name before it, read as a missing operand of the line
 * above, begins a statement. */
bool tokens_misread(const Tokens *tokens);

/* After a syntax error at the current token: skips to where the innermost bracket ends, or to the
 * next statement in a block, or to the next declaration. A misread statement is read again. False
 * when there is nothing behind it. */
bool tokens_recover(Tokens *tokens);

/* In lexer.l. */
void lexer_open(Tokens *tokens);
void lexer_close(Tokens *tokens);
Token lexer_scan(Tokens *tokens);
bool lexer_is_word(const char *name); /* a keyword, at least in some places */

#endif
