/* Permutation: a generalised Feistel cipher with cycle walking, after Black & Rogaway,
 * "Ciphers with arbitrary finite domains", CT-RSA 2002, methods 2 and 3. A position is
 * written as (l, r) with l < left, r < right; each round adds a hash of one half to the
 * other, which can be undone, so the whole is a bijection of left * right numbers. Results
 * beyond `size` are enciphered again until they fall inside; there are fewer than
 * sqrt(size) + 1 of them, so that is rare.
 *
 * The hash is `mix`, shortened: six rounds of it are enough for a shuffle, which has no enemy. */
#include "runtime/permutation.h"

#include "runtime/mix.h"
#include "runtime/processors.h"

#include <math.h>
#include <stdbool.h>

enum {
    ROUNDS = 3, /* double rounds */
    BLOCK = 64, /* numbers that are enciphered at the same time; of no use for less than: */
    FEW = 12,
};

static const uint64_t golden = 0x9e3779b97f4a7c15;

/* A number below `limit` (< 2^32), from a key of the round. */
static inline uint64_t hash_below(uint64_t half, uint64_t key, uint64_t limit) {
    uint64_t x = (half + key) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 29) * 0x94d049bb133111eb;
    return (x >> 32) * limit >> 32;
}

static uint64_t add_modulo(uint64_t a, uint64_t b, uint64_t limit) {
    uint64_t sum = a + b;
    return sum >= limit ? sum - limit : sum;
}

static uint64_t square_root_up(uint64_t n) {
    uint64_t root = (uint64_t)sqrt((double)n);
    return root * root < n ? root + 1 : root;
}

static Permutation of_key(int64_t size, uint64_t key) {
    uint64_t left = square_root_up((uint64_t)size);
    return (Permutation){
        .size = (uint64_t)size,
        .left = left,
        .right = ((uint64_t)size + left - 1) / left,
        .key = key,
    };
}

Permutation permutation_new(int64_t size, uint64_t seed, int64_t epoch) {
    return of_key(size, mix(mix(seed + golden) + (uint64_t)epoch * golden));
}

static inline uint64_t encipher(const Permutation *p, uint64_t x) {
    uint64_t l = x % p->left, r = x / p->left, key = p->key;
    for (int i = 0; i < ROUNDS; i++) {
        l = add_modulo(l, hash_below(r, key += golden, p->left), p->left);
        r = add_modulo(r, hash_below(l, key += golden, p->right), p->right);
    }
    return r * p->left + l;
}

/* A number as (l, r). A division of doubles, unlike one of whole numbers, is done for several at a
 * time; its quotient is off by one at most. */
static inline void split(uint64_t x, uint64_t left, uint64_t *l, uint64_t *r) {
    int64_t quotient = (int64_t)((double)(int64_t)x / (double)(int64_t)left);
    int64_t rest = (int64_t)(x - (uint64_t)quotient * left), size = (int64_t)left;
    int64_t more = (rest >= size) - (rest < 0);
    *r = (uint64_t)(quotient + more);
    *l = (uint64_t)(rest - (rest >= size ? size : 0) + (rest < 0 ? size : 0));
}

/* The same of several, at most BLOCK: each step of all before the next step, which do not wait for
 * each other. */
FOR_EACH_PROCESSOR
static void encipher_each(const Permutation *permutation, int64_t *numbers, int count) {
    const Permutation p = *permutation;
    uint64_t l[BLOCK], r[BLOCK], key = p.key;
    for (int i = 0; i < count; i++) split((uint64_t)numbers[i], p.left, &l[i], &r[i]);
    for (int round = 0; round < ROUNDS; round++) {
        key += golden;
        for (int i = 0; i < count; i++)
            l[i] = add_modulo(l[i], hash_below(r[i], key, p.left), p.left);
        key += golden;
        for (int i = 0; i < count; i++)
            r[i] = add_modulo(r[i], hash_below(l[i], key, p.right), p.right);
    }
    for (int i = 0; i < count; i++) numbers[i] = (int64_t)(r[i] * p.left + l[i]);
}

static inline bool is_beyond(const Permutation *permutation, int64_t number) {
    return (uint64_t)number >= permutation->size;
}

int64_t permutation_at(const Permutation *permutation, int64_t position) {
    do position = (int64_t)encipher(permutation, (uint64_t)position);
    while (is_beyond(permutation, position));
    return position;
}

void permutation_each(const Permutation *permutation, int64_t *positions, int count) {
    int done = 0;
    for (int size; count - done >= FEW; done += size) {
        size = count - done < BLOCK ? count - done : BLOCK;
        encipher_each(permutation, positions + done, size);
    }
    for (int i = 0; i < count; i++)
        if (i >= done || is_beyond(permutation, positions[i]))
            positions[i] = permutation_at(permutation, positions[i]);
}

int64_t permutation_within(const Permutation *permutation, int64_t window, int64_t size,
                           int64_t position) {
    int64_t block = position / window, first = block * window;
    int64_t records = size - first < window ? size - first : window;
    Permutation own = of_key(records, mix(permutation->key + (uint64_t)block * golden));
    return first + permutation_at(&own, position - first);
}
