/* BPE: words that this thread has met before are looked up; of others the bytes are merged. */
#include "runtime/text/bpe.h"

#include "runtime/text/classes.h"
#include "runtime/text/listed.h"
#include "runtime/text/merge.h"
#include "runtime/text/split.h"
#include "runtime/text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_LIMIT = 1 << 30, /* bytes of a text */
    SHOWN = 60,           /* bytes of a line in a message */
};

struct Bpe {
    const uint8_t *classes;
    int32_t bytes[256]; /* the token of each byte; -1: there is none */
    Pairs pairs;
    int64_t limit;
};

/* Opening. */

/* The character that stands for a byte: itself where it can be seen, else one from U+0100 on. */
static uint32_t character_of(int byte) {
    uint32_t hidden = 256;
    for (int i = 0; i <= 256; i++) {
        bool seen = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || (i >= 0xae && i <= 0xff);
        if (i == byte) return seen ? (uint32_t)byte : hidden;
        hidden += !seen;
    }
    return 0;
}

static void find_bytes(Bpe *bpe, const Listed *listed) {
    char text[4];
    for (int byte = 0; byte < 256; byte++)
        bpe->bytes[byte] = listed_find(listed, text, utf8_write(character_of(byte), text));
}

/* A line of the merges. */
typedef struct Line {
    const char *path, *text;
    size_t size;
    int number;
    char *joined; /* room for both parts as one */
} Line;

static FlowStatus wrong_line(const Line *line, const char *what) {
    return flow_failure(FLOW_EXIT_data, "%s: line %d: `%.*s` %s", line->path, line->number,
                        line->size < SHOWN ? (int)line->size : SHOWN, line->text, what);
}

static FlowStatus add_merge(Bpe *bpe, const Listed *listed, const Line *line, int rank) {
    const char *space = memchr(line->text, ' ', line->size);
    size_t left = space ? (size_t)(space - line->text) : 0, right = line->size - left - 1;
    if (!left || !right || memchr(space + 1, ' ', right))
        return wrong_line(line, "is not two texts with a space between");
    memcpy(line->joined, line->text, left);
    memcpy(line->joined + left, space + 1, right);
    int32_t a = listed_find(listed, line->text, left), b = listed_find(listed, space + 1, right);
    int32_t token = listed_find(listed, line->joined, left + right);
    if (a < 0 || b < 0 || token < 0)
        return wrong_line(line, a < 0   ? "begins with a text that the vocabulary does not have"
                                : b < 0 ? "ends with a text that the vocabulary does not have"
                                        : "makes a text that the vocabulary does not have");
    Pair *pair = pairs_find(&bpe->pairs, a, b);
    if (pair->key != PAIR_NONE) return wrong_line(line, "is there twice");
    *pair = (Pair){pair_key(a, b), rank, token};
    return flow_ok;
}

static size_t count_lines(const Content *content) {
    size_t count = 1;
    for (size_t i = 0; i < content->size; i++) count += content->bytes[i] == '\n';
    return count;
}

static FlowStatus read_merges(Bpe *bpe, const Listed *listed, const Content *content, Line line) {
    static const char version[] = "#version";
    const char *end = content->bytes + content->size;
    FlowStatus status = flow_ok;
    int rank = 0;
    for (const char *at = content->bytes; at < end && !status.exit;
         at = line.text + line.size + 1) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        line.text = at;
        line.size = (size_t)((newline ? newline : end) - at);
        line.number++;
        bool carriage = line.size && at[line.size - 1] == '\r';
        Line plain = line;
        plain.size -= carriage;
        bool note = line.number == 1 && !strncmp(at, version, sizeof version - 1);
        if (plain.size && !note) status = add_merge(bpe, listed, &plain, rank++);
    }
    return status;
}

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory for it", path);
}

static FlowStatus open_merges(Bpe *bpe, const Listed *listed, const char *path) {
    Content content;
    FlowStatus status = content_read(path, &content);
    if (status.exit) return status;
    size_t lines = count_lines(&content);
    Line line = {.path = path, .joined = malloc(content.size + 1)};
    if (lines > INT32_MAX || !line.joined || !pairs_open(&bpe->pairs, lines))
        status = no_memory(path);
    else status = read_merges(bpe, listed, &content, line);
    free(line.joined);
    content_free(&content);
    return status;
}

static FlowStatus open_all(Bpe *bpe, const char *vocabulary, const char *merges) {
    Listed listed;
    FlowStatus status = listed_open(vocabulary, &listed);
    if (!status.exit) {
        bpe->limit = listed.limit;
        find_bytes(bpe, &listed);
        status = open_merges(bpe, &listed, merges);
    }
    listed_close(&listed);
    return status;
}

