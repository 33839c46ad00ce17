/* Format: a block is a list of statements, a statement heads and blocks. A head is laid out by its
 * operators: a chain breaks before each `|>`, a sum before any `+`, brackets behind commas. The tree
 * only says where statements begin. */
#include "lang/format.h"

#include "lang/paragraph.h"
#include "lang/parse.h"
#include "lang/words.h"

#include "parser.tab.h"

#include <assert.h>
#include <limits.h>

enum { INDENT = 2, CONTINUED = 4, HELP_BLANKS = 4 };

typedef enum Block { BLOCK_program, BLOCK_train, BLOCK_statements } Block;

typedef struct Formatter {
    Arena *arena;
    Words words;
    Text text;
    Offsets comments; /* those behind words, in text */
} Formatter;

/* Words. */

static const Word *word_at(const Formatter *formatter, uint32_t at) {
    return &formatter->words.items[at];
}

static int kind_at(const Formatter *formatter, uint32_t at) {
    return formatter->words.items[at].token.kind;
}

static bool is_value(int kind) {
    return kind == TOKEN_NAME || kind == TOKEN_NUMBER || kind == TOKEN_STRING ||
           kind == TOKEN_UNKNOWN_SIZE || kind == TOKEN_TRUE || kind == TOKEN_FALSE;
}

static bool ends_operand(const Formatter *formatter, uint32_t at) {
    int kind = kind_at(formatter, at);
    return is_value(kind) || kind == ')' || kind == ']' || kind == TOKEN_ELLIPSIS ||
           (at && kind_at(formatter, at - 1) == '.');
}

static bool is_minus_sign(const Formatter *formatter, uint32_t at) {
    return kind_at(formatter, at) == '-' && (!at || !ends_operand(formatter, at - 1));
}

/* From loose to tight; 0 for what does not stand between two operands. */
enum { LEVEL_pipe = 1, LEVEL_or, LEVEL_and, LEVEL_comparison, LEVEL_sum, LEVEL_product, LEVEL_end };

static int level_at(const Formatter *formatter, uint32_t at) {
    switch (kind_at(formatter, at)) {
    case TOKEN_PIPE: return LEVEL_pipe;
    case TOKEN_OR: return LEVEL_or;
    case TOKEN_AND: return LEVEL_and;
    case TOKEN_EQUAL:
    case TOKEN_NOT_EQUAL:
    case '<':
    case '>':
    case TOKEN_LESS_EQUAL:
    case TOKEN_GREATER_EQUAL: return LEVEL_comparison;
    case '+': return LEVEL_sum;
    case '-': return is_minus_sign(formatter, at) ? 0 : LEVEL_sum;
    case '*':
    case '/': return LEVEL_product;
    default: return 0;
    }
}

/* Kinds of one character are that character; others lie above. */
static bool is_one_of(int kind, const char *characters) {
    return kind > 0 && kind <= CHAR_MAX && strchr(characters, kind);
}

static bool is_sign(int kind) {
    return kind == '+' || kind == '-' || kind == '*' || kind == '/' || kind == '^';
}

/* `@gpu` or `@gpu(0)` ends here. */
static bool ends_annotation(const Formatter *formatter, uint32_t at) {
    if (kind_at(formatter, at) == ')') at = word_at(formatter, at)->match - 1;
    return at && kind_at(formatter, at - 1) == '@';
}

/* `print (x)`: as it is written, for a call alone is no statement. */
static bool is_action(const Formatter *formatter, uint32_t at) {
    const Word *word = word_at(formatter, at);
    return word->starts && word->token.range.end < word[1].token.range.begin;
}

static uint32_t blanks_before_bracket(const Formatter *formatter, uint32_t at) {
    int left = kind_at(formatter, at - 1);
    if (is_minus_sign(formatter, at - 1)) return 0;
    if (kind_at(formatter, at) == '(') return left != TOKEN_NAME || is_action(formatter, at - 1);
    return !ends_operand(formatter, at - 1);
}

static uint32_t usual_blanks(const Formatter *formatter, uint32_t at) {
    int left = kind_at(formatter, at - 1), right = kind_at(formatter, at);
    bool tight = word_at(formatter, at)->tight && word_at(formatter, at - 1)->tight;
    if (is_one_of(left, "([.@") || is_one_of(right, ",)]")) return 0;
    if (right == '.') return left == TOKEN_NUMBER;
    if (left == TOKEN_RANGE || right == TOKEN_RANGE || is_minus_sign(formatter, at - 1)) return 0;
    if (right == ':' && left != TOKEN_PIPE && left != ',') return 0;
    if (tight && (left == ':' || is_sign(right) || is_sign(left))) return 0;
    if (right == '(' || right == '[') return blanks_before_bracket(formatter, at);
    if (right == '@') return ends_annotation(formatter, at - 1) ? 1 : 2;
    return 1;
}

