#include "runtime/text/tokenizer.h"

#include "runtime/text/bpe.h"
#include "runtime/text/characters.h"
#include "runtime/type.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 1 << 20 /* bytes of the text before, at most */ };

struct Tokenizer {
    FlowTokenKind kind;
    uint64_t number; /* tells it from others that were ever opened */
    Characters *characters;
    Bpe *bpe;
    char *vocabulary, *merges; /* the paths that were found */
};

/* Opening. */

static FlowStatus find_files(Tokenizer *tokenizer, const FlowTokens *tokens, const Places *places,
                             PathOwner owner) {
    FlowStatus status = path_to_read(places, tokens->vocabulary, tokens->vocabulary_option, owner,
                                     &tokenizer->vocabulary);
    if (status.exit) return status;
    return path_to_read(places, tokens->merges, tokens->merges_option, owner, &tokenizer->merges);
}

static FlowStatus open_kind(Tokenizer *tokenizer, const FlowTokens *tokens) {
    switch (tokens->kind) {
    case FLOW_TOKENS_bytes: break;
    case FLOW_TOKENS_characters:
        return characters_open(tokens->alphabet, tokenizer->vocabulary, tokens->unknown,
                               &tokenizer->characters);
    case FLOW_TOKENS_bpe:
        return bpe_open(tokenizer->vocabulary, tokenizer->merges, &tokenizer->bpe);
    }
    return flow_ok;
}

FlowStatus tokenizer_open(const FlowTokens *tokens, const Places *places, PathOwner owner,
                          Tokenizer **out) {
    static _Atomic uint64_t opened;
    Tokenizer *tokenizer = *out = calloc(1, sizeof *tokenizer);
    if (!tokenizer) return flow_failure(FLOW_EXIT_resource, "no memory for tokens");
    tokenizer->kind = tokens->kind;
    tokenizer->number = ++opened;
    FlowStatus status = find_files(tokenizer, tokens, places, owner);
    if (!status.exit) status = open_kind(tokenizer, tokens);
    if (!status.exit) return status;
    tokenizer_close(tokenizer);
    *out = NULL;
    return status;
}

void tokenizer_close(Tokenizer *tokenizer) {
    if (!tokenizer) return;
    characters_close(tokenizer->characters);
    bpe_close(tokenizer->bpe);
    free(tokenizer->vocabulary);
    free(tokenizer->merges);
    free(tokenizer);
}

