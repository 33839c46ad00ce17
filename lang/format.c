/* Format: a block is a list of statements, a statement heads and blocks. The tree only says where
 * statements begin. */
#include "lang/format.h"

#include "lang/entries.h"
#include "lang/phrase.h"
#include "lang/parse.h"
#include "lang/tails.h"

#include "parser.tab.h"

enum { INDENT = 2 };

typedef struct Formatter {
    Arena *arena;
    Words words;
    Text text;
    Offsets comments; /* those behind words, in text */
} Formatter;

/* Statements. */

/* Moves *at to the word at the offset. */
static void mark_start(Formatter *formatter, uint32_t offset, uint32_t *at) {
    while (formatter->words.items[*at].token.range.begin < offset) (*at)++;
    formatter->words.items[*at].starts = !*at || kind_at(&formatter->words, *at - 1) != TOKEN_ELSE;
}

static void mark_statements(Formatter *formatter, const StatementList *statements, uint32_t *at) {
    vector_each(Statement *, statement, *statements) {
        mark_start(formatter, (*statement)->range.begin, at);
        mark_statements(formatter, &(*statement)->body, at);
        mark_statements(formatter, &(*statement)->otherwise, at);
    }
}

static void mark_program(Formatter *formatter, const Tree *tree) {
    uint32_t at = 0;
    vector_each(Declaration *, declaration, tree->declarations) {
        mark_start(formatter, (*declaration)->range.begin, &at);
        mark_statements(formatter, &(*declaration)->body, &at);
    }
}

static Phrase begin_phrase(const Formatter *formatter) {
    return phrase_new(formatter->arena, &formatter->words);
}

static void print(Formatter *formatter, const Phrase *phrase, uint32_t indent) {
    paragraph_print(phrase->paragraph, indent, &formatter->text, &formatter->comments);
}

static bool print_on_one_line(Formatter *formatter, uint32_t first, uint32_t end, uint32_t indent) {
    if (find_block(&formatter->words, first, end) == end) return false;
    Phrase phrase = begin_phrase(formatter);
    if (!phrase_one_line(&phrase, first, end, indent)) return false;
    phrase_comment_behind(&phrase, word_at(&formatter->words, end - 1));
    print(formatter, &phrase, indent);
    return true;
}

static void print_line_end(Formatter *formatter) {
    size_t size = formatter->text.size;
    if (size && formatter->text.bytes[size - 1] != '\n') text_add(&formatter->text, "\n");
}

static void print_comments(Formatter *formatter, const Word *word, uint32_t indent, bool is_first) {
    vector_each(const Comment, comment, word->above) {
        if (comment->blank_before && !is_first) text_add(&formatter->text, "\n");
        Phrase phrase = begin_phrase(formatter);
        paragraph_comment(phrase.paragraph, comment->bytes, comment->size, false);
        print(formatter, &phrase, indent);
        print_line_end(formatter);
        is_first = false;
    }
}

static void print_block(Formatter *formatter, uint32_t first, uint32_t end, uint32_t indent,
                        Block block);

/* From a closing brace, if there was a block before, to the next opening one. */
static void print_head(Formatter *formatter, uint32_t first, uint32_t brace, uint32_t indent) {
    Phrase phrase = begin_phrase(formatter);
    phrase_head(&phrase, first, brace);
    phrase_comments_above(&phrase, word_at(&formatter->words, brace));
    if (kind_at(&formatter->words, brace) == '{') {
        paragraph_blanks(phrase.paragraph, 1);
        phrase_word(&phrase, brace);
    }
    print(formatter, &phrase, indent);
    print_line_end(formatter);
}

static void print_statement(Formatter *formatter, uint32_t first, uint32_t end, uint32_t indent,
                            Block inner) {
    if (print_on_one_line(formatter, first, end, indent)) return print_line_end(formatter);
    uint32_t brace;
    while ((brace = find_block(&formatter->words, first, end)) < end) {
        print_head(formatter, first, brace, indent);
        first = word_at(&formatter->words, brace)->match;
        print_block(formatter, brace + 1, first, indent + INDENT, inner);
    }
    Phrase phrase = begin_phrase(formatter);
    phrase_head(&phrase, first, end);
    print(formatter, &phrase, indent);
    print_line_end(formatter);
}

/* A declaration over several lines stands apart. */
static bool takes_lines(const Formatter *formatter, const Line *line) {
    Phrase phrase = begin_phrase(formatter);
    return find_block(&formatter->words, line->first, line->end) < line->end &&
           !phrase_one_line(&phrase, line->first, line->end, 0);
}

static bool is_apart(const Formatter *formatter, const Line *line, Block block) {
    const Word *word = word_at(&formatter->words, line->first);
    if (word->above.count ? word->above.items[0].blank_before : word->blank_before) return true;
    return block == BLOCK_program &&
           (takes_lines(formatter, line - 1) || takes_lines(formatter, line));
}

static Block inner_block(const Formatter *formatter, const Line *line, Block block) {
    bool train = block == BLOCK_program && kind_at(&formatter->words, line->first) == TOKEN_TRAIN;
    return train ? BLOCK_train : BLOCK_statements;
}

static void print_line(Formatter *formatter, const Line *line, uint32_t indent, Block inner) {
    const Word *word = word_at(&formatter->words, line->first);
    print_comments(formatter, word, indent, true);
    if (word->above.count && word->blank_before) text_add(&formatter->text, "\n");
    print_statement(formatter, line->first, line->end, indent, inner);
}

/* The statements in words [first, end), and the comments above the word at end. */
static void print_block(Formatter *formatter, uint32_t first, uint32_t end, uint32_t indent,
                        Block block) {
    Lines lines = find_lines(formatter->arena, &formatter->words, first, end);
    align_entries(formatter->arena, &formatter->words, &lines, block);
    vector_each(const Line, line, lines) {
        if (line > lines.items && is_apart(formatter, line, block))
            text_add(&formatter->text, "\n");
        print_line(formatter, line, indent, inner_block(formatter, line, block));
    }
    print_comments(formatter, word_at(&formatter->words, end), indent, !lines.count);
}

/* Whether the text is read as the words were. */
static bool says_the_same(const Formatter *formatter, const Text *text) {
    Arena *arena = arena_new();
    const Source *source = source_from_text(arena, "", text_string(text), text->size);
    Diagnostics *diagnostics = diagnostics_new(arena);
    parse(arena, source, diagnostics);
    Words words = {0};
    bool sound = !diagnostics->list.count;
    if (sound) words = words_read(arena, source);
    sound = sound && words_equal(&formatter->words, &words);
    arena_free(arena);
    return sound;
}

const Text *format(Arena *arena, const Source *source, Diagnostics *diagnostics) {
    size_t before = diagnostics->list.count;
    const Tree *tree = parse(arena, source, diagnostics);
    if (diagnostics->list.count > before) return NULL;
    Formatter formatter = {
        .arena = arena, .words = words_read(arena, source), .text = text_new(arena)};
    mark_program(&formatter, tree);
    print_block(&formatter, 0, (uint32_t)formatter.words.count - 1, 0, BLOCK_program);
    const Text *text = align_tails(arena, &formatter.text, &formatter.comments);
    return says_the_same(&formatter, text) ? text : NULL;
}
