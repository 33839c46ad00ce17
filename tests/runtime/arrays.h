/* Arrays: files as numpy writes them, for the tests of npy and npz. */
#ifndef FLOW_TEST_ARRAYS_H
#define FLOW_TEST_ARRAYS_H

#include "tests/runtime/test.h"

#include <stdint.h>
#include <sys/mman.h>

/* Writes the file's bytes to `out`, whose header has `literal`; returns how many. version: 1 to
 * 3. */
static inline size_t make_npy(char *out, int version, const char *literal, const void *values,
                              size_t size) {
    size_t begin = version == 1 ? 10 : 12, length = strlen(literal);
    size_t padded = (begin + length + 1 + 63) / 64 * 64 - begin;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (char)version;
    out[7] = 0;
    for (size_t i = 8; i < begin; i++) out[i] = (char)(padded >> (8 * (i - 8)));
    memset(out + begin, ' ', padded);
    memcpy(out + begin, literal, length);
    out[begin + padded - 1] = '\n';
    memcpy(out + begin + padded, values, size);
    return begin + padded + size;
}

static inline const char *literal_of(const char *type, const char *shape) {
    static char text[256];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type,
             shape);
    return text;
}

/* The path of a file in memory that holds the bytes until the next call. */
static inline const char *memory_file(const void *bytes, size_t size) {
    static int descriptor = -1;
    static char path[32];
    if (descriptor < 0) descriptor = memfd_create("test", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (ftruncate(descriptor, 0) || pwrite(descriptor, bytes, size, 0) != (ssize_t)size) exit(99);
    return path;
}

#endif
