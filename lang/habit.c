/* Habit: syntax errors that are another language's syntax. A word is known by itself, the rest by
 * the tokens around the place and the word that its line begins with. */
#include "lang/habit.h"

#include "parser.tab.h"

#include "lang/tree.h"

typedef struct Saying {
    const char *word, *help;
} Saying;

static const Saying words[] = {
#define WORD(word, help) {word, help},
#define NAME(name, help)
#include "lang/habits.def"
#undef WORD
#undef NAME
};

static const Saying names[] = {
#define WORD(word, help)
#define NAME(name, help) {name, help},
#include "lang/habits.def"
#undef WORD
#undef NAME
};

static const char *find_saying(const Saying *sayings, size_t count, const char *word) {
    for (size_t i = 0; word && i < count; i++)
        if (!strcmp(sayings[i].word, word)) return sayings[i].help;
    return NULL;
}

const char *habit_of_name(const char *name) {
    return find_saying(names, sizeof names / sizeof *names, name);
}

static bool is_word_byte(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

/* The word that the line of the token begins with, or an empty one. */
static Range first_word(const Token *token) {
    const char *text = token->range.source->text;
    uint32_t begin = token->range.begin, end;
    while (begin && text[begin - 1] != '\n') begin--;
    begin += (uint32_t)strspn(text + begin, " \t");
    for (end = begin; end < token->range.end && is_word_byte(text[end]); end++) {
    }
    return (Range){token->range.source, begin, end};
}

static const char *copy_range(Arena *arena, Range range) {
    return arena_copy(arena, range.source->text + range.begin, range.end - range.begin);
}

/* As `for i` or `while (`, not as a name in `val = 3`. */
static bool is_followed(Range range) {
    const char *next = range.source->text + range.end;
    size_t blanks = strspn(next, " \t");
    return blanks && (is_word_byte(next[blanks]) || next[blanks] == '(');
}

static bool find_word(Arena *arena, Range range, Habit *habit) {
    if (!is_followed(range)) return false;
    const char *word = copy_range(arena, range);
    const char *help = find_saying(words, sizeof words / sizeof *words, word);
    if (help) *habit = (Habit){range, arena_format(arena, "`%s` means nothing here", word), help};
    return help != NULL;
}

/* The first foreign word of the token's line, up to the token. */
static bool find_in_line(Arena *arena, const Token *token, Habit *habit) {
    const char *text = token->range.source->text;
    Range word = first_word(token);
    bool quoted = false;
    for (uint32_t at = word.begin; at < token->range.end; at++) {
        if (text[at] == '#' && !quoted) return false;
        if (text[at] == '"') quoted = !quoted;
        bool begins = is_word_byte(text[at]) && (!at || !is_word_byte(text[at - 1]));
        if (!begins || quoted) continue;
        word.begin = word.end = at;
        while (is_word_byte(text[word.end])) word.end++;
        if (find_word(arena, word, habit)) return true;
    }
    return false;
}

/* A place where the parser stumbled. */
typedef struct Place {
    const Tokens *tokens;
    const Token *token, *previous;
    const char *line;     /* the word that its line begins with */
    const char *expected; /* or "" */
} Place;

static bool is_adjacent(const Token *a, const Token *b) {
    return a->range.end == b->range.begin;
}

static char byte_behind(const Token *token) {
    return token->range.source->text[token->range.end];
}

static bool splits_digits(const Place *place) {
    return is_adjacent(place->previous, place->token) && byte_behind(place->token) >= '0' &&
           byte_behind(place->token) <= '9';
}

static bool repeats_sign(const Place *place) {
    return byte_behind(place->token) ==
           *(place->token->range.source->text + place->token->range.begin);
}

static bool is_prefixed(const Place *place) {
    return is_adjacent(place->previous, place->token);
}

static bool ends_line(const Place *place) {
    const Token *token = place->token;
    const char *rest = token->range.source->text + token->range.end;
    rest += strspn(rest, " \t\r");
    return !*rest || *rest == '\n' || *rest == '#';
}

static bool is_unit(const Place *place) {
    return place->token->text && unit_scale(place->token->text) > 0;
}

static bool begins_line(const Place *place) {
    return place->previous->first_on_line;
}

static bool follows_type(const Place *place) {
    static const char *const types[] = {"bool", "u8",  "i8",   "i32", "i64",
                                        "f16",  "f32", "bf16", "f64"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (place->previous->text && !strcmp(place->previous->text, types[i])) return true;
    return false;
}

static bool follows_place(const Place *place) {
    return place->tokens->before_previous.kind == '@';
}

static bool is_assigned(const Place *place) {
    const char *next = place->token->range.source->text + place->token->range.end;
    return next[strspn(next, " \t")] == '=';
}

static bool wants_value(const Place *place) {
    int kind = place->previous->kind;
    return kind == TOKEN_RETURN || kind == '=' || kind == '(' || kind == ',';
}

static bool follows_pipe(const Place *place) {
    return place->tokens->before_previous.kind == TOKEN_PIPE;
}

typedef bool Condition(const Place *place);

/* The first that fits is told. 0 and NULL fit anything. */
static const struct {
    int previous, found;
    const char *line, *expected;
    Condition *when;
    const char *text; /* NULL: what was expected */
    const char *help;
} rules[] = {
    {TOKEN_NUMBER, ',', NULL, NULL, splits_digits, "a number has no commas",
     "write `60000` or `60k`"},
    {TOKEN_NUMBER, TOKEN_NAME, NULL, NULL, is_unit, "a unit stands at its number, without a blank",
     "`2GiB`, `20k`, `5ms`"},
    {TOKEN_NAME, TOKEN_STRING, NULL, NULL, is_prefixed, "a string has no prefix",
     "write `\"…\"`; the text of `require` fills in names in braces"},
    {0, ',', "return", NULL, NULL, "several values stand in parentheses", "`return (a, b)`"},
    {TOKEN_NAME, ',', NULL, NULL, begins_line, "several names stand in parentheses",
     "`let (a, b) = …`"},
    {0, ',', "let", NULL, NULL, "several names stand in parentheses", "`let (a, b) = …`"},
    {0, ',', NULL, NULL, ends_line, "no comma stands at the end of a line here", NULL},
    {')', '(', NULL, NULL, is_prefixed, "what a call gives can't be called",
     "`x |> dense(10)` calls a model; what is made once has a name: `let e = new dense(10)`"},
    {']', '=', NULL, NULL, NULL, "a tensor's places can't be assigned",
     "a new tensor is made: `select(c, a, b)`, `concat([a, b])`, `scatter_add(…)`"},
    {TOKEN_NAME, '+', NULL, "`=`", repeats_sign, "`++` means nothing here", "write `i = i + 1`"},
    {TOKEN_NAME, '-', NULL, "`=`", repeats_sign, "`--` means nothing here", "write `i = i - 1`"},
    {TOKEN_NAME, TOKEN_PIPE, NULL, "`=`", begins_line, "a value alone has no effect",
     "`return` it, or give it a name: `let y = …`"},
    {TOKEN_NAME, '.', NULL, NULL, follows_pipe, "a function has no module in front",
     "`|> dense(10)`: the library is known by its plain names"},
    {TOKEN_NAME, ':', NULL, NULL, follows_place, "a device has its number in parentheses",
     "`@gpu(0)`"},
    {TOKEN_NAME, ':', NULL, "`=`", begins_line, NULL, "write `=`"},
    {0, ':', "option", NULL, NULL, "an option has no type of its own",
     "it has that of its default: `option n = 1`"},
    {0, ':', NULL, NULL, ends_line, "a body stands in braces", "`{ … }`, in place of `:`"},
    {0, '{', NULL, "an expression", wants_value, NULL, "a record is written `(a: x, b: y)`"},
    {0, '{', "extern", NULL, NULL, "the body of a C function is in C",
     "`extern fn` only declares it; `--link=` names the file"},
    {TOKEN_NAME, '{', "every", NULL, NULL, "what is counted, and how many, is missing",
     "`every 1 epoch { … }`, `every 100 steps { … }`, `every 60 seconds { … }`"},
    {0, '=', "if", NULL, NULL, "`=` compares nothing", "`==` compares"},
    {0, TOKEN_ELSE, NULL, NULL, NULL, "a choice has braces", "`if c { a } else { b }` chooses"},
    {TOKEN_REPEAT, TOKEN_NUMBER, NULL, NULL, NULL, "`repeat` counts with a name",
     "`repeat i in 3 { … }`"},
    {0, TOKEN_RANGE, "scan", NULL, NULL, "`scan` takes a count, not a range",
     "`scan t in T` counts from 0 to T - 1"},
    {0, '<', "dim", NULL, NULL, "a bound is written with `<=`", "`dim T <= 1024`"},
    {TOKEN_NAME, '{', NULL, NULL, follows_type, "a shape has brackets, not braces",
     "a shape stands in brackets: `f32[4]`"},
    {0, TOKEN_FN, NULL, "a statement", NULL, "functions are declared outside of functions", NULL},
    {0, TOKEN_MODEL, NULL, "a statement", NULL, "models are declared outside of models", NULL},
    {0, TOKEN_RANGE, "repeat", NULL, NULL, "`repeat` takes a count, not a range",
     "`repeat i in 3` counts 0, 1, 2"},
    {TOKEN_IMPORT, TOKEN_NAME, NULL, NULL, NULL, "an import names a file, in quotes", MODULES},
    {TOKEN_NAME, '(', NULL, NULL, follows_type, "a shape has brackets, not parentheses",
     "a shape stands in brackets: `f32[4]`"},
    {TOKEN_NAME, '[', NULL, NULL, follows_type, "a parameter is written with its name first",
     "a parameter's name stands in front: `x: f32[4]`"},
    {0, '[', NULL, "a type", NULL, "a type begins with its elements",
     "an element type stands in front: `f32[4]`"},
    {0, TOKEN_NAME, "option", NULL, NULL, "the help of an option is a string",
     "the text that explains it stands in quotes"},
    {0, TOKEN_LET, NULL, "a declaration", NULL, NULL, CONSTS},
    {0, TOKEN_NAME, NULL, "a declaration", is_assigned, NULL, CONSTS},
    {0, TOKEN_ARROW, NULL, "`)`", NULL, "a function can't be written here", FUNCTIONS},
    {0, TOKEN_CONST, NULL, NULL, NULL, "constants are declared outside of functions", LETS},
    {0, TOKEN_DIM, NULL, NULL, NULL, "dimensions are declared outside of functions", LETS},
    {0, TOKEN_OPTION, NULL, NULL, NULL, "options are declared outside of functions", LETS},
};

static bool fits(size_t rule, const Place *place) {
    if (rules[rule].found != place->token->kind) return false;
    if (rules[rule].previous && rules[rule].previous != place->previous->kind) return false;
    if (rules[rule].line && strcmp(rules[rule].line, place->line)) return false;
    if (rules[rule].expected && !strstr(place->expected, rules[rule].expected)) return false;
    return !rules[rule].when || rules[rule].when(place);
}

static const Token *token_before(const Tokens *tokens, const Token *token) {
    return token == &tokens->current ? &tokens->previous : &tokens->before_previous;
}

Habit find_habit(Arena *arena, const Tokens *tokens, const Token *token, const char *expected) {
    Habit habit = {.range = token->range};
    Range line = first_word(token);
    if (find_in_line(arena, token, &habit)) return habit;
    const Token *previous = token_before(tokens, token);
    Place place = {tokens, token, previous, copy_range(arena, line), expected ? expected : ""};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (fits(i, &place)) return (Habit){token->range, rules[i].text, rules[i].help};
    return habit;
}
