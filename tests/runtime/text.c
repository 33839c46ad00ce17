/* Text: characters, words and tokens: the same as a plain way to compute them gives, for odd texts
 * and long ones; files of vocabularies that are wrong are told. */
#include "runtime/mix.h"
#include "runtime/text/bpe.h"
#include "runtime/text/characters.h"
#include "runtime/text/classes.h"
#include "runtime/text/merge.h"
#include "runtime/text/split.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/utf8.h"
#include "tests/runtime/test.h"

static const Places here = {.folder = ""};

static uint64_t drawn;

static uint64_t draw(uint64_t below) {
    return mix(++drawn) % below;
}

/* Characters. */

static void writes_what_it_reads(void) {
    for (uint32_t code = 0; code < CODE_LIMIT; code++) {
        char text[4];
        uint32_t found;
        size_t size = utf8_write(code, text);
        const unsigned char *at = (const unsigned char *)text;
        bool surrogate = code >= 0xd800 && code < 0xe000;
        size_t read = utf8_first(at, at + size, &found);
        CHECK(surrogate ? read == 1 && found == UTF8_NONE : read == size && found == code, "U+%04X",
              code);
        if (size == 1) continue;
        CHECK(utf8_first(at, at + size - 1, &found) == 1 && found == UTF8_NONE, "U+%04X cut", code);
    }
}

static void refuses_what_is_no_utf8(void) {
    static const char *const texts[] = {"\x80",
                                        "\xbf",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xe0\x80\x80",
                                        "\xf0\x80\x80\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xff",
                                        "\xc3(",
                                        "\xe2\x28\xa1",
                                        "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint32_t code;
        const unsigned char *at = (const unsigned char *)texts[i];
        CHECK(utf8_first(at, at + strlen(texts[i]), &code) == 1 && code == UTF8_NONE, "%zu", i);
    }
}

/* Words. */

/* "Hello| world": the words of the text, with bars between. */
static void splits(const char *text, const char *wanted) {
    char found[256];
    size_t used = 0;
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    while (at < end) {
        size_t size = split_first(classes(), at, end);
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%.*s", used ? "|" : "",
                                 (int)size, at);
        at += size;
    }
    CHECK(!strcmp(found, wanted), "`%s`, not `%s`", found, wanted);
}

static void splits_words(void) {
    splits("Hello world", "Hello| world");
    splits("I'll say it's 'done'", "I|'ll| say| it|'s| '|done|'");
    splits("we'LL we've''s x're'd'm't'", "we|'|LL| we|'ve|''|s| x|'re|'d|'m|'t|'");
    splits("a  b\n\nc \n d", "a| | b|\n|\n|c| \n| d");
    splits("x=1.5, y2z", "x|=|1|.|5|,| y|2|z");
    splits("tail  \n", "tail|  \n");
    splits("  ", "  ");
    splits(" ", " ");
    splits("'", "'");
    splits("caf\xc3\xa9 \xd9\xa3\xc2\xbd!", "caf\xc3\xa9| \xd9\xa3\xc2\xbd|!");
    splits("a\xc2\xa0\xc2\xa0"
           "b\xe3\x80\x80 c",
           "a|\xc2\xa0|\xc2\xa0|b|\xe3\x80\x80| c");
    splits("\xff\xfe"
           "a\xe2\x82",
           "\xff\xfe|a|\xe2\x82");
}

/* Merging. */

enum { LETTERS = 4, TOKENS = 400 };

/* Random merges of tokens that are there. */
static void draw_pairs(Pairs *pairs) {
    pairs_open(pairs, TOKENS);
    for (int32_t token = LETTERS; token < TOKENS; token++) {
        int32_t left = (int32_t)draw((uint64_t)token), right = (int32_t)draw((uint64_t)token);
        Pair *pair = pairs_find(pairs, left, right);
        if (pair->key == PAIR_NONE)
            *pair = (Pair){pair_key(left, right), (int32_t)draw(TOKENS * 4), token};
    }
}

/* As the definition says it. */
static size_t merge_plainly(const Pairs *pairs, int32_t *tokens, size_t count) {
    for (;;) {
        const Pair *best = NULL;
        size_t place = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            const Pair *pair = pairs_find(pairs, tokens[i], tokens[i + 1]);
            if (pair->key == PAIR_NONE || (best && pair->rank >= best->rank)) continue;
            best = pair;
            place = i;
        }
        if (!best) return count;
        tokens[place] = best->token;
        memmove(tokens + place + 1, tokens + place + 2, (count - place - 2) * sizeof *tokens);
        count--;
    }
}

