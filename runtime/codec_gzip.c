/* gzip: RFC 1952, by zlib. A file may have several members. */
#include "runtime/codec.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    GZIP_WINDOW = 15 + 16, /* zlib's way to ask for gzip headers */
    MOST = 1 << 30,        /* zlib counts in unsigned int */
};

typedef struct Inflater {
    z_stream stream;
    bool ended; /* a member has; another may follow */
} Inflater;

static bool gzip_begins(const unsigned char *bytes, size_t size) {
    size_t length = strlen(CODEC_GZIP_MAGIC);
    return size >= length && !memcmp(bytes, CODEC_GZIP_MAGIC, length);
}

static void *gzip_open(void) {
    Inflater *inflater = calloc(1, sizeof *inflater);
    if (inflater && inflateInit2(&inflater->stream, GZIP_WINDOW) == Z_OK) return inflater;
    free(inflater);
    return NULL;
}

static void gzip_close(void *state) {
    Inflater *inflater = state;
    inflateEnd(&inflater->stream);
    free(inflater);
}

static unsigned at_most(size_t size) {
    return size < MOST ? (unsigned)size : MOST;
}

static FlowStatus gzip_result(Inflater *inflater, int code) {
    inflater->ended = code == Z_STREAM_END;
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return flow_ok;
    if (code == Z_MEM_ERROR) return flow_failure(FLOW_EXIT_resource, "no memory to unpack it");
    return flow_failure(FLOW_EXIT_data, "the compressed data is damaged: %s",
                        inflater->stream.msg ? inflater->stream.msg : "unknown error");
}

static FlowStatus gzip_advance(void *state, Flood *flood, bool *ended) {
    Inflater *inflater = state;
    z_stream *stream = &inflater->stream;
    *ended = inflater->ended;
    if (inflater->ended && !flood->in_size) return flow_ok;
    if (inflater->ended && flood->in[0] != CODEC_GZIP_MAGIC[0])
        return flow_failure(FLOW_EXIT_data,
                            "something that is not gzip follows the compressed data");
    if (inflater->ended) inflateReset(stream);
    stream->next_in = (unsigned char *)flood->in;
    stream->next_out = flood->out;
    unsigned in = stream->avail_in = at_most(flood->in_size);
    unsigned out = stream->avail_out = at_most(flood->out_size);
    FlowStatus status = gzip_result(inflater, inflate(stream, Z_NO_FLUSH));
    flood->in += in - stream->avail_in;
    flood->in_size -= in - stream->avail_in;
    flood->out += out - stream->avail_out;
    flood->out_size -= out - stream->avail_out;
    *ended = inflater->ended;
    return status;
}

const Codec codec_gzip = {
    .name = "gzip",
    .begins = gzip_begins,
    .open = gzip_open,
    .close = gzip_close,
    .advance = gzip_advance,
};
