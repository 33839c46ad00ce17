/* Safetensors: named tensors in a file; the form of weights and of a run's record. */
#ifndef FLOW_SAFETENSORS_H
#define FLOW_SAFETENSORS_H

#include "runtime/flow.h"

enum { SAFETENSORS_HEADER_LIMIT = 100 << 20 /* bytes; as other readers have it */ };

typedef struct Metadata {
    const char *name, *value;
} Metadata;

typedef struct Tensor {
    const char *name;
    FlowType type;
    uint64_t begin, end; /* in the file's buffer */
} Tensor;

typedef struct Safetensors Safetensors;

/* Reads and checks the header. On failure *file is NULL. */
FlowStatus safetensors_open(const char *path, Safetensors **file);
void safetensors_close(Safetensors *file);

/* NULL when there is none. */
const Tensor *safetensors_find(const Safetensors *file, const char *name);
const char *safetensors_metadata(const Safetensors *file, const char *name);

/* Reads a storage's bytes; fails when the file has no such tensor, or one of another type.
 */
FlowStatus safetensors_read(const Safetensors *file, const FlowStorage *storage, void *bytes);

/* What stands before the tensors in a file with these storages. ordered: gets the storages as their
 * bytes have to follow. The caller frees the text; NULL: no memory. */
char *safetensors_header(const FlowStorage *storages, int count, const Metadata *metadata,
                         int metadata_count, const FlowStorage **ordered, size_t *size);

/* Writes storages, which lie in `memory`, atomically: see file.h. The same storages, bytes
 * and metadata always give the same file. */
FlowStatus safetensors_write(const char *path, const FlowStorage *storages, int count,
                             const char *memory, const Metadata *metadata, int metadata_count);

#endif
