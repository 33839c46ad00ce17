/* Characters: a table of tokens for each 256 code points that have any. */
#include "runtime/text/characters.h"

#include "runtime/text/classes.h"
#include "runtime/text/listed.h"
#include "runtime/text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 256 };

struct Characters {
    int32_t *pages[CODE_LIMIT / PAGE]; /* NULL: none is known there */
    int32_t unknown;
    int64_t limit;
};

static FlowStatus no_memory(void) {
    return flow_failure(FLOW_EXIT_resource, "no memory for an alphabet");
}

static int32_t *new_page(void) {
    int32_t *page = malloc(PAGE * sizeof *page);
    for (int i = 0; page && i < PAGE; i++) page[i] = -1;
    return page;
}

static FlowStatus add(Characters *characters, uint32_t code, int32_t token) {
    int32_t **page = &characters->pages[code / PAGE];
    if (!*page && !(*page = new_page())) return no_memory();
    if ((*page)[code % PAGE] >= 0)
        return flow_failure(FLOW_EXIT_data, "an alphabet has U+%04X twice", (unsigned)code);
    (*page)[code % PAGE] = token;
    if (token >= characters->limit) characters->limit = token + 1;
    return flow_ok;
}

static FlowStatus add_alphabet(Characters *characters, const char *alphabet) {
    const unsigned char *at = (const unsigned char *)alphabet, *end = at + strlen(alphabet);
    FlowStatus status = flow_ok;
    for (int32_t token = 0; at < end && !status.exit; token++) {
        uint32_t code;
        at += utf8_first(at, end, &code);
        status = code == UTF8_NONE ? flow_failure(FLOW_EXIT_data, "an alphabet is no UTF-8")
                                   : add(characters, code, token);
    }
    return status;
}

static FlowStatus add_listed(Characters *characters, const Listed *listed) {
    FlowStatus status = flow_ok;
    for (int i = 0; i < listed->count && !status.exit; i++) {
        const unsigned char *text = (const unsigned char *)listed->texts[i];
        const unsigned char *end = text + strlen(listed->texts[i]);
        uint32_t code = UTF8_NONE;
        if (text == end || utf8_first(text, end, &code) != (size_t)(end - text))
            return flow_failure(FLOW_EXIT_data, "%s: `%.60s` is not one character", listed->path,
                                listed->texts[i]);
        status = add(characters, code, listed->numbers[i]);
    }
    return status;
}

static FlowStatus add_file(Characters *characters, const char *path) {
    Listed listed;
    FlowStatus status = listed_open(path, &listed);
    if (!status.exit) status = add_listed(characters, &listed);
    listed_close(&listed);
    return status;
}

FlowStatus characters_open(const char *alphabet, const char *path, int64_t unknown,
                           Characters **out) {
    Characters *characters = *out = calloc(1, sizeof *characters);
    if (!characters) return no_memory();
    FlowStatus status = alphabet ? add_alphabet(characters, alphabet) : add_file(characters, path);
    characters->unknown = (int32_t)unknown;
    if (unknown >= characters->limit) characters->limit = unknown + 1;
    if (!status.exit) return status;
    characters_close(characters);
    *out = NULL;
    return status;
}

void characters_close(Characters *characters) {
    for (int i = 0; characters && i < CODE_LIMIT / PAGE; i++) free(characters->pages[i]);
    free(characters);
}

int64_t characters_limit(const Characters *characters) {
    return characters->limit;
}

static int32_t token_of(const Characters *characters, uint32_t code) {
    const int32_t *page = code == UTF8_NONE ? NULL : characters->pages[code / PAGE];
    int32_t token = page ? page[code % PAGE] : -1;
    return token < 0 ? characters->unknown : token;
}

static FlowStatus not_known(const unsigned char *at, uint32_t code, size_t place) {
    char shown[8] = {0};
    if (code == UTF8_NONE)
        return flow_failure(FLOW_EXIT_data,
                            "has the byte 0x%02X at character %zu, which is no UTF-8", *at, place);
    if (code >= ' ' && code != 0x7f) utf8_write(code, shown);
    return flow_failure(FLOW_EXIT_data,
                        "has `%s` (U+%04X) at character %zu, which is not in its alphabet; "
                        "`unknown = …` says what stands for others",
                        shown, (unsigned)code, place);
}

FlowStatus characters_encode(const Characters *characters, const char *text, size_t size,
                             TokenList *tokens) {
    const unsigned char *at = (const unsigned char *)text, *end = at + size;
    if (!tokens_reserve(tokens, size)) return no_memory();
    for (size_t place = 1; at < end; place++) {
        uint32_t code;
        size_t length = utf8_first(at, end, &code);
        int32_t token = token_of(characters, code);
        if (token < 0) return not_known(at, code, place);
        tokens->items[tokens->count++] = token;
        at += length;
    }
    return flow_ok;
}
