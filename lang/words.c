/* Words: comments are what stands between two tokens. */
#include "lang/words.h"

#include "parser.tab.h"

/* What was read since the last word. */
typedef struct Gap {
    Arena *arena;
    Words *words;
    Word next;
    unsigned lines; /* ends of lines since the last word or comment */
    bool same_line; /* as the last word */
} Gap;

const char *word_text(const Word *word) {
    return word->token.range.source->text + word->token.range.begin;
}

size_t word_size(const Word *word) {
    return word->token.range.end - word->token.range.begin;
}

static size_t trimmed(const char *bytes, size_t size) {
    while (size && strchr(" \t\r", bytes[size - 1]) && bytes[size - 1]) size--;
    return size;
}

static void add_comment(Gap *gap, const char *bytes, size_t size) {
    Word *last = gap->words->count ? &gap->words->items[gap->words->count - 1] : NULL;
    Comment comment = {bytes, trimmed(bytes, size), gap->lines > 1};
    if (last && gap->same_line && !last->behind.bytes) last->behind = comment;
    else vector_push(gap->arena, &gap->next.above, comment);
    gap->lines = 0;
}

static void read_gap(Gap *gap, const char *text, size_t size) {
    for (size_t at = 0; at < size; at++) {
        const char *end = text[at] == '#' ? memchr(text + at, '\n', size - at) : NULL;
        size_t length = end ? (size_t)(end - text) - at : size - at;
        if (text[at] == '#') add_comment(gap, text + at, length), at += length;
        if (at < size && text[at] == '\n') gap->lines++, gap->same_line = false;
    }
}

static void add_word(Gap *gap, Token token) {
    gap->next.token = token;
    gap->next.blank_before = gap->lines > 1;
    gap->next.line_before = !gap->same_line;
    vector_push(gap->arena, gap->words, gap->next);
    gap->next = (Word){0};
    gap->lines = 0;
    gap->same_line = true;
}

static void match_brackets(Arena *arena, Words *words) {
    Vector(uint32_t) open = {0};
    for (uint32_t i = 0; i < words->count; i++) {
        int kind = words->items[i].token.kind;
        if (kind == '(' || kind == '[' || kind == '{') vector_push(arena, &open, i);
        if (kind != ')' && kind != ']' && kind != '}') continue;
        uint32_t other = open.items[--open.count];
        words->items[i].match = other;
        words->items[other].match = i;
    }
}

static void count_comments(Words *words) {
    uint32_t count = 0;
    vector_each(Word, word, *words) {
        word->comments = count += (uint32_t)word->above.count;
        count += word->behind.bytes != NULL;
    }
}

/* A colon between brackets, and not deeper, makes a slice. */
static void mark_slices(Words *words) {
    for (uint32_t i = 0; i < words->count; i++) {
        if (words->items[i].token.kind != '[') continue;
        uint32_t close = words->items[i].match;
        bool slice = false;
        for (uint32_t at = i + 1; at < close; at++) {
            slice = slice || words->items[at].token.kind == ':';
            if (words->items[at].match > at) at = words->items[at].match;
        }
        for (uint32_t at = i + 1; slice && at < close; at++) {
            words->items[at].tight = true;
            if (words->items[at].match > at) at = words->items[at].match;
        }
    }
}

Words words_read(Arena *arena, const Source *source) {
    Words words = {.source = source};
    Gap gap = {.arena = arena, .words = &words};
    Tokens *tokens = tokens_new(arena, (Range){source, 0, source->size}, diagnostics_new(arena));
    uint32_t end = 0;
    for (bool more = true; more;) {
        Token token = tokens_next(tokens);
        read_gap(&gap, source->text + end, token.range.begin - end);
        end = token.range.end;
        more = token.kind != 0;
        if (token.kind != ';') add_word(&gap, token);
    }
    tokens_free(tokens);
    match_brackets(arena, &words);
    count_comments(&words);
    mark_slices(&words);
    return words;
}

static bool same_bytes(const char *a, size_t size, const char *b, size_t other) {
    return size == other && !memcmp(a, b, size);
}

/* The comments of all words, in order, wherever they are attached. */
static void collect_comments(const Words *words, Text *text) {
    for (size_t i = 0; i < words->count; i++) {
        const Word *word = &words->items[i];
        vector_each(const Comment, comment, word->above) {
            text_add_bytes(text, comment->bytes, comment->size);
            text_add(text, "\n");
        }
        if (word->behind.bytes) text_add_bytes(text, word->behind.bytes, word->behind.size);
        if (word->behind.bytes) text_add(text, "\n");
    }
}

bool words_equal(const Words *a, const Words *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const Word *word = &a->items[i], *other = &b->items[i];
        same = word->token.kind == other->token.kind &&
               same_bytes(word_text(word), word_size(word), word_text(other), word_size(other));
    }
    if (!same) return false;
    Arena *arena = arena_new();
    Text text = text_new(arena), other = text_new(arena);
    collect_comments(a, &text);
    collect_comments(b, &other);
    same = same_bytes(text_string(&text), text.size, text_string(&other), other.size);
    arena_free(arena);
    return same;
}
