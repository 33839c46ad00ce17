/* Archive: zip archives as numpy and others write them, for the tests of npz. */
#ifndef FLOW_TEST_ARCHIVE_H
#define FLOW_TEST_ARCHIVE_H

#include "tests/runtime/test.h"

#include <stdint.h>
#include <zlib.h>

enum { ARCHIVE_LIMIT = 1 << 18 };

/* An archive that is being written. */
static char archive[ARCHIVE_LIMIT], directory[1 << 14];
static size_t archive_size, directory_size;
static int members;

static inline void put(char *bytes, size_t *size, uint64_t number, int count) {
    for (int i = 0; i < count; i++) bytes[(*size)++] = i < 8 ? (char)(number >> 8 * i) : 0;
}

static inline void put_bytes(char *bytes, size_t *size, const void *more, size_t count) {
    memcpy(bytes + *size, more, count);
    *size += count;
}

static inline void archive_begin(void) {
    archive_size = directory_size = 0;
    members = 0;
}

static inline size_t deflated(const char *bytes, size_t size, char *out) {
    z_stream stream = {.next_in = (unsigned char *)bytes,
                       .avail_in = (unsigned)size,
                       .next_out = (unsigned char *)out,
                       .avail_out = ARCHIVE_LIMIT};
    if (deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&stream, Z_FINISH) != Z_STREAM_END)
        exit(99);
    deflateEnd(&stream);
    return stream.total_out;
}

/* wide: as savez writes it, with 64-bit sizes. */
static inline void add_member(const char *name, const char *bytes, size_t size, int method,
                              bool wide) {
    static char packed[ARCHIVE_LIMIT];
    size_t length = method ? deflated(bytes, size, packed) : size, local = archive_size;
    uint32_t sum = (uint32_t)crc32(0, (const unsigned char *)bytes, (unsigned)size);
    uint32_t none = UINT32_MAX;
    put(archive, &archive_size, 0x04034b50, 4);
    put(archive, &archive_size, 45, 4);
    put(archive, &archive_size, (unsigned)method, 2);
    put(archive, &archive_size, 0, 4);
    put(archive, &archive_size, sum, 4);
    put(archive, &archive_size, wide ? none : length, 4);
    put(archive, &archive_size, wide ? none : size, 4);
    put(archive, &archive_size, strlen(name), 2);
    put(archive, &archive_size, wide ? 20 : 0, 2);
    put_bytes(archive, &archive_size, name, strlen(name));
    if (wide) {
        put(archive, &archive_size, 1, 2);
        put(archive, &archive_size, 16, 2);
        put(archive, &archive_size, size, 8);
        put(archive, &archive_size, length, 8);
    }
    put_bytes(archive, &archive_size, method ? packed : bytes, length);
    put(directory, &directory_size, 0x02014b50, 4);
    put(directory, &directory_size, 45, 2);
    put(directory, &directory_size, 45, 4);
    put(directory, &directory_size, (unsigned)method, 2);
    put(directory, &directory_size, 0, 4);
    put(directory, &directory_size, sum, 4);
    put(directory, &directory_size, wide ? none : length, 4);
    put(directory, &directory_size, wide ? none : size, 4);
    put(directory, &directory_size, strlen(name), 2);
    put(directory, &directory_size, wide ? 32 : 0, 2);
    put(directory, &directory_size, 0, 10);
    put(directory, &directory_size, wide ? none : local, 4);
    put_bytes(directory, &directory_size, name, strlen(name));
    if (wide) {
        put(directory, &directory_size, 7, 2); /* an extra field of another kind */
        put(directory, &directory_size, 0, 2);
        put(directory, &directory_size, 1, 2);
        put(directory, &directory_size, 24, 2);
        put(directory, &directory_size, size, 8);
        put(directory, &directory_size, length, 8);
        put(directory, &directory_size, local, 8);
    }
    members++;
}

static inline void put_end64(size_t start) {
    size_t end64 = archive_size;
    put(archive, &archive_size, 0x06064b50, 4);
    put(archive, &archive_size, 44, 8);
    put(archive, &archive_size, 0, 12);
    put(archive, &archive_size, (unsigned)members, 8);
    put(archive, &archive_size, (unsigned)members, 8);
    put(archive, &archive_size, directory_size, 8);
    put(archive, &archive_size, start, 8);
    put(archive, &archive_size, 0x07064b50, 4);
    put(archive, &archive_size, 0, 4);
    put(archive, &archive_size, end64, 8);
    put(archive, &archive_size, 1, 4);
}

static inline void write_archive(const char *path, bool wide, const char *comment) {
    size_t start = archive_size;
    put_bytes(archive, &archive_size, directory, directory_size);
    if (wide) put_end64(start);
    put(archive, &archive_size, 0x06054b50, 4);
    put(archive, &archive_size, 0, 4);
    put(archive, &archive_size, wide ? 0xffff : (unsigned)members, 2);
    put(archive, &archive_size, wide ? 0xffff : (unsigned)members, 2);
    put(archive, &archive_size, wide ? UINT32_MAX : directory_size, 4);
    put(archive, &archive_size, wide ? UINT32_MAX : start, 4);
    put(archive, &archive_size, strlen(comment), 2);
    put_bytes(archive, &archive_size, comment, strlen(comment));
    write_test_file(path, archive, archive_size);
}

#endif
