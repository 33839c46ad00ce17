/* Phrase: the words of a statement outside of its blocks, as a paragraph that breaks where
 * operators and brackets allow. Words [first, end) are those from first up to end. */
#ifndef FLOW_LANG_PHRASE_H
#define FLOW_LANG_PHRASE_H

#include "lang/paragraph.h"
#include "lang/words.h"

typedef struct Phrase {
    const Words *words;
    Paragraph *paragraph;
} Phrase;

Phrase phrase_new(Arena *arena, const Words *words);

/* Words [first, end), among which are no blocks. */
void phrase_head(Phrase *phrase, uint32_t first, uint32_t end);

/* The same, but only brackets may break it. */
void phrase_plain(Phrase *phrase, uint32_t first, uint32_t end);

/* A whole statement with its blocks; false when it was not written on one line, or does not fit. */
bool phrase_one_line(Phrase *phrase, uint32_t first, uint32_t end, uint32_t indent);

/* A word, and the comment that ends its line. */
void phrase_word(Phrase *phrase, uint32_t at);

/* The comments that stand above a word within a statement; the one that ends a word's line. */
void phrase_comments_above(Phrase *phrase, const Word *word);
void phrase_comment_behind(Phrase *phrase, const Word *word);

/* The next brace in words [at, end), outside of brackets; or end. */
uint32_t find_block(const Words *words, uint32_t at, uint32_t end);

#endif