static uint32_t blanks_before(const Formatter *formatter, uint32_t at) {
    return usual_blanks(formatter, at) + word_at(formatter, at)->blanks;
}

/* Laying out. */

typedef struct Writer {
    const Formatter *formatter;
    Paragraph *paragraph;
} Writer;

/* Those above statements and at the end of blocks stand there already. */
static void write_comments_above(Writer *writer, const Word *word) {
    bool printed = word->starts || word->token.kind == '}';
    if (!word->above.count || printed) return;
    paragraph_line(writer->paragraph);
    vector_each(const Comment, comment, word->above) {
        paragraph_comment(writer->paragraph, comment->bytes, comment->size, false);
        paragraph_line(writer->paragraph);
    }
}

static void write_comment_behind(Writer *writer, const Word *word) {
    if (!word->behind.bytes) return;
    paragraph_blanks(writer->paragraph, 2);
    paragraph_comment(writer->paragraph, word->behind.bytes, word->behind.size, true);
    paragraph_line(writer->paragraph);
}

static void write_word(Writer *writer, uint32_t at) {
    const Word *word = word_at(writer->formatter, at);
    paragraph_word(writer->paragraph, word_text(word), word_size(word));
    write_comment_behind(writer, word);
}

static void write_level(Writer *writer, uint32_t first, uint32_t end, int level);

static bool holds_comments(const Formatter *formatter, uint32_t open, uint32_t close) {
    return word_at(formatter, open)->comments != word_at(formatter, close)->comments;
}

/* Behind a comma. */
static void write_item_end(Writer *writer, uint32_t comma, bool keeps_lines) {
    const Word *next = word_at(writer->formatter, comma + 1);
    if (next->token.kind == ')' || next->token.kind == ']') return;
    if (keeps_lines && next->line_before) paragraph_line(writer->paragraph);
    else paragraph_place(writer->paragraph, 1);
}

static void write_items(Writer *writer, uint32_t first, uint32_t end, bool keeps_lines) {
    const Formatter *formatter = writer->formatter;
    uint32_t begin = first;
    for (uint32_t at = first; at < end; at++) {
        if (kind_at(formatter, at) == ',') {
            write_level(writer, begin, at, LEVEL_pipe);
            write_comments_above(writer, word_at(formatter, at));
            write_word(writer, at);
            write_item_end(writer, at, keeps_lines);
            begin = at + 1;
        }
        if (word_at(formatter, at)->match > at) at = word_at(formatter, at)->match;
    }
    write_level(writer, begin, end, LEVEL_pipe);
}

static void write_bracket(Writer *writer, uint32_t open) {
    const Formatter *formatter = writer->formatter;
    const Word *word = word_at(formatter, open);
    uint32_t close = word->match;
    bool hangs = word[1].line_before && close > open + 1;
    paragraph_word(writer->paragraph, word_text(word), word_size(word));
    paragraph_open(writer->paragraph, GROUP_bracket, 0);
    if (hangs || holds_comments(formatter, open, close)) paragraph_hang(writer->paragraph);
    write_comment_behind(writer, word);
    paragraph_edge(writer->paragraph);
    write_items(writer, open + 1, close, hangs || word->token.kind == '[');
    write_comments_above(writer, word_at(formatter, close));
    paragraph_edge(writer->paragraph);
    paragraph_close(writer->paragraph);
    write_word(writer, close);
}

/* Words and brackets on one line, if the brackets allow. */
static void write_plain(Writer *writer, uint32_t first, uint32_t end) {
    const Formatter *formatter = writer->formatter;
    for (uint32_t at = first; at < end; at++) {
        const Word *word = word_at(formatter, at);
        bool is_open = word->match > at && word->token.kind != '{';
        write_comments_above(writer, word);
        if (at > first) paragraph_blanks(writer->paragraph, blanks_before(formatter, at));
        if (is_open) write_bracket(writer, at);
        else write_word(writer, at);
        if (is_open) at = word->match;
    }
}

/* The next operator of that level in [at, end), outside of brackets; or end. */
static uint32_t find_level(const Formatter *formatter, uint32_t at, uint32_t end, int level) {
    for (; at < end; at++) {
        const Word *word = word_at(formatter, at);
        if (level_at(formatter, at) == level && !word->tight) return at;
        if (word->match > at) at = word->match;
    }
    return end;
}

