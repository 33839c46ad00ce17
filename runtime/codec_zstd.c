/* zstd: RFC 8878, by libzstd. A file may have several frames, of which some may be skipped. A frame
 * may ask for a window of 128 MiB at most, which is libzstd's limit. */
#include "runtime/codec.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

typedef struct Decompressor {
    ZSTD_DStream *stream;
    bool ended; /* a frame has; another may follow */
} Decompressor;

static bool zstd_begins(const unsigned char *bytes, size_t size) {
    if (size < 4) return false;
    uint32_t magic =
        bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return !memcmp(bytes, CODEC_ZSTD_MAGIC, 4) ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static void *zstd_open(void) {
    Decompressor *decompressor = calloc(1, sizeof *decompressor);
    if (!decompressor) return NULL;
    decompressor->stream = ZSTD_createDStream();
    if (decompressor->stream) return decompressor;
    free(decompressor);
    return NULL;
}

static void zstd_close(void *state) {
    Decompressor *decompressor = state;
    ZSTD_freeDStream(decompressor->stream);
    free(decompressor);
}

static FlowStatus zstd_failure(const Decompressor *decompressor, size_t code) {
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        return flow_failure(FLOW_EXIT_resource, "no memory to unpack it");
    case ZSTD_error_frameParameter_windowTooLarge:
        return flow_failure(FLOW_EXIT_data, "was compressed with a window of more than 128 MiB");
    case ZSTD_error_prefix_unknown:
        if (decompressor->ended)
            return flow_failure(FLOW_EXIT_data,
                                "something that is not zstd follows the compressed data");
        break;
    default: break;
    }
    return flow_failure(FLOW_EXIT_data, "the compressed data is damaged: %s",
                        ZSTD_getErrorName(code));
}

static FlowStatus zstd_advance(void *state, Flood *flood, bool *ended) {
    Decompressor *decompressor = state;
    ZSTD_inBuffer in = {flood->in, flood->in_size, 0};
    ZSTD_outBuffer out = {flood->out, flood->out_size, 0};
    *ended = decompressor->ended;
    if (decompressor->ended && !flood->in_size) return flow_ok;
    size_t code = ZSTD_decompressStream(decompressor->stream, &out, &in);
    if (ZSTD_isError(code)) return zstd_failure(decompressor, code);
    flood->in += in.pos;
    flood->in_size -= in.pos;
    flood->out += out.pos;
    flood->out_size -= out.pos;
    *ended = decompressor->ended = code == 0;
    return flow_ok;
}

const Codec codec_zstd = {
    .name = "zstd",
    .begins = zstd_begins,
    .open = zstd_open,
    .close = zstd_close,
    .advance = zstd_advance,
};
