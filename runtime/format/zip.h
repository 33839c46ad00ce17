/* Zip: the members of an archive, by its directory at the end; with 64-bit sizes. Nothing is
 * unpacked; a member is a range of the file. */
#ifndef FLOW_ZIP_H
#define FLOW_ZIP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Zip {
    const char *bytes;
    uint64_t size, at; /* at: the next entry of the directory */
    uint64_t left;     /* entries */
    uint64_t end;      /* of the directory */
    const char *error; /* what is wrong */
} Zip;

typedef enum ZipMethod { ZIP_stored = 0, ZIP_deflated = 8 } ZipMethod;

typedef struct ZipMember {
    const char *name; /* in the archive */
    uint16_t name_size;
    ZipMethod method;
    uint32_t crc;           /* of the unpacked bytes */
    uint64_t begin, packed; /* in the archive */
    uint64_t size;          /* unpacked */
} ZipMember;

/* Finds the directory; error is set when there is none. */
Zip zip_new(const char *bytes, uint64_t size);

/* The next member. False: there is none, or error is set. */
bool zip_next(Zip *zip, ZipMember *member);

#endif