static void merges_as_defined(void) {
    TokenList tokens = {0};
    Room work = {0};
    int32_t plain[300];
    for (int round = 0; round < 300; round++) {
        Pairs pairs;
        draw_pairs(&pairs);
        for (int turn = 0; turn < 20; turn++) {
            size_t count = 1 + draw(turn < 10 ? 24 : 300);
            tokens.count = 0;
            tokens_reserve(&tokens, count);
            for (; tokens.count < count; tokens.count++)
                plain[tokens.count] = tokens.items[tokens.count] = (int32_t)draw(LETTERS);
            size_t wanted = merge_plainly(&pairs, plain, count);
            CHECK(merge_word(&pairs, &tokens, 0, &work) && tokens.count == wanted &&
                      !memcmp(tokens.items, plain, wanted * sizeof *plain),
                  "round %d: %zu of %zu", round, tokens.count, count);
        }
        pairs_close(&pairs);
    }
    free(tokens.items);
    room_free(&work);
}

/* Vocabularies. */

static void write_text(const char *path, const char *text) {
    write_test_file(path, text, strlen(text));
}

#define LETTERS_ONLY \
    "{\"a\": 0, \"b\": 1, \"c\": 2, \"\\u0120\": 3, \"ab\": 4, \"\\u0120ab\": 5, \"abc\": 9}"

static void opens_not(const char *vocabulary, const char *merges, const char *says) {
    Bpe *bpe;
    write_text("v.json", vocabulary);
    write_text("m.txt", merges);
    FlowStatus status = bpe_open("v.json", "m.txt", &bpe);
    CHECK(status.exit == FLOW_EXIT_data && !bpe, "%s | %s is opened", vocabulary, merges);
    CHECK_SAYS(status.text, says);
    bpe_close(bpe);
}

static void refuses_vocabularies(void) {
    opens_not("", "", "v.json: ");
    opens_not("{}", "", "v.json: has no texts");
    opens_not("[1]", "", "v.json: byte 0: an object is expected");
    opens_not("{\"a\": 0", "", "v.json: byte 7");
    opens_not("{\"a\": -1}", "", "v.json: byte 6: a whole number is expected");
    opens_not("{\"a\": 0, \"a\": 1}", "", "v.json: `a` is there twice");
    opens_not("{\"a\": 1, \"b\": 1}", "", "v.json: two texts are 1, one of them is `b`");
    opens_not("{\"a\": 99999999}", "", "v.json: `a` is 99999999, more than 16777215");
    opens_not("{\"a\": 0} x", "", "something follows");
    opens_not(LETTERS_ONLY, "a b c\n", "m.txt: line 1: `a b c` is not two texts");
    opens_not(LETTERS_ONLY, "#version: 0.2\nab\n", "m.txt: line 2: `ab` is not two texts");
    opens_not(LETTERS_ONLY, "a b\na  b\n", "m.txt: line 2: `a  b` is not two texts");
    opens_not(LETTERS_ONLY, " b", "m.txt: line 1: ` b` is not two texts");
    opens_not(LETTERS_ONLY, "x b",
              "line 1: `x b` begins with a text that the vocabulary does not have");
    opens_not(LETTERS_ONLY, "b x",
              "line 1: `b x` ends with a text that the vocabulary does not have");
    opens_not(LETTERS_ONLY, "b c", "line 1: `b c` makes a text that the vocabulary does not have");
    opens_not(LETTERS_ONLY, "a b\nab c\na b", "m.txt: line 3: `a b` is there twice");
}

/* Tokenizers. */

/* What a field makes of the text; 9 numbers at most. */
static FlowStatus made(const FlowTokens *tokens, const char *text, size_t size, int64_t room,
                       int32_t *value) {
    Tokenizer *tokenizer;
    FlowStatus status =
        tokenizer_open(tokens, &here, (PathOwner){"pipeline", "p", NULL}, &tokenizer);
    FlowField field = {
        .type = {FLOW_i32, room ? 1 : 0, {room}}, .tokens = tokens, .tokenizer = tokenizer};
    CHECK(!status.exit, "%s", status.text);
    if (status.exit) return status;
    for (int i = 0; i < 2; i++) status = tokenizer_value(text, size, &field, value);
    tokenizer_close(tokenizer);
    return status;
}

static void makes(const FlowTokens *tokens, const char *text, size_t size, const int32_t *wanted,
                  size_t count) {
    int32_t value[64];
    FlowStatus status = made(tokens, text, size, (int64_t)count, value);
    CHECK(!status.exit && !memcmp(value, wanted, count * sizeof *wanted), "%s: %s %d", text,
          status.text, value[0]);
}

#define MAKES(tokens, text, ...)                                         \
    makes(tokens, text, sizeof text - 1, (const int32_t[]){__VA_ARGS__}, \
          sizeof(const int32_t[]){__VA_ARGS__} / sizeof(int32_t))

