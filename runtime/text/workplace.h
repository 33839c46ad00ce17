/* Workplace: what a thread that makes tokens keeps from one text to the next: memory, the text
 * before, and what words it has met became. */
#ifndef FLOW_TEXT_WORKPLACE_H
#define FLOW_TEXT_WORKPLACE_H

#include "runtime/thread_own.h"

#include <stdint.h>

typedef struct TokenList {
    int32_t *items;
    size_t count, capacity;
} TokenList;

/* Makes room for so many more. False: no memory. */
bool tokens_reserve(TokenList *list, size_t more);

/* A word and its tokens, where there are few of them. */
enum { KNOWN_BYTES = 22, KNOWN_TOKENS = 10, KNOWN_WORDS = 1 << 14 };

typedef struct KnownWord {
    uint8_t size, count; /* size 0: none */
    char word[KNOWN_BYTES];
    int32_t tokens[KNOWN_TOKENS];
} KnownWord;

/* Of one tokenizer: each word has one place. */
typedef struct KnownWords {
    uint64_t tokenizer; /* its number; 0: none */
    Room words;         /* KNOWN_WORDS of them */
} KnownWords;

enum { WORKPLACE_TOKENIZERS = 4 };

typedef struct Workplace {
    uint64_t tokenizer; /* of the last text; 0: there is none */
    Room text;
    size_t text_size;
    TokenList tokens; /* of it */
    TokenList kept;   /* those that a span points at */
    Room decoded;     /* a text without its escapes */
    Room merging;     /* bpe.c's, of long words */
    KnownWords known[WORKPLACE_TOKENIZERS];
    int next_known; /* the one to be given up next */
} Workplace;

/* This thread's; NULL: no memory. It goes when the thread ends. */
Workplace *workplace(void);

/* Those of the tokenizer; NULL: no memory. */
KnownWord *workplace_words(Workplace *place, uint64_t tokenizer);

#endif
