/* SHA-256 (FIPS 180-4). */
#include "compiler/driver/sha256.h"

#include <stdio.h>
#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int bits) {
    return x >> bits | x << (32 - bits);
}

static void expand(const unsigned char *block, uint32_t w[64]) {
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

/* Round j of eight. What the standard calls a to h goes one place on in each: a is s[-j & 7]. */
static inline void one_round(uint32_t s[8], int j, uint32_t key) {
    const uint32_t a = s[-j & 7], b = s[(1 - j) & 7], c = s[(2 - j) & 7];
    const uint32_t e = s[(4 - j) & 7], f = s[(5 - j) & 7], g = s[(6 - j) & 7];
    const uint32_t one = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const uint32_t zero = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    uint32_t *d = &s[(3 - j) & 7], *h = &s[(7 - j) & 7];
    const uint32_t first = *h + one + ((e & f) ^ (~e & g)) + key;
    *d += first;
    *h = first + zero + ((a & b) ^ (a & c) ^ (b & c));
}

static void compress(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], s[8];
    expand(block, w);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i += 8) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) one_round(s, j, round_constants[i + j] + w[i + j]);
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

Sha256 sha256_new(void) {
    return (Sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                              0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(Sha256 *hash, const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    while (size) {
        size_t used = hash->size % 64, room = 64 - used, part = size < room ? size : room;
        memcpy(hash->block + used, from, part);
        hash->size += part;
        from += part;
        size -= part;
        if (part == room) compress(hash->state, hash->block);
    }
}

void sha256_hex(Sha256 *hash, char hex[65]) {
    unsigned char padding[128] = {0x80};
    uint64_t bits = hash->size * 8;
    size_t zeros = (119 - hash->size % 64) % 64; /* so that 8 bytes are left in the last block */
    for (int i = 0; i < 8; i++)
        padding[1 + zeros + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(hash, padding, 9 + zeros);
    for (int i = 0; i < 8; i++) snprintf(hex + 8 * i, 9, "%08x", hash->state[i]);
}
