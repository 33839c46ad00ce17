#include "runtime/sieve.h"

#include <pthread.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 1024 /* a power of two */ };

struct Sieve {
    pthread_mutex_t mutex;
    int64_t *positions; /* a ring: that of passing record i is at i % capacity */
    int64_t capacity;
    int64_t first, count; /* passing records: the oldest that is kept; all */
    int64_t seen;
};

Sieve *sieve_new(void) {
    Sieve *sieve = calloc(1, sizeof *sieve);
    if (sieve) pthread_mutex_init(&sieve->mutex, NULL);
    return sieve;
}

void sieve_free(Sieve *sieve) {
    if (!sieve) return;
    pthread_mutex_destroy(&sieve->mutex);
    free(sieve->positions);
    free(sieve);
}

static int64_t *place(const Sieve *sieve, int64_t number) {
    return &sieve->positions[number & (sieve->capacity - 1)];
}

static bool make_room(Sieve *sieve) {
    Sieve larger = *sieve;
    if (sieve->count - sieve->first < sieve->capacity) return true;
    larger.capacity = sieve->capacity ? 2 * sieve->capacity : FIRST_CAPACITY;
    larger.positions = calloc((size_t)larger.capacity, sizeof *larger.positions);
    if (!larger.positions) return false;
    for (int64_t i = sieve->first; i < sieve->count; i++) *place(&larger, i) = *place(sieve, i);
    free(sieve->positions);
    sieve->positions = larger.positions;
    sieve->capacity = larger.capacity;
    return true;
}

bool sieve_add(Sieve *sieve, bool passes) {
    pthread_mutex_lock(&sieve->mutex);
    bool good = !passes || make_room(sieve);
    if (good && passes) *place(sieve, sieve->count++) = sieve->seen;
    if (good) sieve->seen++;
    pthread_mutex_unlock(&sieve->mutex);
    return good;
}

int64_t sieve_seen(Sieve *sieve) {
    pthread_mutex_lock(&sieve->mutex);
    int64_t seen = sieve->seen;
    pthread_mutex_unlock(&sieve->mutex);
    return seen;
}

int64_t sieve_count(Sieve *sieve) {
    pthread_mutex_lock(&sieve->mutex);
    int64_t count = sieve->count;
    pthread_mutex_unlock(&sieve->mutex);
    return count;
}

int64_t sieve_at(Sieve *sieve, int64_t number) {
    pthread_mutex_lock(&sieve->mutex);
    int64_t position = *place(sieve, number);
    pthread_mutex_unlock(&sieve->mutex);
    return position;
}

int64_t sieve_forget(Sieve *sieve, int64_t before) {
    pthread_mutex_lock(&sieve->mutex);
    if (before > sieve->count) before = sieve->count;
    if (before > sieve->first) sieve->first = before;
    int64_t position = sieve->first < sieve->count ? *place(sieve, sieve->first) : sieve->seen;
    pthread_mutex_unlock(&sieve->mutex);
    return position;
}
