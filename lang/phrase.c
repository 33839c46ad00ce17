/* Phrase: a chain breaks before each `|>`, a sum before any `+`, brackets behind commas. */
#include "lang/phrase.h"

#include "lang/spacing.h"

#include "parser.tab.h"

enum { CONTINUED = 4 };

uint32_t find_block(const Words *words, uint32_t at, uint32_t end) {
    for (; at < end && kind_at(words, at) != '{'; at++)
        if (word_at(words, at)->match > at) at = word_at(words, at)->match;
    return at;
}

Phrase phrase_new(Arena *arena, const Words *words) {
    return (Phrase){words, paragraph_new(arena)};
}

/* Those above statements and at the end of blocks stand there already. */
void phrase_comments_above(Phrase *phrase, const Word *word) {
    bool printed = word->starts || word->token.kind == '}';
    if (!word->above.count || printed) return;
    paragraph_line(phrase->paragraph);
    vector_each(const Comment, comment, word->above) {
        paragraph_comment(phrase->paragraph, comment->bytes, comment->size, false);
        paragraph_line(phrase->paragraph);
    }
}

void phrase_comment_behind(Phrase *phrase, const Word *word) {
    if (!word->behind.bytes) return;
    paragraph_blanks(phrase->paragraph, 2);
    paragraph_comment(phrase->paragraph, word->behind.bytes, word->behind.size, true);
    paragraph_line(phrase->paragraph);
}

void phrase_word(Phrase *phrase, uint32_t at) {
    const Word *word = word_at(phrase->words, at);
    paragraph_word(phrase->paragraph, word_text(word), word_size(word));
    phrase_comment_behind(phrase, word);
}

static void write_level(Phrase *phrase, uint32_t first, uint32_t end, int level);

static bool holds_comments(const Words *words, uint32_t open, uint32_t close) {
    return word_at(words, open)->comments != word_at(words, close)->comments;
}

/* Behind a comma. */
static void write_item_end(Phrase *phrase, uint32_t comma, bool keeps_lines) {
    const Word *next = word_at(phrase->words, comma + 1);
    if (next->token.kind == ')' || next->token.kind == ']') return;
    if (keeps_lines && next->line_before) paragraph_line(phrase->paragraph);
    else paragraph_place(phrase->paragraph, 1);
}

static void write_items(Phrase *phrase, uint32_t first, uint32_t end, bool keeps_lines) {
    const Words *words = phrase->words;
    uint32_t begin = first;
    for (uint32_t at = first; at < end; at++) {
        if (kind_at(words, at) == ',') {
            write_level(phrase, begin, at, LEVEL_pipe);
            phrase_comments_above(phrase, word_at(words, at));
            phrase_word(phrase, at);
            write_item_end(phrase, at, keeps_lines);
            begin = at + 1;
        }
        if (word_at(words, at)->match > at) at = word_at(words, at)->match;
    }
    write_level(phrase, begin, end, LEVEL_pipe);
}

static void write_bracket(Phrase *phrase, uint32_t open) {
    const Words *words = phrase->words;
    const Word *word = word_at(words, open);
    uint32_t close = word->match;
    bool hangs = word[1].line_before && close > open + 1;
    paragraph_word(phrase->paragraph, word_text(word), word_size(word));
    paragraph_open(phrase->paragraph, GROUP_bracket, 0);
    if (hangs || holds_comments(words, open, close)) paragraph_hang(phrase->paragraph);
    phrase_comment_behind(phrase, word);
    paragraph_edge(phrase->paragraph);
    write_items(phrase, open + 1, close, hangs || word->token.kind == '[');
    phrase_comments_above(phrase, word_at(words, close));
    paragraph_edge(phrase->paragraph);
    paragraph_close(phrase->paragraph);
    phrase_word(phrase, close);
}

void phrase_plain(Phrase *phrase, uint32_t first, uint32_t end) {
    const Words *words = phrase->words;
    for (uint32_t at = first; at < end; at++) {
        const Word *word = word_at(words, at);
        bool is_open = word->match > at && word->token.kind != '{';
        phrase_comments_above(phrase, word);
        if (at > first) paragraph_blanks(phrase->paragraph, blanks_before(words, at));
        if (is_open) write_bracket(phrase, at);
        else phrase_word(phrase, at);
        if (is_open) at = word->match;
    }
}

/* The next operator of that level in [at, end), outside of brackets; or end. */
static uint32_t find_level(const Words *words, uint32_t at, uint32_t end, int level) {
    for (; at < end; at++) {
        const Word *word = word_at(words, at);
        if (level_at(words, at) == level && !word->tight) return at;
        if (word->match > at) at = word->match;
    }
    return end;
}

/* Whether the author put one of the chain's `|>` at the beginning of a line. */
static bool is_broken_chain(const Words *words, uint32_t first, uint32_t end) {
    for (uint32_t at = first; at < end; at++) {
        at = find_level(words, at, end, LEVEL_pipe);
        if (at < end && word_at(words, at)->line_before) return true;
    }
    return false;
}

/* Words [first, end) with places before the operators of the level, in a group of their own. */
static void write_operation(Phrase *phrase, uint32_t first, uint32_t end, int level) {
    const Words *words = phrase->words;
    paragraph_open(phrase->paragraph, level == LEVEL_pipe ? GROUP_all : GROUP_fill, CONTINUED);
    if (level == LEVEL_pipe && is_broken_chain(words, first, end))
        paragraph_force(phrase->paragraph);
    for (uint32_t begin = first, next; begin < end; begin = next) {
        next = find_level(words, begin + (begin > first), end, level);
        if (begin > first) paragraph_place(phrase->paragraph, 1);
        write_level(phrase, begin, next, level + 1);
    }
    paragraph_close(phrase->paragraph);
}

static void write_level(Phrase *phrase, uint32_t first, uint32_t end, int level) {
    if (level == LEVEL_end) phrase_plain(phrase, first, end);
    else if (find_level(phrase->words, first + 1, end, level) >= end)
        write_level(phrase, first, end, level + 1);
    else write_operation(phrase, first, end, level);
}

bool phrase_one_line(Phrase *phrase, uint32_t first, uint32_t end, uint32_t indent) {
    const Words *words = phrase->words;
    for (uint32_t at = first; at < end; at++) {
        const Word *word = word_at(words, at);
        if (at > first && word->line_before) return false;
        bool apart = at > first && word->starts && kind_at(words, at - 1) != '{';
        if (apart) paragraph_word(phrase->paragraph, ";", 1);
        if (at > first) paragraph_blanks(phrase->paragraph, blanks_before(words, at));
        paragraph_word(phrase->paragraph, word_text(word), word_size(word));
    }
    return indent + paragraph_columns(phrase->paragraph) <= PARAGRAPH_WIDTH;
}

void phrase_head(Phrase *phrase, uint32_t first, uint32_t end) {
    if (kind_at(phrase->words, first) == '}') phrase_plain(phrase, first, end);
    else write_level(phrase, first, end, LEVEL_pipe);
}
