/* TFRecord: any bytes, one record after the other, each in a frame: its length (64 bits,
 * little-endian), a sum of that, the record, a sum of it. Sums are CRC-32C, turned and shifted so
 * that a sum of sums is none. */
#ifndef FLOW_TFRECORD_H
#define FLOW_TFRECORD_H

#include <stdbool.h>
#include <stdint.h>

enum { TFRECORD_BEFORE = 12, TFRECORD_AFTER = 4 }; /* bytes of a frame around its record */

/* The length of the record whose frame begins at `at`, which is less than `size`. NULL, or what is
 * wrong with the frame. The record itself is not read. */
const char *tfrecord_measure(const char *bytes, uint64_t size, uint64_t at, uint64_t *length);

/* Is the record as it was written? `frame` has been measured. */
bool tfrecord_is_whole(const char *frame, uint64_t length);

#endif
