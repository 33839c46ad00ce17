/* Gzip: reads a file, compressed or plain. */
#ifndef FLOW_GZIP_H
#define FLOW_GZIP_H

#include "runtime/flow.h"

typedef struct Gzip Gzip;

/* On failure *file is NULL. The path has to live as long as the file. */
FlowStatus gzip_open(const char *path, Gzip **file);
void gzip_close(Gzip *file);

/* Reads exactly `size` bytes. */
FlowStatus gzip_read(Gzip *file, void *bytes, size_t size);

/* Reads until `size` bytes are there or the file ends; *count says how many. */
FlowStatus gzip_read_some(Gzip *file, void *bytes, size_t size, size_t *count);

bool gzip_is_compressed(const Gzip *file);

/* Checks that everything was read and that the checksum is right. */
FlowStatus gzip_finish(Gzip *file);

/* More than the file can hold, unpacked: a bound to check declared sizes against. */
uint64_t gzip_capacity(const Gzip *file);

#endif
