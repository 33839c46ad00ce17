#include "runtime/format/tfrecord.h"

#include "runtime/format/crc32c.h"

#include <stddef.h>

static uint64_t little_endian(const char *bytes, int size) {
    uint64_t value = 0;
    for (int i = size; i-- > 0;) value = value << 8 | (unsigned char)bytes[i];
    return value;
}

static uint32_t masked(uint32_t sum) {
    return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

const char *tfrecord_measure(const char *bytes, uint64_t size, uint64_t at, uint64_t *length) {
    enum { LENGTH = 8 };
    const char *frame = bytes + at;
    uint64_t left = size - at;
    if (left < TFRECORD_BEFORE) return "the file ends within a length: it is truncated";
    if (little_endian(frame + LENGTH, 4) != masked(crc32c(frame, LENGTH)))
        return "the sum of the length is wrong: the file is damaged, or no TFRecord file";
    *length = little_endian(frame, LENGTH);
    left -= TFRECORD_BEFORE;
    if (left < TFRECORD_AFTER || *length > left - TFRECORD_AFTER)
        return "the file ends within the record: it is truncated";
    return NULL;
}

bool tfrecord_is_whole(const char *frame, uint64_t length) {
    const char *record = frame + TFRECORD_BEFORE;
    return little_endian(record + length, 4) == masked(crc32c(record, length));
}
