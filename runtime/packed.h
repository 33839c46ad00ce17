/* Packed: reads a file from its begin to its end, unpacking it when it is compressed. */
#ifndef FLOW_PACKED_H
#define FLOW_PACKED_H

#include "runtime/flow.h"

typedef struct Packed Packed;

/* On failure *file is NULL. The path has to live as long as the file. */
FlowStatus packed_open(const char *path, Packed **file);
void packed_close(Packed *file);

/* Reads exactly `size` bytes. */
FlowStatus packed_read(Packed *file, void *bytes, size_t size);

/* Reads until `size` bytes are there or the file ends; *count says how many. */
FlowStatus packed_read_some(Packed *file, void *bytes, size_t size, size_t *count);

bool packed_is_compressed(const Packed *file);

/* Checks that everything was read and that the checksum is right. */
FlowStatus packed_finish(Packed *file);

/* The most that the file may hold, unpacked: a bound to check declared sizes against. */
uint64_t packed_capacity(const Packed *file);

/* Does a compressed file begin so? Is one called so? */
bool packed_begins(const void *bytes, size_t size);
bool packed_is_named(const char *path);

#endif
