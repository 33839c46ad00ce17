/* SHA-256 (FIPS 180-4): the names of cache entries. */
#ifndef FLOW_DRIVER_SHA256_H
#define FLOW_DRIVER_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct Sha256 {
    uint32_t state[8];
    uint64_t size;
    unsigned char block[64];
} Sha256;

Sha256 sha256_new(void);
void sha256_add(Sha256 *hash, const void *bytes, size_t size);
void sha256_hex(Sha256 *hash, char hex[65]); /* ends the hash */

#endif
