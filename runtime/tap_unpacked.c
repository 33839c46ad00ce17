/* Tap, unpacked: the first bytes say whether they are compressed; as soon as they can't be any
 * more, they are passed on, so that whoever writes a line and waits for its answer gets it. */
#include "runtime/codec.h"
#include "runtime/tap.h"

#include <stdlib.h>
#include <string.h>

enum { INPUT_SIZE = 64 << 10 };

typedef struct Unpacked {
    Tap tap;
    Tap *packed;
    bool decided;       /* whether it is compressed */
    const Codec *codec; /* NULL: it is plain */
    void *state;        /* the codec's */
    bool complete;      /* the compressed data may end here */
    bool holds;         /* the codec may have more to give */
    Flood flood;        /* what was read and not passed on */
    TapState met;       /* behind that, unless it is TAP_flows */
    unsigned char input[INPUT_SIZE];
} Unpacked;

static const struct {
    const Codec *codec; /* NULL: the program does not have it */
    const char *begin;
} kinds[] = {{&codec_gzip, CODEC_GZIP_MAGIC}, {&codec_zstd, CODEC_ZSTD_MAGIC}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static FlowStatus failure(const Unpacked *unpacked, const char *why) {
    return flow_failure(FLOW_EXIT_data, "%s: %s", unpacked->tap.name, why);
}

static FlowStatus choose(Unpacked *unpacked, const Codec *codec) {
    unpacked->decided = true;
    if (!codec)
        return failure(unpacked, "is compressed by zstd, which this program does not have: "
                                 "`zstd -dc` before it unpacks");
    unpacked->codec = codec;
    unpacked->state = codec->open();
    unpacked->complete = unpacked->holds = false;
    return unpacked->state ? flow_ok : tap_no_memory(unpacked->tap.name);
}

/* Looks at what has come; `all`: no more does. */
static FlowStatus decide(Unpacked *unpacked, bool all) {
    const Flood *flood = &unpacked->flood;
    bool open = false;
    for (int i = 0; i < KINDS; i++) {
        size_t length = strlen(kinds[i].begin);
        size_t size = flood->in_size < length ? flood->in_size : length;
        if (memcmp(flood->in, kinds[i].begin, size)) continue;
        if (size == length) return choose(unpacked, kinds[i].codec);
        open = true;
    }
    unpacked->decided = all || !open;
    return flow_ok;
}

static FlowStatus read_packed(Unpacked *unpacked, int stopper, char *bytes, size_t room,
                              TapRead *got) {
    *got = (TapRead){unpacked->met, 0};
    unpacked->met = TAP_flows;
    if (got->state != TAP_flows) return flow_ok;
    return unpacked->packed->read(unpacked->packed, stopper, bytes, room, got);
}

/* Reads behind what is there. */
static FlowStatus refill(Unpacked *unpacked, int stopper, TapRead *got) {
    Flood *flood = &unpacked->flood;
    memmove(unpacked->input, flood->in, flood->in_size);
    flood->in = unpacked->input;
    FlowStatus status = read_packed(unpacked, stopper, (char *)unpacked->input + flood->in_size,
                                    INPUT_SIZE - flood->in_size, got);
    if (!status.exit) flood->in_size += got->size;
    return status;
}

static void pass(Unpacked *unpacked, char *bytes, size_t room, TapRead *got) {
    Flood *flood = &unpacked->flood;
    *got = (TapRead){TAP_flows, flood->in_size < room ? flood->in_size : room};
    memcpy(bytes, flood->in, got->size);
    flood->in += got->size;
    flood->in_size -= got->size;
}

static void drop_codec(Unpacked *unpacked) {
    if (unpacked->state) unpacked->codec->close(unpacked->state);
    unpacked->state = NULL;
    unpacked->codec = NULL;
}

/* Who wrote has gone: what another one writes may be compressed or not. */
static FlowStatus end_part(Unpacked *unpacked) {
    if (unpacked->codec && !unpacked->complete)
        return failure(unpacked, "the compressed data ends early");
    drop_codec(unpacked);
    unpacked->decided = false;
    return flow_ok;
}

static FlowStatus unpack(Unpacked *unpacked, int stopper, char *bytes, size_t room, TapRead *got) {
    Flood *flood = &unpacked->flood;
    FlowStatus status = flow_ok;
    *got = (TapRead){TAP_flows, 0};
    while (!status.exit && !got->size) {
        if (!flood->in_size && !unpacked->holds) status = refill(unpacked, stopper, got);
        if (status.exit || got->state != TAP_flows) break;
        flood->out = (unsigned char *)bytes;
        flood->out_size = room;
        status = unpacked->codec->advance(unpacked->state, flood, &unpacked->complete);
        if (status.exit)
            return flow_failure(status.exit, "%s: %s", unpacked->tap.name, status.text);
        unpacked->holds = !flood->out_size;
        got->size = room - flood->out_size;
    }
    if (status.exit || got->state == TAP_flows || got->state == TAP_stopped) return status;
    return end_part(unpacked);
}

static FlowStatus read_unpacked(Tap *tap, int stopper, char *bytes, size_t room, TapRead *got) {
    Unpacked *unpacked = (Unpacked *)tap;
    FlowStatus status = flow_ok;
    *got = (TapRead){TAP_flows, 0};
    while (!unpacked->decided) {
        status = refill(unpacked, stopper, got);
        if (status.exit || got->state == TAP_stopped) return status;
        if (got->state != TAP_flows) unpacked->met = got->state;
        status = decide(unpacked, got->state != TAP_flows);
        if (status.exit) return status;
    }
    if (unpacked->codec) return unpack(unpacked, stopper, bytes, room, got);
    if (unpacked->flood.in_size) pass(unpacked, bytes, room, got);
    else status = read_packed(unpacked, stopper, bytes, room, got);
    if (!status.exit && got->state == TAP_pauses) return end_part(unpacked);
    return status;
}

static void close_unpacked(Tap *tap) {
    Unpacked *unpacked = (Unpacked *)tap;
    drop_codec(unpacked);
    tap_close(unpacked->packed);
    free(unpacked);
}

FlowStatus tap_unpacked(Tap *packed, Tap **tap) {
    Unpacked *unpacked = tap_new(sizeof *unpacked, packed->name);
    *tap = unpacked ? &unpacked->tap : NULL;
    if (!unpacked) {
        tap_close(packed);
        return tap_no_memory("a feed");
    }
    unpacked->packed = packed;
    unpacked->flood.in = unpacked->input;
    unpacked->tap.read = read_unpacked;
    unpacked->tap.close = close_unpacked;
    return flow_ok;
}
