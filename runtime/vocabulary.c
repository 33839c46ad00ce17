/* Vocabulary: a table of places, at most half full; a text that finds its place taken goes to the next. */
#include "runtime/vocabulary.h"

#include "runtime/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
    const char *text; /* NULL: empty */
    size_t size;
    int index;
} Entry;

struct Vocabulary {
    Learner *learner; /* or NULL */
    size_t capacity;  /* a power of two */
    Entry entries[];
};

static uint64_t hash(const char *text, size_t size) {
    uint64_t value = size, word;
    for (; size >= sizeof word; text += sizeof word, size -= sizeof word) {
        memcpy(&word, text, sizeof word);
        value = mix(value ^ word);
    }
    word = 0;
    memcpy(&word, text, size);
    return mix(value ^ word);
}

/* The entry of the text, or the empty one where it would be. */
static const Entry *find(const Vocabulary *vocabulary, const char *text, size_t size) {
    size_t at = (size_t)hash(text, size);
    for (;; at++) {
        const Entry *entry = &vocabulary->entries[at & (vocabulary->capacity - 1)];
        if (!entry->text || (entry->size == size && !memcmp(entry->text, text, size))) return entry;
    }
}

static void add(Vocabulary *vocabulary, const char *text, int index) {
    size_t size = strlen(text);
    Entry *entry = (Entry *)find(vocabulary, text, size);
    if (entry->text) return;
    *entry = (Entry){text, size, index};
}

Vocabulary *vocabulary_new(const char *const *texts, int count) {
    size_t capacity = 2;
    while (capacity < 2 * (size_t)count) capacity *= 2;
    Vocabulary *vocabulary = calloc(1, sizeof *vocabulary + capacity * sizeof(Entry));
    if (!vocabulary) return NULL;
    vocabulary->capacity = capacity;
    for (int i = 0; i < count; i++)
        if (texts[i]) add(vocabulary, texts[i], i);
    return vocabulary;
}

Vocabulary *vocabulary_of(const FlowField *field) {
    Vocabulary *vocabulary = vocabulary_new(field->categories, field->category_count);
    if (vocabulary) vocabulary->learner = field->learner;
    return vocabulary;
}

void vocabulary_free(Vocabulary *vocabulary) {
    free(vocabulary);
}

int vocabulary_find(const Vocabulary *vocabulary, const char *text, size_t size) {
    if (vocabulary->learner) return vocabulary->learner->see(vocabulary->learner, text, size) - 1;
    const Entry *entry = find(vocabulary, text, size);
    return entry->text ? entry->index : -1;
}

VocabularyFault vocabulary_fault(const FlowField *field) {
    VocabularyFault fault;
    snprintf(fault.text, sizeof fault.text,
             field->learner      ? "too long for a category, or has a byte that is 0"
             : field->vocabulary ? "none of those that the training data has"
                                 : "none of its %d categories",
             field->category_count);
    return fault;
}
