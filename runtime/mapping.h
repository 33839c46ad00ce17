/* Mapping: a file's bytes where they lie. A file that gets shorter meanwhile has bytes that can't
 * be read any more: the kernel says so by SIGBUS, and the process ends with a message that names
 * the file. */
#ifndef FLOW_MAPPING_H
#define FLOW_MAPPING_H

#include "runtime/flow.h"

/* From now on such a process ends with FLOW_EXIT_data and that name before its message. */
void mapping_watch(const char *program);

/* Maps `size` bytes of the file and a page of zeros behind them. *bytes is NULL on failure. */
FlowStatus mapping_new(const char *path, int descriptor, size_t size, const char **bytes);

/* bytes: NULL, or what mapping_new gave. */
void mapping_free(const char *bytes);

#endif
