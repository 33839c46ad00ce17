/* Examples: writes TFRecord files of tf.train.Example, for tests. */
#ifndef FLOW_TEST_EXAMPLES_H
#define FLOW_TEST_EXAMPLES_H

#include "runtime/format/crc32c.h"

#include <stdint.h>
#include <string.h>

typedef struct Bytes {
    unsigned char at[1 << 12];
    size_t size;
} Bytes;

static inline void add_bytes(Bytes *bytes, const void *more, size_t size) {
    memcpy(bytes->at + bytes->size, more, size);
    bytes->size += size;
}

static inline void add_varint(Bytes *bytes, uint64_t value) {
    for (; value >= 128; value >>= 7) bytes->at[bytes->size++] = (unsigned char)(value | 128);
    bytes->at[bytes->size++] = (unsigned char)value;
}

/* A field that holds bytes. */
static inline void add_part(Bytes *bytes, int number, const void *part, size_t size) {
    add_varint(bytes, (uint64_t)number << 3 | 2);
    add_varint(bytes, size);
    add_bytes(bytes, part, size);
}

/* An entry of the Features, to be joined with others: kind 1 bytes, 2 floats, 3 integers. */
static inline void add_feature(Bytes *features, const char *name, int kind, const Bytes *list) {
    Bytes feature = {.size = 0}, entry = {.size = 0};
    add_part(&feature, kind, list->at, list->size);
    add_part(&entry, 1, name, strlen(name));
    add_part(&entry, 2, feature.at, feature.size);
    add_part(features, 1, entry.at, entry.size);
}

static inline void add_text(Bytes *features, const char *name, const char *text, size_t size) {
    Bytes list = {.size = 0};
    add_part(&list, 1, text, size);
    add_feature(features, name, 1, &list);
}

static inline void add_integers(Bytes *features, const char *name, const int64_t *values, int count,
                                int packed) {
    Bytes list = {.size = 0}, run = {.size = 0};
    for (int i = 0; i < count; i++) {
        if (!packed) add_varint(&list, 1 << 3);
        add_varint(packed ? &run : &list, (uint64_t)values[i]);
    }
    if (packed) add_part(&list, 1, run.at, run.size);
    add_feature(features, name, 3, &list);
}

static inline void add_floats(Bytes *features, const char *name, const float *values, int count,
                              int packed) {
    Bytes list = {.size = 0};
    if (packed) add_part(&list, 1, values, (size_t)count * sizeof *values);
    for (int i = 0; !packed && i < count; i++) {
        add_varint(&list, 1 << 3 | 5);
        add_bytes(&list, &values[i], sizeof *values);
    }
    add_feature(features, name, 2, &list);
}

static inline uint32_t masked_sum(const void *bytes, size_t size) {
    uint32_t sum = crc32c(bytes, size);
    return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

static inline void add_frame(Bytes *file, const void *record, uint64_t size) {
    uint32_t sum = masked_sum(&size, sizeof size);
    add_bytes(file, &size, sizeof size);
    add_bytes(file, &sum, sizeof sum);
    add_bytes(file, record, size);
    sum = masked_sum(record, size);
    add_bytes(file, &sum, sizeof sum);
}

static inline void add_example(Bytes *file, const Bytes *features) {
    Bytes example = {.size = 0};
    add_part(&example, 1, features->at, features->size);
    add_frame(file, example.at, example.size);
}

#endif