static void fails(const FlowTokens *tokens, const char *text, int64_t room, const char *says) {
    int32_t value[64];
    FlowStatus status = made(tokens, text, strlen(text), room, value);
    CHECK(status.exit == FLOW_EXIT_data, "%s is taken", text);
    CHECK_SAYS(status.text, says);
}

static void makes_bytes(void) {
    FlowTokens tokens = {.kind = FLOW_TOKENS_bytes, .unknown = -1};
    MAKES(&tokens, "a\0\xff", 97, 0, 255);
    fails(&tokens, "abc", 2, "has 3 tokens, the program expects i32[2]");
    tokens.use = FLOW_TOKENS_padded;
    tokens.filling = -1;
    MAKES(&tokens, "ab", 97, 98, -1, -1);
    MAKES(&tokens, "", -1, -1);
    MAKES(&tokens, "ab", 97, 98);
    fails(&tokens, "abc", 2, "has 3 tokens, the program expects 2 at most");
    tokens.cut = FLOW_CUT_end;
    MAKES(&tokens, "abc", 97, 98);
    tokens.cut = FLOW_CUT_start;
    MAKES(&tokens, "abc", 98, 99);
    int32_t length = 0;
    tokens.use = FLOW_TOKENS_length;
    CHECK(!made(&tokens, "abc", 3, 0, &length).exit && length == 3, "%d", length);
}

static void makes_characters(void) {
    FlowTokens tokens = {.kind = FLOW_TOKENS_characters, .alphabet = "ab\xc3\xa9\n", .unknown = -1};
    MAKES(&tokens, "b\xc3\xa9\n", 1, 2, 3);
    fails(&tokens, "abx", 3, "has `x` (U+0078) at character 3, which is not in its alphabet");
    fails(&tokens, "a\t", 3, "has `` (U+0009) at character 2");
    fails(&tokens, "a\xff", 3, "has the byte 0xFF at character 2, which is no UTF-8");
    tokens.unknown = 7;
    MAKES(&tokens,
          "x\xff\xe2\x82\xac"
          "a",
          7, 7, 7, 0);
    write_text("c.json", "{\"a\": 5, \"\\ud83d\\ude00\": 2}");
    tokens = (FlowTokens){.kind = FLOW_TOKENS_characters, .vocabulary = "c.json", .unknown = -1};
    MAKES(&tokens,
          "\xf0\x9f\x98\x80"
          "a",
          2, 5);
    write_text("c.json", "{\"ab\": 5}");
    Tokenizer *tokenizer;
    FlowStatus status =
        tokenizer_open(&tokens, &here, (PathOwner){"pipeline", "p", NULL}, &tokenizer);
    CHECK(status.exit && !tokenizer, "two characters are one");
    CHECK_SAYS(status.text, "c.json: `ab` is not one character");
}

static void makes_merged_bytes(void) {
    FlowTokens tokens = {
        .kind = FLOW_TOKENS_bpe, .vocabulary = "v.json", .merges = "m.txt", .unknown = -1};
    write_text("v.json", LETTERS_ONLY);
    write_text("m.txt", "#version: 0.2\r\na b\r\n\n\xc4\xa0 ab\r\nab c");
    MAKES(&tokens, "abcab ab abc", 9, 4, 5, 5, 2);
    MAKES(&tokens, "bbca", 1, 1, 2, 0);
    fails(&tokens, "abd", 3, "has the byte 0x64, which the vocabulary does not have");
}

/* A word of a megabyte takes a moment, as do many that were not met before. */
static void takes_long_words(void) {
    enum { SIZE = 1 << 20 };
    static char text[SIZE];
    Bpe *bpe;
    TokenList tokens = {0};
    write_text("v.json", "{\"a\": 0, \"aa\": 1, \"aaaa\": 2, \"b\": 3, \"ab\": 4}");
    write_text("m.txt", "a a\naa aa\na b\n");
    memset(text, 'a', SIZE);
    CHECK(!bpe_open("v.json", "m.txt", &bpe).exit, "no vocabulary");
    CHECK(!bpe_encode(bpe, UINT64_MAX, text, SIZE, workplace(), &tokens).exit &&
              tokens.count == SIZE / 4,
          "%zu", tokens.count);
    text[SIZE - 1] = 'b';
    tokens.count = 0;
    CHECK(!bpe_encode(bpe, UINT64_MAX, text, SIZE, workplace(), &tokens).exit &&
              tokens.count == SIZE / 4 + 1,
          "%zu", tokens.count);
    free(tokens.items);
    bpe_close(bpe);
}

int main(void) {
    test_folder();
    writes_what_it_reads();
    refuses_what_is_no_utf8();
    splits_words();
    merges_as_defined();
    refuses_vocabularies();
    makes_bytes();
    makes_characters();
    makes_merged_bytes();
    takes_long_words();
    test_folder_remove();
    return test_result();
}
