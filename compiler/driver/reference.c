/* flowc reference: the library's declarations as Markdown, from their signatures and the comments
 * above them. */
#include "compiler/driver/commands.h"
#include "compiler/ops/ops.h"
#include "lang/base/path.h"
#include "lang/parse.h"
#include "lang/words.h"

#include <stdio.h>
#include <string.h>

/* Outside of `code`, what Markdown would take for a mark is meant as it stands. */
static void print_prose(const char *text, size_t size) {
    bool code = false;
    for (size_t i = 0; i < size; i++) {
        code ^= text[i] == '`';
        if (!code && strchr("*_<", text[i])) putchar('\\');
        putchar(text[i]);
    }
    putchar('\n');
}

/* A comment line without its `#` and the blank behind it. */
static void print_comment(const Comment *comment) {
    size_t mark = comment->size > 1 && comment->bytes[1] == ' ' ? 2 : 1;
    print_prose(comment->bytes + mark, comment->size - mark);
}

/* Of the comments above a word, those that stand directly above it. */
static size_t first_of_own(const Word *word) {
    size_t first = word->above.count;
    if (word->blank_before) return first;
    while (first && !(first < word->above.count && word->above.items[first].blank_before)) first--;
    return first;
}

static void print_comments(const Word *word, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) print_comment(&word->above.items[i]);
    if (first < end) putchar('\n');
}

static const Word *find_word(const Words *words, uint32_t offset) {
    const Word *word = words->items;
    while (word->token.range.begin < offset) word++;
    return word;
}

/* From the first word to the one before its block, as it is written. */
static void print_signature(const Source *source, const Word *first,
                            const Declaration *declaration) {
    const Word *last = first;
    while (last[1].token.kind && last[1].token.kind != '{' &&
           last[1].token.range.begin < declaration->range.end)
        last++;
    uint32_t begin = first->token.range.begin;
    printf("```\n%.*s\n```\n\n", (int)(last->token.range.end - begin), source->text + begin);
}

static void print_declaration(const Words *words, const Declaration *declaration) {
    const Word *word = find_word(words, declaration->range.begin);
    printf("### %s\n\n", declaration->name.text);
    print_signature(words->source, word, declaration);
    print_comments(word, first_of_own(word), word->above.count);
}

/* The comment at the head of a file, apart from the first declaration, is about all of it. */
static void print_file(Arena *arena, const Source *source) {
    Diagnostics *diagnostics = diagnostics_new(arena);
    const Tree *tree = parse(arena, source, diagnostics);
    Words words = words_read(arena, source);
    const char *name = path_name(source->path);
    printf("## [%s](%s)\n\n", name, name);
    print_comments(words.items, 0, first_of_own(words.items));
    vector_each(Declaration *, declaration, tree->declarations)
        if ((*declaration)->name.text) print_declaration(&words, *declaration);
}

static void print_error(Op op) {
    const OpInfo *info = &op_info[op];
    const char *name = op == OP_divide ? "/" : op == OP_power ? "^" : info->name;
    if (info->error && !info->hidden)
        printf("| `%s` | %g | %g |\n", name, info->error, info->error_f64);
}

static void print_errors(void) {
    printf("## How exact functions are\n\n"
           "The most that a result is wrong for any operand, in units of its last place; 0.5 is as "
           "good as a type can be, and is\nwhat `+`, `-`, `*` and `sqrt` give. f16 and bf16 are "
           "computed as f32 and rounded once more. With `--exact`, all of\nf32 are within "
           "0.5000001, by way of the C library's functions of f64, which are those of f64 always: "
           "their errors are\nthose that glibc states. Numbers below the smallest normal one are "
           "0.\n\n| | f32 | f64 |\n|---|---|---|\n");
    for (int op = 0; op < OP_COUNT; op++) print_error((Op)op);
}

int command_reference(Arguments *arguments) {
    (void)arguments;
    Arena *arena = arena_new();
    const Home *home = home_find(arena);
    if (!home) return EXIT_resource;
    printf(
        "# The library\n\n"
        "Made by `flowc reference` from the files of this folder (`make bless T=reference`); don't "
        "edit.\nEverything here can be called from any program by its name.\n\n");
    vector_each(Source *, source, home->library) print_file(arena, *source);
    print_errors();
    arena_free(arena);
    return EXIT_ok;
}
