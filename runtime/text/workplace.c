#include "runtime/text/workplace.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 256 };

bool tokens_reserve(TokenList *list, size_t more) {
    size_t wanted = list->count + more, capacity = list->capacity ? list->capacity : FIRST_TOKENS;
    if (wanted <= list->capacity) return true;
    while (capacity < wanted) capacity *= 2;
    int32_t *items =
        own_resize(list->items, list->capacity * sizeof *items, capacity * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

static void workplace_free(void *pointer) {
    Workplace *place = pointer;
    Room *rooms[] = {&place->text, &place->decoded, &place->merging};
    TokenList *lists[] = {&place->tokens, &place->kept};
    for (int i = 0; i < 3; i++) room_free(rooms[i]);
    for (int i = 0; i < 2; i++)
        own_free(lists[i]->items, lists[i]->capacity * sizeof *lists[i]->items);
    for (int i = 0; i < WORKPLACE_TOKENIZERS; i++) room_free(&place->known[i].words);
    free(place);
}

Workplace *workplace(void) {
    static ThreadOwn places = {.size = sizeof(Workplace), .end = workplace_free};
    return thread_own(&places);
}

KnownWord *workplace_words(Workplace *place, uint64_t tokenizer) {
    for (int i = 0; i < WORKPLACE_TOKENIZERS; i++)
        if (place->known[i].tokenizer == tokenizer) return place->known[i].words.bytes;
    KnownWords *known = &place->known[place->next_known++ % WORKPLACE_TOKENIZERS];
    size_t size = KNOWN_WORDS * sizeof(KnownWord);
    KnownWord *words = room_for(&known->words, size);
    known->tokenizer = words ? tokenizer : 0;
    return words ? memset(words, 0, size) : NULL;
}
