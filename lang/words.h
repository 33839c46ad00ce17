/* Words: the tokens of a source with what a parser drops: comments, blank lines, line ends. */
#ifndef FLOW_LANG_WORDS_H
#define FLOW_LANG_WORDS_H

#include "lang/tokens.h"

typedef struct Comment {
    const char *bytes; /* NULL: none */
    size_t size;       /* without blanks at its end */
    bool blank_before; /* an empty line */
} Comment;

typedef struct Word {
    Token token;
    Vector(Comment) above; /* comments on lines of their own */
    Comment behind;        /* ends the word's line */
    bool blank_before;     /* an empty line, below the comments */
    bool line_before;      /* the first on its line */
    bool starts;           /* a statement or declaration */
    bool tight;            /* stands between the brackets of a slice: `x[1:n+1]` */
    uint32_t match;        /* of a bracket: the other one */
    uint32_t comments;     /* above it, and of all words before it */
    uint32_t blanks;       /* wanted before it, beyond what is usual */
} Word;

/* Semicolons are left out. The last word is the end of the text. */
typedef struct Words {
    const Source *source;
    Word *items;
    size_t count, capacity;
} Words;

/* Of a source that parses. */
Words words_read(Arena *arena, const Source *source);

/* Whether both have the same tokens and comments, however they are spaced. */
bool words_equal(const Words *a, const Words *b);

static inline const Word *word_at(const Words *words, uint32_t at) {
    return &words->items[at];
}

static inline int kind_at(const Words *words, uint32_t at) {
    return words->items[at].token.kind;
}

/* How the word is spelled. */
const char *word_text(const Word *word);
size_t word_size(const Word *word);

#endif
