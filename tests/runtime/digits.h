/* Digits: small IDX files for the tests: images u8[4, 4] and labels. */
#ifndef FLOW_TEST_DIGITS_H
#define FLOW_TEST_DIGITS_H

#include "tests/runtime/test.h"

#include <stdint.h>
#include <zlib.h>

enum { IMAGE_HEADER = 16, LABEL_HEADER = 8, PIXELS = 16, CLASSES = 4 };

static inline void put_big_endian(unsigned char *bytes, uint32_t value) {
    for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Returns the size. */
static inline size_t make_images(unsigned char *bytes, uint32_t count) {
    uint32_t state = 1;
    memcpy(bytes, "\0\0\x08\3", 4);
    put_big_endian(bytes + 4, count);
    put_big_endian(bytes + 8, 4);
    put_big_endian(bytes + 12, 4);
    for (uint32_t i = 0; i < count * PIXELS; i++)
        bytes[IMAGE_HEADER + i] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
    return IMAGE_HEADER + count * PIXELS;
}

/* The label is the brightest of the first pixels of the rows. */
static inline size_t make_labels(unsigned char *bytes, const unsigned char *images,
                                 uint32_t count) {
    memcpy(bytes, "\0\0\x08\1", 4);
    put_big_endian(bytes + 4, count);
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *image = images + IMAGE_HEADER + i * PIXELS;
        int best = 0;
        for (int j = 1; j < CLASSES; j++)
            if (image[4 * j] > image[4 * best]) best = j;
        bytes[LABEL_HEADER + i] = (unsigned char)best;
    }
    return LABEL_HEADER + count;
}

static inline void write_gzip(const char *path, const void *bytes, size_t size) {
    gzFile out = gzopen(path, "wb");
    if (!out || gzwrite(out, bytes, (unsigned)size) != (int)size || gzclose(out)) exit(99);
}

/* So many images and their labels as files; at most as many as 64 KiB hold. */
__attribute__((unused)) static void write_digits(const char *images_path, const char *labels_path,
                                                 uint32_t count) {
    static unsigned char images[1 << 16], labels[1 << 16];
    size_t image_size = make_images(images, count);
    size_t label_size = make_labels(labels, images, count);
    write_gzip(images_path, images, image_size);
    write_gzip(labels_path, labels, label_size);
}

#endif
