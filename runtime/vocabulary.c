/* Vocabulary: a table, at most half full; a text whose place is taken goes to the next. */
#include "runtime/vocabulary.h"

#include "runtime/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first and the last bytes of a text; they say all of one that is short. */
typedef struct Ends {
    uint64_t first, last;
} Ends;

typedef struct Entry {
    const char *text; /* NULL: empty */
    size_t size;
    Ends ends;
    int index;
} Entry;

struct Vocabulary {
    TextSeer *seer;  /* or NULL */
    size_t capacity; /* a power of two */
    Entry entries[];
};

enum { SHORT = 2 * sizeof(uint64_t) };

static uint64_t eight_at(const char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

static uint64_t four_at(const char *text) {
    uint32_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

static Ends ends_of(const char *text, size_t size) {
    if (size >= 8) return (Ends){eight_at(text), eight_at(text + size - 8)};
    if (size >= 4) return (Ends){four_at(text), four_at(text + size - 4)};
    Ends ends = {0};
    memcpy(&ends.first, text, size);
    return ends;
}

static uint64_t hash(Ends ends, const char *text, size_t size) {
    uint64_t value = mix(ends.first ^ ends.last * 0x9e3779b97f4a7c15 ^ size);
    for (size_t at = 8; size > SHORT && at + 8 < size; at += 8)
        value = mix(value ^ eight_at(text + at));
    return value;
}

static bool is_of(const Entry *entry, Ends ends, const char *text, size_t size) {
    return entry->size == size && entry->ends.first == ends.first &&
           entry->ends.last == ends.last && (size <= SHORT || !memcmp(entry->text, text, size));
}

/* The entry of the text, or the empty one where it would be. */
static const Entry *find(const Vocabulary *vocabulary, const char *text, size_t size) {
    Ends ends = ends_of(text, size);
    size_t at = (size_t)hash(ends, text, size);
    for (;; at++) {
        const Entry *entry = &vocabulary->entries[at & (vocabulary->capacity - 1)];
        if (!entry->text || is_of(entry, ends, text, size)) return entry;
    }
}

static void add(Vocabulary *vocabulary, const char *text, int index) {
    size_t size = strlen(text);
    Entry *entry = (Entry *)find(vocabulary, text, size);
    if (entry->text) return;
    *entry = (Entry){text, size, ends_of(text, size), index};
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

bool vocabulary_bind(FlowField *field, Vocabulary **own) {
    *own = NULL;
    if (!field->categories && !field->seer) return true;
    Vocabulary *vocabulary = vocabulary_new(field->categories, field->category_count);
    if (vocabulary) vocabulary->seer = field->seer;
    field->texts = *own = vocabulary;
    return vocabulary != NULL;
}

void vocabulary_free(Vocabulary *vocabulary) {
    free(vocabulary);
}

int vocabulary_find(const Vocabulary *vocabulary, const char *text, size_t size) {
    if (vocabulary->seer) return vocabulary->seer->see(vocabulary->seer, text, size);
    const Entry *entry = find(vocabulary, text, size);
    return entry->text ? entry->index : -1;
}

VocabularyFault vocabulary_fault(const FlowField *field) {
    VocabularyFault fault;
    snprintf(fault.text, sizeof fault.text,
             field->seer         ? "too long for a category, or has a byte that is 0"
             : field->vocabulary ? "none of those that the training data has"
                                 : "none of its %d categories",
             field->category_count);
    return fault;
}
