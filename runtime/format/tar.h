/* Tar: the members of an archive, one after the other: ustar, pax and GNU names. Nothing is
 * unpacked; a member is a range of the file. */
#ifndef FLOW_TAR_H
#define FLOW_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAR_NAME_SIZE = 1024 };

typedef struct Tar {
    const char *bytes;
    uint64_t size, at;
    const char *error; /* what is wrong, at `at` */
} Tar;

typedef struct TarMember {
    char name[TAR_NAME_SIZE];
    uint64_t begin, size; /* in the archive */
} TarMember;

Tar tar_new(const char *bytes, uint64_t size);

/* The next regular file. False: there is none, or error is set. */
bool tar_next(Tar *tar, TarMember *member);

#endif
