/* Codec: a way in which files are compressed. Each is pure: from bytes to bytes, as much of them as
 * there are, and it keeps no more than its window. */
#ifndef FLOW_CODEC_H
#define FLOW_CODEC_H

#include "runtime/flow.h"

/* What is left to read, and the room to write. */
typedef struct Flood {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
} Flood;

typedef struct Codec {
    const char *name;
    bool (*begins)(const unsigned char *bytes, size_t size); /* is this how such a file begins? */
    void *(*open)(void);                                     /* NULL: no memory */
    void (*close)(void *state);
    /* Goes on, as far as it can in one go. *ended: the compressed data may end here; more of it may
     * also follow. Failures say what is wrong, without the file. */
    FlowStatus (*advance)(void *state, Flood *flood, bool *ended);
} Codec;

/* How files begin, known also where the codec is not. */
#define CODEC_GZIP_MAGIC "\x1f\x8b"
#define CODEC_ZSTD_MAGIC "\x28\xb5\x2f\xfd"

extern const Codec codec_gzip;

/* Only programs that may be given such files are linked to it; in others its address is NULL. */
extern const Codec codec_zstd __attribute__((weak));

#endif
