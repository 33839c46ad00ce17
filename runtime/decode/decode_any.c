/* any: what the bytes begin with says which decoder they are for. */
#include "runtime/decode/decoder.h"

#include <string.h>

static const FlowDecoder *const decoders[] = {
#define DECODER(name, library) &flow_decoder_##name,
#include "runtime/decode/decoders.def"
#undef DECODER
};

static bool any_recognises(const void *bytes, size_t size) {
    (void)bytes;
    (void)size;
    return false;
}

static const FlowDecoder *decoder_of(const void *bytes, size_t size) {
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (decoders[i]->recognises(bytes, size)) return decoders[i];
    return NULL;
}

static FlowStatus any_measure(Desk *desk, const void *bytes, size_t size, Measures *measures) {
    const FlowDecoder *decoder = decoder_of(bytes, size);
    if (decoder) return decoder->measure(desk, bytes, size, measures);
    return flow_failure(FLOW_EXIT_data, "is neither JPEG nor PNG");
}

static FlowStatus any_decode(Desk *desk, const void *bytes, size_t size,
                             const DecoderRequest *request) {
    const FlowDecoder *decoder = decoder_of(bytes, size);
    if (decoder) return decoder->decode(desk, bytes, size, request);
    return flow_failure(FLOW_EXIT_data, "is neither JPEG nor PNG");
}

const FlowDecoder flow_decoder_any = {"any", any_recognises, any_measure, any_decode};
