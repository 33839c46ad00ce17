#include "runtime/text/workplace.h"

#include "runtime/holdings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 256 };

static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* As realloc to a larger size: it counts as what the threads hold. */
static void *counted_resize(void *bytes, size_t before, size_t after) {
    if (!holding_take(NULL, HOLDING_decoders, after - before)) return NULL;
    void *larger = realloc(bytes, after);
    if (!larger) holding_give(NULL, HOLDING_decoders, after - before);
    return larger;
}

static void counted_free(void *bytes, size_t size) {
    free(bytes);
    holding_give(NULL, HOLDING_decoders, size);
}

bool tokens_reserve(TokenList *list, size_t more) {
    size_t wanted = list->count + more, capacity = list->capacity ? list->capacity : FIRST_TOKENS;
    if (wanted <= list->capacity) return true;
    while (capacity < wanted) capacity *= 2;
    int32_t *items =
        counted_resize(list->items, list->capacity * sizeof *items, capacity * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

char *buffer_for(Buffer *buffer, size_t size) {
    if (size <= buffer->size) return buffer->bytes;
    counted_free(buffer->bytes, buffer->size);
    buffer->bytes = counted_resize(NULL, 0, size);
    buffer->size = buffer->bytes ? size : 0;
    return buffer->bytes;
}

static void workplace_free(void *pointer) {
    Workplace *place = pointer;
    Buffer *buffers[] = {&place->text, &place->decoded, &place->merging};
    TokenList *lists[] = {&place->tokens, &place->kept};
    for (int i = 0; i < 3; i++) counted_free(buffers[i]->bytes, buffers[i]->size);
    for (int i = 0; i < 2; i++)
        counted_free(lists[i]->items, lists[i]->capacity * sizeof *lists[i]->items);
    for (int i = 0; i < WORKPLACE_TOKENIZERS; i++)
        if (place->known[i].words)
            counted_free(place->known[i].words, KNOWN_WORDS * sizeof(KnownWord));
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
    if (!known->words) known->words = counted_resize(NULL, 0, size);
    if (!known->words) return NULL;
    memset(known->words, 0, size);
    known->tokenizer = tokenizer;
    return known->words;
}