/* Whether the author put one of the chain's `|>` at the beginning of a line. */
static bool is_broken_chain(const Formatter *formatter, uint32_t first, uint32_t end) {
    for (uint32_t at = first; at < end; at++) {
        at = find_level(formatter, at, end, LEVEL_pipe);
        if (at < end && word_at(formatter, at)->line_before) return true;
    }
    return false;
}

/* Words [first, end) with places before the operators of the level, in a group of their own. */
static void write_operation(Writer *writer, uint32_t first, uint32_t end, int level) {
    const Formatter *formatter = writer->formatter;
    paragraph_open(writer->paragraph, level == LEVEL_pipe ? GROUP_all : GROUP_fill, CONTINUED);
    if (level == LEVEL_pipe && is_broken_chain(formatter, first, end))
        paragraph_force(writer->paragraph);
    for (uint32_t begin = first, next; begin < end; begin = next) {
        next = find_level(formatter, begin + (begin > first), end, level);
        if (begin > first) paragraph_place(writer->paragraph, 1);
        write_level(writer, begin, next, level + 1);
    }
    paragraph_close(writer->paragraph);
}

static void write_level(Writer *writer, uint32_t first, uint32_t end, int level) {
    if (level == LEVEL_end) write_plain(writer, first, end);
    else if (find_level(writer->formatter, first + 1, end, level) >= end)
        write_level(writer, first, end, level + 1);
    else write_operation(writer, first, end, level);
}

/* Statements. */

