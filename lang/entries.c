/* Entries. */
#include "lang/entries.h"

#include "lang/phrase.h"
#include "lang/spacing.h"

#include "parser.tab.h"

enum { HELP_BLANKS = 4 };

/* Behind the statement that begins at `at`. */
static uint32_t statement_end(const Words *words, uint32_t at, uint32_t end) {
    do {
        if (word_at(words, at)->match > at) at = word_at(words, at)->match;
        at++;
    } while (at < end && !word_at(words, at)->starts);
    return at;
}

Lines find_lines(Arena *arena, const Words *words, uint32_t first, uint32_t end) {
    Lines lines = {0};
    for (uint32_t next; first < end; first = next) {
        next = statement_end(words, first, end);
        vector_push(arena, &lines, (Line){.first = first, .end = next});
    }
    return lines;
}

static uint32_t flat_width(Arena *arena, const Words *words, uint32_t first, uint32_t end) {
    Phrase phrase = phrase_new(arena, words);
    if (first < end) phrase_plain(&phrase, first, end);
    return paragraph_columns(phrase.paragraph);
}

static bool begins_an_entry(const Words *words, const Line *line, Block block) {
    int first = kind_at(words, line->first), second = kind_at(words, line->first + 1);
    if (block == BLOCK_program) return first == TOKEN_OPTION;
    if (block != BLOCK_train) return false;
    return first == TOKEN_LET ? second == TOKEN_NAME : first == TOKEN_NAME && second == '=';
}

static void measure_entry(Arena *arena, const Words *words, Line *line, Block block) {
    uint32_t equal =
        line->first + (block == BLOCK_program || kind_at(words, line->first) == TOKEN_LET) + 1;
    const Word *last = word_at(words, line->end - 1);
    if (!begins_an_entry(words, line, block) || equal >= line->end) return;
    if (kind_at(words, equal) != '=') return;
    if (last->comments != word_at(words, line->first)->comments) return;
    line->equal = equal;
    line->name = flat_width(arena, words, line->first, equal);
    line->has_help = block == BLOCK_program && last->token.kind == TOKEN_STRING &&
                     ends_operand(words, line->end - 2);
    if (block == BLOCK_program)
        line->value = flat_width(arena, words, equal + 1, line->end - line->has_help);
}

static bool follows(const Words *words, const Line *line) {
    const Word *word = word_at(words, line->first);
    return line->equal && !word->blank_before && !word->above.count;
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static void align_run(Words *words, Line *run, const Line *end) {
    uint32_t name = 0, value = 0;
    if (end == run + 1) return;
    for (const Line *line = run; line < end; line++) {
        name = larger(name, line->name);
        value = larger(value, line->value);
    }
    for (const Line *line = run; line < end; line++) {
        words->items[line->equal].blanks = name - line->name;
        if (line->has_help)
            words->items[line->end - 1].blanks = value - line->value + HELP_BLANKS - 1;
    }
}

void align_entries(Arena *arena, Words *words, Lines *lines, Block block) {
    vector_each(Line, line, *lines) measure_entry(arena, words, line, block);
    for (size_t first = 0, next; first < lines->count; first = next) {
        Line *line = &lines->items[first];
        next = first + 1;
        while (line->equal && next < lines->count && follows(words, &lines->items[next])) next++;
        if (line->equal) align_run(words, line, line + (next - first));
    }
}
