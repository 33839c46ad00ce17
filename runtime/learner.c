/* Learner: a table of places, at most half full, that grows. What it has found does not depend on the order
 * in which threads bring the texts. */
#include "runtime/learner.h"

#include "runtime/mix.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_LIMIT = 1 << 20, BYTES_LIMIT = 64 << 20 };

typedef struct Seen {
    char *text; /* NULL: an empty place */
    size_t size;
    int64_t times;
} Seen;

struct TextLearner {
    Learner learner; /* first: what see() gets */
    pthread_mutex_t mutex;
    bool full; /* there were more than can be remembered */
    Seen *seen;
    size_t capacity; /* a power of two */
    int64_t count;
    size_t bytes;
    const char **texts; /* of learner_texts */
};

static uint64_t hash(const char *text, size_t size) {
    uint64_t value = size;
    for (size_t i = 0; i < size; i++) value = mix(value ^ (unsigned char)text[i]);
    return value;
}

static Seen *find(Seen *seen, size_t capacity, const char *text, size_t size) {
    for (size_t at = (size_t)hash(text, size);; at++) {
        Seen *place = &seen[at & (capacity - 1)];
        if (!place->text || (place->size == size && !memcmp(place->text, text, size))) return place;
    }
}

static bool grow(TextLearner *learner) {
    size_t capacity = learner->capacity ? 2 * learner->capacity : 16;
    Seen *larger = calloc(capacity, sizeof *larger);
    if (!larger) return false;
    for (size_t i = 0; i < learner->capacity; i++)
        if (learner->seen[i].text)
            *find(larger, capacity, learner->seen[i].text, learner->seen[i].size) =
                learner->seen[i];
    free(learner->seen);
    learner->seen = larger;
    learner->capacity = capacity;
    return true;
}

static bool add(TextLearner *learner, Seen *place, const char *text, size_t size) {
    if (learner->count == TEXT_LIMIT || learner->bytes + size > BYTES_LIMIT) return false;
    char *own = malloc(size + 1);
    if (!own) return false;
    memcpy(own, text, size);
    own[size] = 0;
    *place = (Seen){own, size, 1};
    learner->count++;
    learner->bytes += size + 1;
    return true;
}

static bool remember(TextLearner *learner, const char *text, size_t size) {
    if ((size_t)learner->count * 2 >= learner->capacity && !grow(learner)) return false;
    Seen *place = find(learner->seen, learner->capacity, text, size);
    if (!place->text) return add(learner, place, text, size);
    place->times++;
    return true;
}

static bool see(Learner *seeing, const char *text, size_t size) {
    TextLearner *learner = (TextLearner *)seeing;
    if (size > CATEGORY_SIZE || memchr(text, 0, size)) return false;
    pthread_mutex_lock(&learner->mutex);
    if (!learner->full) learner->full = !remember(learner, text, size);
    pthread_mutex_unlock(&learner->mutex);
    return true;
}

TextLearner *learner_new(void) {
    TextLearner *learner = calloc(1, sizeof *learner);
    if (!learner) return NULL;
    learner->learner.see = see;
    pthread_mutex_init(&learner->mutex, NULL);
    return learner;
}

void learner_free(TextLearner *learner) {
    if (!learner) return;
    for (size_t i = 0; i < learner->capacity; i++) free(learner->seen[i].text);
    free(learner->seen);
    free(learner->texts);
    pthread_mutex_destroy(&learner->mutex);
    free(learner);
}

Learner *learner_of(TextLearner *learner) {
    return &learner->learner;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(((const Seen *)a)->text, ((const Seen *)b)->text);
}

static int by_times(const void *a, const void *b) {
    int64_t x = ((const Seen *)a)->times, y = ((const Seen *)b)->times;
    return x != y ? (x > y ? -1 : 1) : by_bytes(a, b);
}

const char *const *learner_texts(TextLearner *learner, int64_t most, int64_t *count) {
    size_t used = 0, left = (size_t)learner->count;
    Seen *seen = malloc((left + 1) * sizeof *seen);
    free(learner->texts);
    learner->texts = malloc((left + 1) * sizeof *learner->texts);
    if (seen && learner->texts && !learner->full) {
        for (size_t i = 0; i < learner->capacity; i++)
            if (learner->seen[i].text) seen[used++] = learner->seen[i];
        qsort(seen, used, sizeof *seen, by_times);
        if (left > (size_t)most) left = (size_t)most;
        qsort(seen, left, sizeof *seen, by_bytes);
        for (size_t i = 0; i < left; i++) learner->texts[i] = seen[i].text;
    }
    bool made = seen && learner->texts && !learner->full;
    free(seen);
    *count = learner->count;
    return made ? learner->texts : NULL;
}
