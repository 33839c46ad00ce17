#include "runtime/text/workplace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 256 };

static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

bool tokens_reserve(TokenList *list, size_t more) {
    size_t wanted = list->count + more, capacity = list->capacity ? list->capacity : FIRST_TOKENS;
    if (wanted <= list->capacity) return true;
    while (capacity < wanted) capacity *= 2;
    int32_t *items = realloc(list->items, capacity * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

char *buffer_for(Buffer *buffer, size_t size) {
    if (size <= buffer->size) return buffer->bytes;
    free(buffer->bytes);
    buffer->bytes = malloc(size);
    buffer->size = buffer->bytes ? size : 0;
    return buffer->bytes;
}

static void workplace_free(void *pointer) {
    Workplace *place = pointer;
    free(place->text.bytes);
    free(place->tokens.items);
    free(place->kept.items);
    free(place->decoded.bytes);
    free(place->merging.bytes);
    for (int i = 0; i < WORKPLACE_TOKENIZERS; i++) free(place->known[i].words);
    free(place);
}

static void make_key(void) {
    has_key = !pthread_key_create(&key, workplace_free);
}

Workplace *workplace(void) {
    if (pthread_once(&once, make_key) || !has_key) return NULL;
    Workplace *place = pthread_getspecific(key);
    if (place) return place;
    place = calloc(1, sizeof *place);
    if (!place || !pthread_setspecific(key, place)) return place;
    free(place);
    return NULL;
}

KnownWord *workplace_words(Workplace *place, uint64_t tokenizer) {
    for (int i = 0; i < WORKPLACE_TOKENIZERS; i++)
        if (place->known[i].tokenizer == tokenizer) return place->known[i].words;
    KnownWords *known = &place->known[place->next_known++ % WORKPLACE_TOKENIZERS];
    size_t size = KNOWN_WORDS * sizeof *known->words;
    known->tokenizer = 0;
    if (!known->words) known->words = malloc(size);
    if (!known->words) return NULL;
    memset(known->words, 0, size);
    known->tokenizer = tokenizer;
    return known->words;
}
