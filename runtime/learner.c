/* Learner: texts are numbered as they come, and a table of places, at most half full, finds
 * their numbers. What it has found in the end does not depend on the order in which threads
 * bring them. */
#include "runtime/learner.h"

#include "runtime/bounds.h"
#include "runtime/mix.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    BYTES_LIMIT = 64 << 20,
    FIRST_NUMBER = CATEGORY_LIMIT, /* above what stands for a text that is missing or unknown */
    FIRST_CAPACITY = 16,
};

typedef struct Seen {
    char *text;
    size_t size;
    int64_t times; /* that it was counted */
} Seen;

struct Learner {
    TextSeer seer; /* first: what its functions get */
    pthread_mutex_t mutex;
    bool full; /* there were more than can be remembered */
    bool numbers;
    Seen *seen; /* one a text, in the order in which they came */
    int count;
    int *places;     /* 1 + a text; 0: empty */
    size_t capacity; /* places, a power of two; half as many texts */
    size_t bytes;
    const char **texts; /* of learner_texts */
};

static uint64_t hash(const char *text, size_t size) {
    uint64_t value = size;
    for (size_t i = 0; i < size; i++) value = mix(value ^ (unsigned char)text[i]);
    return value;
}

static int *find(const Learner *learner, const char *text, size_t size) {
    for (size_t at = (size_t)hash(text, size);; at++) {
        int *place = &learner->places[at & (learner->capacity - 1)];
        const Seen *seen = *place ? &learner->seen[*place - 1] : NULL;
        if (!seen || (seen->size == size && !memcmp(seen->text, text, size))) return place;
    }
}

static bool grow(Learner *learner) {
    size_t capacity = learner->capacity ? 2 * learner->capacity : FIRST_CAPACITY;
    Seen *seen = realloc(learner->seen, capacity / 2 * sizeof *seen);
    if (seen) learner->seen = seen;
    int *places = seen ? calloc(capacity, sizeof *places) : NULL;
    if (!places) return false;
    free(learner->places);
    learner->places = places;
    learner->capacity = capacity;
    for (int i = 0; i < learner->count; i++) *find(learner, seen[i].text, seen[i].size) = i + 1;
    return true;
}

static bool add(Learner *learner, int *place, const char *text, size_t size) {
    if (learner->count == CATEGORY_LIMIT || learner->bytes + size > BYTES_LIMIT) return false;
    char *own = malloc(size + 1);
    if (!own) return false;
    memcpy(own, text, size);
    own[size] = 0;
    learner->seen[learner->count++] = (Seen){.text = own, .size = size};
    learner->bytes += size + 1;
    *place = learner->count;
    return true;
}

/* The text; -1: there is no room for it. */
static int remember(Learner *learner, const char *text, size_t size) {
    if ((size_t)learner->count * 2 >= learner->capacity && !grow(learner)) return -1;
    int *place = find(learner, text, size);
    return *place || add(learner, place, text, size) ? *place - 1 : -1;
}

static int see(TextSeer *seer, const char *text, size_t size) {
    Learner *learner = (Learner *)seer;
    int seen = 0;
    if (size > CATEGORY_SIZE || memchr(text, 0, size)) return -1;
    pthread_mutex_lock(&learner->mutex);
    if (!learner->full) learner->full = (seen = remember(learner, text, size)) < 0;
    bool numbers = learner->numbers && !learner->full;
    pthread_mutex_unlock(&learner->mutex);
    return numbers ? FIRST_NUMBER + seen : 0;
}

static void count(TextSeer *seer, int number) {
    Learner *learner = (Learner *)seer;
    if (number < FIRST_NUMBER) return;
    pthread_mutex_lock(&learner->mutex);
    learner->seen[number - FIRST_NUMBER].times++;
    pthread_mutex_unlock(&learner->mutex);
}

Learner *learner_new(void) {
    Learner *learner = calloc(1, sizeof *learner);
    if (!learner) return NULL;
    learner->seer = (TextSeer){see, count};
    pthread_mutex_init(&learner->mutex, NULL);
    return learner;
}

void learner_free(Learner *learner) {
    if (!learner) return;
    for (int i = 0; i < learner->count; i++) free(learner->seen[i].text);
    free(learner->seen);
    free(learner->places);
    free(learner->texts);
    pthread_mutex_destroy(&learner->mutex);
    free(learner);
}

TextSeer *learner_seer(Learner *learner) {
    return &learner->seer;
}

void learner_number(Learner *learner) {
    learner->numbers = true;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(((const Seen *)a)->text, ((const Seen *)b)->text);
}

static int by_times(const void *a, const void *b) {
    int64_t x = ((const Seen *)a)->times, y = ((const Seen *)b)->times;
    return x != y ? (x > y ? -1 : 1) : by_bytes(a, b);
}

/* Those that are kept of a copy that is sorted. */
static void choose(const Seen *seen, size_t count, size_t most, Seen *sorted, const char **texts) {
    memcpy(sorted, seen, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_times);
    if (count > most) count = most;
    qsort(sorted, count, sizeof *sorted, by_bytes);
    for (size_t i = 0; i < count; i++) texts[i] = sorted[i].text;
}

const char *const *learner_texts(Learner *learner, int64_t most, int64_t *count) {
    size_t all = (size_t)learner->count;
    *count = learner->count;
    if (learner->full) return NULL;
    free(learner->texts);
    learner->texts = malloc((all + 1) * sizeof *learner->texts);
    Seen *sorted = malloc((all + 1) * sizeof *sorted);
    bool made = learner->texts && sorted;
    if (made && all) choose(learner->seen, all, (size_t)most, sorted, learner->texts);
    free(sorted);
    return made ? learner->texts : NULL;
}