FlowStatus bpe_open(const char *vocabulary, const char *merges, Bpe **out) {
    Bpe *bpe = *out = calloc(1, sizeof *bpe);
    if (!bpe) return no_memory(vocabulary);
    bpe->classes = classes();
    FlowStatus status = open_all(bpe, vocabulary, merges);
    if (!status.exit) return status;
    bpe_close(bpe);
    *out = NULL;
    return status;
}

void bpe_close(Bpe *bpe) {
    if (!bpe) return;
    pairs_close(&bpe->pairs);
    free(bpe);
}

int64_t bpe_limit(const Bpe *bpe) {
    return bpe->limit;
}

/* Encoding. */

static uint64_t load(const char *text, size_t size) {
    uint64_t value = 0;
    memcpy(&value, text, size);
    return value;
}

/* size: KNOWN_BYTES at most. */
static uint64_t hash(const char *word, size_t size) {
    if (size < 8) return mix(load(word, size) ^ (uint64_t)size << 56);
    uint64_t ends = load(word, 8) ^ mix(load(word + size - 8, 8) + size);
    return mix(size > 16 ? ends ^ mix(load(word + 8, 8)) : ends);
}

/* The word's bytes as tokens, merged. False: it can't be. */
static bool encode_word(const Bpe *bpe, const char *word, size_t size, Workplace *place,
                        TokenList *tokens) {
    size_t first = tokens->count;
    if (!tokens_reserve(tokens, size)) return false;
    for (size_t i = 0; i < size; i++) {
        int32_t token = bpe->bytes[(unsigned char)word[i]];
        if (token < 0) return false;
        tokens->items[first + i] = token;
    }
    tokens->count = first + size;
    return merge_word(&bpe->pairs, tokens, first, &place->merging);
}

static FlowStatus no_memory_for_text(void) {
    return flow_failure(FLOW_EXIT_resource, "takes more memory than there is");
}

static FlowStatus failure_of(const Bpe *bpe, const char *word, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bpe->bytes[(unsigned char)word[i]] < 0)
            return flow_failure(FLOW_EXIT_data,
                                "has the byte 0x%02X, which the vocabulary does not have",
                                (unsigned char)word[i]);
    return no_memory_for_text();
}

static void keep(KnownWord *known, const char *word, size_t size, const TokenList *tokens,
                 size_t first) {
    size_t count = tokens->count - first;
    if (count > KNOWN_TOKENS) return;
    known->size = (uint8_t)size;
    known->count = (uint8_t)count;
    memcpy(known->word, word, size);
    memcpy(known->tokens, tokens->items + first, count * sizeof *tokens->items);
}

/* False: it is not known. */
static inline bool recall(const KnownWord *known, const char *word, size_t size,
                          TokenList *tokens) {
    if (known->size != size || memcmp(known->word, word, size)) return false;
    memcpy(tokens->items + tokens->count, known->tokens, sizeof known->tokens);
    tokens->count += known->count;
    return true;
}

/* The place of the word, or NULL. */
static inline KnownWord *place_of(KnownWord *words, const char *word, size_t size) {
    if (size > KNOWN_BYTES) return NULL;
    return &words[hash(word, size) % KNOWN_WORDS];
}

/* Room for KNOWN_TOKENS was made. False: it can't be. */
static inline bool encode_next(const Bpe *bpe, const char *word, size_t size, KnownWord *known,
                               Workplace *place, TokenList *tokens) {
    size_t first = tokens->count;
    if (known && recall(known, word, size, tokens)) return true;
    if (!encode_word(bpe, word, size, place, tokens)) return false;
    if (known) keep(known, word, size, tokens, first);
    return true;
}

FlowStatus bpe_encode(const Bpe *bpe, uint64_t number, const char *text, size_t size,
                      Workplace *place, TokenList *tokens) {
    KnownWord *words = workplace_words(place, number);
    const char *end = text + size;
    if (!words) return no_memory_for_text();
    if (size > TEXT_LIMIT)
        return flow_failure(FLOW_EXIT_data, "has more than %d bytes", TEXT_LIMIT);
    for (const char *at = text; at < end;) {
        size_t length =
            split_first(bpe->classes, (const unsigned char *)at, (const unsigned char *)end);
        KnownWord *known = place_of(words, at, length);
        if (!tokens_reserve(tokens, KNOWN_TOKENS) ||
            !encode_next(bpe, at, length, known, place, tokens))
            return failure_of(bpe, at, length);
        at += length;
    }
    return flow_ok;
}
