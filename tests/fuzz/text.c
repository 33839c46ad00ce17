/* Fuzz: any bytes as a vocabulary, merges and a text, with NULs between. Tokens are those of the
 * vocabulary, and the same when the text is met again. */
#define _GNU_SOURCE
#include "runtime/text/bpe.h"
#include "runtime/text/characters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

typedef struct File {
    int descriptor;
    char path[32];
} File;

static void write_file(File *file, const uint8_t *bytes, size_t size) {
    if (!file->path[0]) {
        file->descriptor = memfd_create("fuzz", 0);
        snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->descriptor);
    }
    if (ftruncate(file->descriptor, 0) || pwrite(file->descriptor, bytes, size, 0) != (ssize_t)size)
        abort();
}

/* The size of what comes before the next NUL. */
static size_t part(const uint8_t *bytes, size_t size) {
    const uint8_t *end = memchr(bytes, 0, size);
    return end ? (size_t)(end - bytes) : size;
}

static uint64_t opened; /* vocabularies */

static void encode(const Bpe *bpe, const char *text, size_t size, TokenList *tokens) {
    tokens->count = 0;
    FlowStatus status = bpe_encode(bpe, opened, text, size, workplace(), tokens);
    for (size_t i = 0; !status.exit && i < tokens->count; i++)
        if (tokens->items[i] < 0 || tokens->items[i] >= bpe_limit(bpe)) abort();
}

static void encode_merged(const char *vocabulary, const char *merges, const uint8_t *text,
                          size_t size) {
    TokenList once = {0}, again = {0};
    Bpe *bpe;
    if (bpe_open(vocabulary, merges, &bpe).exit) return;
    opened++;
    encode(bpe, (const char *)text, size, &once);
    encode(bpe, (const char *)text, size, &again);
    if (once.count != again.count ||
        (once.count && memcmp(once.items, again.items, once.count * sizeof(int32_t))))
        abort();
    free(once.items);
    free(again.items);
    bpe_close(bpe);
}

static void encode_characters(const char *vocabulary, const uint8_t *text, size_t size) {
    TokenList tokens = {0};
    Characters *characters;
    if (characters_open(NULL, vocabulary, 0, &characters).exit) return;
    if (characters_encode(characters, (const char *)text, size, &tokens).exit) abort();
    if (tokens.count > size) abort();
    free(tokens.items);
    characters_close(characters);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static File vocabulary, merges;
    size_t first = part(bytes, size),
           second = first < size ? part(bytes + first + 1, size - first - 1) : 0;
    size_t text = first + second + 2 < size ? first + second + 2 : size;
    write_file(&vocabulary, bytes, first);
    write_file(&merges, bytes + (first < size ? first + 1 : size), second);
    encode_merged(vocabulary.path, merges.path, bytes + text, size - text);
    encode_characters(vocabulary.path, bytes + text, size - text);
    return 0;
}