/* Moves *at to the word at the offset. */
static void mark_start(Formatter *formatter, uint32_t offset, uint32_t *at) {
    while (formatter->words.items[*at].token.range.begin < offset) (*at)++;
    formatter->words.items[*at].starts = !*at || kind_at(formatter, *at - 1) != TOKEN_ELSE;
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

/* Behind the statement that begins at `at`. */
static uint32_t statement_end(const Formatter *formatter, uint32_t at, uint32_t end) {
    do {
        if (word_at(formatter, at)->match > at) at = word_at(formatter, at)->match;
        at++;
    } while (at < end && !word_at(formatter, at)->starts);
    return at;
}

/* The next brace outside of brackets; or end. */
static uint32_t find_block(const Formatter *formatter, uint32_t at, uint32_t end) {
    for (; at < end && kind_at(formatter, at) != '{'; at++)
        if (word_at(formatter, at)->match > at) at = word_at(formatter, at)->match;
    return at;
}

static Writer begin_writing(const Formatter *formatter) {
    return (Writer){formatter, paragraph_new(formatter->arena)};
}

static void print(Formatter *formatter, const Writer *writer, uint32_t indent) {
    paragraph_print(writer->paragraph, indent, &formatter->text, &formatter->comments);
}

/* A statement with blocks on one line; false when it was not written so, or does not fit. */
static bool write_one_line(Writer *writer, uint32_t first, uint32_t end, uint32_t indent) {
    const Formatter *formatter = writer->formatter;
    for (uint32_t at = first; at < end; at++) {
        const Word *word = word_at(formatter, at);
        if (at > first && word->line_before) return false;
        bool apart = at > first && word->starts && kind_at(formatter, at - 1) != '{';
        if (apart) paragraph_word(writer->paragraph, ";", 1);
        if (at > first) paragraph_blanks(writer->paragraph, blanks_before(formatter, at));
        paragraph_word(writer->paragraph, word_text(word), word_size(word));
    }
    return indent + paragraph_columns(writer->paragraph) <= PARAGRAPH_WIDTH;
}

static bool print_on_one_line(Formatter *formatter, uint32_t first, uint32_t end, uint32_t indent) {
    if (find_block(formatter, first, end) == end) return false;
    Writer writer = begin_writing(formatter);
    if (!write_one_line(&writer, first, end, indent)) return false;
    write_comment_behind(&writer, word_at(formatter, end - 1));
    print(formatter, &writer, indent);
    return true;
}

static void print_line_end(Formatter *formatter) {
    size_t size = formatter->text.size;
    if (size && formatter->text.bytes[size - 1] != '\n') text_add(&formatter->text, "\n");
}

static void print_comments(Formatter *formatter, const Word *word, uint32_t indent, bool is_first) {
    vector_each(const Comment, comment, word->above) {
        if (comment->blank_before && !is_first) text_add(&formatter->text, "\n");
        Writer writer = begin_writing(formatter);
        paragraph_comment(writer.paragraph, comment->bytes, comment->size, false);
        print(formatter, &writer, indent);
        print_line_end(formatter);
        is_first = false;
    }
}

static void print_block(Formatter *formatter, uint32_t first, uint32_t end, uint32_t indent,
                        Block block);

/* From a closing brace, if there was a block before, to the next opening one. */
static void print_head(Formatter *formatter, uint32_t first, uint32_t brace, uint32_t indent) {
    Writer writer = begin_writing(formatter);
    if (kind_at(formatter, first) == '}') write_plain(&writer, first, brace);
    else write_level(&writer, first, brace, LEVEL_pipe);
    write_comments_above(&writer, word_at(formatter, brace));
    if (kind_at(formatter, brace) == '{') {
        paragraph_blanks(writer.paragraph, 1);
        write_word(&writer, brace);
    }
    print(formatter, &writer, indent);
    print_line_end(formatter);
}

static void print_statement(Formatter *formatter, uint32_t first, uint32_t end, uint32_t indent,
                            Block inner) {
    if (print_on_one_line(formatter, first, end, indent)) return print_line_end(formatter);
    uint32_t brace;
    while ((brace = find_block(formatter, first, end)) < end) {
        print_head(formatter, first, brace, indent);
        first = word_at(formatter, brace)->match;
        print_block(formatter, brace + 1, first, indent + INDENT, inner);
    }
    Writer writer = begin_writing(formatter);
    if (kind_at(formatter, first) == '}') write_plain(&writer, first, end);
    else write_level(&writer, first, end, LEVEL_pipe);
    print(formatter, &writer, indent);
    print_line_end(formatter);
}

/* Alignment of `=` in lines that follow one another. */

typedef struct Line {
    uint32_t first, end;
    uint32_t equal;       /* the word; 0: not aligned */
    uint32_t name, value; /* columns before and behind `=` */
    bool has_help;
} Line;
typedef Vector(Line) Lines;

static uint32_t flat_width(const Formatter *formatter, uint32_t first, uint32_t end) {
    Writer writer = begin_writing(formatter);
    if (first < end) write_plain(&writer, first, end);
    return paragraph_columns(writer.paragraph);
}

static bool begins_an_entry(const Formatter *formatter, const Line *line, Block block) {
    int first = kind_at(formatter, line->first), second = kind_at(formatter, line->first + 1);
    if (block == BLOCK_program) return first == TOKEN_OPTION;
    if (block != BLOCK_train) return false;
    return first == TOKEN_LET ? second == TOKEN_NAME : first == TOKEN_NAME && second == '=';
}

static void measure_entry(const Formatter *formatter, Line *line, Block block) {
    uint32_t equal =
        line->first + (block == BLOCK_program || kind_at(formatter, line->first) == TOKEN_LET) + 1;
    const Word *last = word_at(formatter, line->end - 1);
    if (!begins_an_entry(formatter, line, block) || equal >= line->end) return;
    if (kind_at(formatter, equal) != '=') return;
    if (last->comments != word_at(formatter, line->first)->comments) return;
    line->equal = equal;
    line->name = flat_width(formatter, line->first, equal);
    line->has_help = block == BLOCK_program && last->token.kind == TOKEN_STRING &&
                     ends_operand(formatter, line->end - 2);
    if (block == BLOCK_program)
        line->value = flat_width(formatter, equal + 1, line->end - line->has_help);
}

static bool follows(const Formatter *formatter, const Line *line) {
    const Word *word = word_at(formatter, line->first);
    return line->equal && !word->blank_before && !word->above.count;
}

static uint32_t largest(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static void align_run(Formatter *formatter, Line *run, const Line *end) {
    uint32_t name = 0, value = 0;
    if (end == run + 1) return;
    for (const Line *line = run; line < end; line++) {
        name = largest(name, line->name);
        value = largest(value, line->value);
    }
    for (const Line *line = run; line < end; line++) {
        formatter->words.items[line->equal].blanks = name - line->name;
        if (line->has_help)
            formatter->words.items[line->end - 1].blanks = value - line->value + HELP_BLANKS - 1;
    }
}

static void align_entries(Formatter *formatter, Lines *lines, Block block) {
    vector_each(Line, line, *lines) measure_entry(formatter, line, block);
    for (size_t first = 0, next; first < lines->count; first = next) {
        Line *line = &lines->items[first];
        next = first + 1;
        while (line->equal && next < lines->count && follows(formatter, &lines->items[next]))
            next++;
        if (line->equal) align_run(formatter, line, line + (next - first));
    }
}

static Lines find_lines(const Formatter *formatter, uint32_t first, uint32_t end) {
    Lines lines = {0};
    for (uint32_t next; first < end; first = next) {
        next = statement_end(formatter, first, end);
        vector_push(formatter->arena, &lines, (Line){.first = first, .end = next});
    }
    return lines;
}

/* A declaration over several lines stands apart. */
static bool takes_lines(const Formatter *formatter, const Line *line) {
    Writer writer = begin_writing(formatter);
    return find_block(formatter, line->first, line->end) < line->end &&
           !write_one_line(&writer, line->first, line->end, 0);
}

static bool is_apart(const Formatter *formatter, const Line *line, Block block) {
    const Word *word = word_at(formatter, line->first);
    if (word->above.count ? word->above.items[0].blank_before : word->blank_before) return true;
    return block == BLOCK_program &&
           (takes_lines(formatter, line - 1) || takes_lines(formatter, line));
}

static Block inner_block(const Formatter *formatter, const Line *line, Block block) {
    bool train = block == BLOCK_program && kind_at(formatter, line->first) == TOKEN_TRAIN;
    return train ? BLOCK_train : BLOCK_statements;
}

static void print_line(Formatter *formatter, const Line *line, uint32_t indent, Block inner) {
    const Word *word = word_at(formatter, line->first);
    print_comments(formatter, word, indent, true);
    if (word->above.count && word->blank_before) text_add(&formatter->text, "\n");
    print_statement(formatter, line->first, line->end, indent, inner);
}

/* The statements in words [first, end), and the comments above the word at end. */
static void print_block(Formatter *formatter, uint32_t first, uint32_t end, uint32_t indent,
                        Block block) {
    Lines lines = find_lines(formatter, first, end);
    align_entries(formatter, &lines, block);
    vector_each(const Line, line, lines) {
        if (line > lines.items && is_apart(formatter, line, block))
            text_add(&formatter->text, "\n");
        print_line(formatter, line, indent, inner_block(formatter, line, block));
    }
    print_comments(formatter, word_at(formatter, end), indent, !lines.count);
}

/* Alignment of the comments behind words, in lines that follow one another. */

typedef struct Tail {
    size_t line, comment, end; /* offsets in the text */
    uint32_t indent, column, width;
} Tail;
typedef Vector(Tail) Tails;

static Tail find_tail(const Text *text, size_t comment) {
    Tail tail = {.line = comment, .comment = comment};
    while (tail.line && text->bytes[tail.line - 1] != '\n') tail.line--;
    while (text->bytes[tail.line + tail.indent] == ' ') tail.indent++;
    const char *end = memchr(text->bytes + comment, '\n', text->size - comment);
    tail.end = end ? (size_t)(end - text->bytes) : text->size;
    tail.column = text_columns(text->bytes + tail.line, comment - tail.line);
    tail.width = text_columns(text->bytes + comment, tail.end - comment);
    return tail;
}

static bool continues(const Tail *tail, const Tail *next) {
    return next->line == tail->end + 1 && next->indent == tail->indent;
}

/* Behind the last of the run that begins at first; *column is where its comments go. */
static size_t find_run(const Tails *tails, size_t first, uint32_t *column) {
    uint32_t width = *column = 0;
    size_t next = first;
    do {
        *column = largest(*column, tails->items[next].column);
        width = largest(width, tails->items[next].width);
        next++;
    } while (next < tails->count && continues(&tails->items[next - 1], &tails->items[next]));
    if (*column + width > PARAGRAPH_WIDTH) *column = 0;
    return next;
}

static void add_blanks(Text *text, uint32_t column, uint32_t wanted) {
    for (; column < wanted; column++) text_add(text, " ");
}

static const Text *align_comments(Formatter *formatter) {
    Tails tails = {0};
    vector_each(const size_t, offset, formatter->comments)
        vector_push(formatter->arena, &tails, find_tail(&formatter->text, *offset));
    Text *text = arena_new_item(formatter->arena, Text);
    *text = text_new(formatter->arena);
    size_t done = 0;
    for (size_t first = 0, next; first < tails.count; first = next) {
        uint32_t column;
        for (next = find_run(&tails, first, &column); first < next; first++) {
            const Tail *tail = &tails.items[first];
            text_add_bytes(text, formatter->text.bytes + done, tail->comment - done);
            add_blanks(text, tail->column, column);
            done = tail->comment;
        }
    }
    text_add_bytes(text, text_string(&formatter->text) + done, formatter->text.size - done);
    return text;
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
    const Text *text = align_comments(&formatter);
    return says_the_same(&formatter, text) ? text : NULL;
}
