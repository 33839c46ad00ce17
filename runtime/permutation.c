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

#include <math.h>

enum { ROUNDS = 3 }; /* double rounds */

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

static inline int64_t walk(const Permutation *permutation, int64_t position) {
    uint64_t x = (uint64_t)position;
    do x = encipher(permutation, x);
    while (x >= permutation->size);
    return (int64_t)x;
}

int64_t permutation_at(const Permutation *permutation, int64_t position) {
    return walk(permutation, position);
}

void permutation_each(const Permutation *permutation, int64_t *positions, int count) {
    for (int i = 0; i < count; i++) positions[i] = walk(permutation, positions[i]);
}

int64_t permutation_within(const Permutation *permutation, int64_t window, int64_t size,
                           int64_t position) {
    int64_t block = position / window, first = block * window;
    int64_t records = size - first < window ? size - first : window;
    Permutation own = of_key(records, mix(permutation->key + (uint64_t)block * golden));
    return first + permutation_at(&own, position - first);
}