static bool are_same(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

bool tokenizers_equal(const FlowTokens *a, const FlowTokens *b) {
    return a->kind == b->kind && are_same(a->alphabet, b->alphabet) &&
           are_same(a->vocabulary, b->vocabulary) && are_same(a->merges, b->merges) &&
           a->vocabulary_option == b->vocabulary_option && a->merges_option == b->merges_option &&
           a->unknown == b->unknown;
}

int64_t tokenizer_limit(const Tokenizer *tokenizer) {
    switch (tokenizer->kind) {
    case FLOW_TOKENS_bytes: break;
    case FLOW_TOKENS_characters: return characters_limit(tokenizer->characters);
    case FLOW_TOKENS_bpe: return bpe_limit(tokenizer->bpe);
    }
    return 256;
}

/* Tokens of a text. */

static FlowStatus no_memory(void) {
    return flow_failure(FLOW_EXIT_resource, "takes more memory than there is");
}

static FlowStatus encode_bytes(const char *text, size_t size, TokenList *tokens) {
    if (!tokens_reserve(tokens, size)) return no_memory();
    for (size_t i = 0; i < size; i++) tokens->items[i] = (unsigned char)text[i];
    tokens->count = size;
    return flow_ok;
}

static FlowStatus encode(const Tokenizer *tokenizer, const char *text, size_t size,
                         Workplace *place) {
    place->tokens.count = 0;
    if (!tokens_reserve(&place->tokens, 1)) return no_memory();
    switch (tokenizer->kind) {
    case FLOW_TOKENS_bytes: return encode_bytes(text, size, &place->tokens);
    case FLOW_TOKENS_characters:
        return characters_encode(tokenizer->characters, text, size, &place->tokens);
    case FLOW_TOKENS_bpe:
        return bpe_encode(tokenizer->bpe, tokenizer->number, text, size, place, &place->tokens);
    }
    return flow_ok;
}

/* Several fields may be made of one text. */
static bool is_remembered(const Workplace *place, uint64_t tokenizer, const char *text,
                          size_t size) {
    return place->tokenizer == tokenizer && place->text_size == size &&
           !memcmp(place->text.bytes, text, size);
}

static FlowStatus remember(Workplace *place, uint64_t tokenizer, const char *text, size_t size) {
    place->tokenizer = 0;
    if (size > REMEMBERED) return flow_ok;
    if (!room_for(&place->text, size + 1)) return no_memory();
    memcpy(place->text.bytes, text, size);
    place->text_size = size;
    place->tokenizer = tokenizer;
    return flow_ok;
}

/* Into place->tokens. */
static FlowStatus encode_once(const Tokenizer *tokenizer, const char *text, size_t size,
                              Workplace *place) {
    if (is_remembered(place, tokenizer->number, text, size)) return flow_ok;
    place->tokenizer = 0;
    FlowStatus status = encode(tokenizer, text, size, place);
    return status.exit ? status : remember(place, tokenizer->number, text, size);
}

/* Tokens as a value. */

static FlowStatus make_exact(const TokenList *tokens, const FlowType *type, void *value) {
    if (tokens->count * sizeof *tokens->items != flow_type_size(type))
        return flow_failure(FLOW_EXIT_data, "has %zu tokens, the program expects %s", tokens->count,
                            type_name(type).text);
    memcpy(value, tokens->items, tokens->count * sizeof *tokens->items);
    return flow_ok;
}

static FlowStatus make_padded(const TokenList *tokens, const FlowField *field, int32_t *value) {
    size_t room = flow_type_size(&field->type) / sizeof *value;
    size_t kept = tokens->count < room ? tokens->count : room;
    FlowTokenCut cut = field->tokens->cut;
    if (kept < tokens->count && cut == FLOW_CUT_nothing)
        return flow_failure(FLOW_EXIT_data,
                            "has %zu tokens, the program expects %zu at most; `pad(…, cut = "
                            "\"end\")` leaves out the rest",
                            tokens->count, room);
    const int32_t *first = tokens->items + (cut == FLOW_CUT_start ? tokens->count - kept : 0);
    memcpy(value, first, kept * sizeof *value);
    for (size_t i = kept; i < room; i++) value[i] = field->tokens->filling;
    return flow_ok;
}

static FlowStatus make_length(const TokenList *tokens, int32_t *value) {
    *value = (int32_t)tokens->count;
    return flow_ok;
}

static FlowStatus make_span(Workplace *place, TokenSpan *span) {
    place->kept.count = 0;
    if (!tokens_reserve(&place->kept, place->tokens.count + 1)) return no_memory();
    memcpy(place->kept.items, place->tokens.items, place->tokens.count * sizeof(int32_t));
    *span = (TokenSpan){(int64_t)(uintptr_t)place->kept.items, (int64_t)place->tokens.count};
    return flow_ok;
}

FlowStatus tokenizer_value(const char *text, uint64_t size, const FlowField *field, void *value) {
    Workplace *place = workplace();
    FlowStatus status =
        place ? encode_once(field->tokenizer, text, (size_t)size, place) : no_memory();
    if (status.exit) return status;
    if (place->tokens.count > INT32_MAX)
        return flow_failure(FLOW_EXIT_data, "has more than %d tokens", INT32_MAX);
    switch (field->tokens->use) {
    case FLOW_TOKENS_exact: return make_exact(&place->tokens, &field->type, value);
    case FLOW_TOKENS_padded: return make_padded(&place->tokens, field, value);
    case FLOW_TOKENS_length: return make_length(&place->tokens, value);
    case FLOW_TOKENS_span: return make_span(place, value);
    }
    return flow_ok;
}
