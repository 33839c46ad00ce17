/* Packed: unpacks straight into the caller's memory. The caller says how much, so a decompression
 * bomb costs nothing. A file that begins like none of the codecs' is plain. */
#define _GNU_SOURCE
#include "runtime/packed.h"

#include "runtime/codec.h"
#include "runtime/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    INPUT_SIZE = 128 << 10,
    READ_MOST = 16 << 20, /* before an interruption is noticed */
    BEST_RATIO = 1032,    /* of deflate: 258 bytes for two bits; others may do no better */
    LEAST_ROOM = 1 << 20, /* what any file may hold */
};

static const Codec *const codecs[] = {&codec_gzip, &codec_zstd};
enum { CODEC_COUNT = sizeof codecs / sizeof *codecs };

struct Packed {
    const char *path;
    int descriptor;
    uint64_t size;      /* of the file */
    const Codec *codec; /* NULL: the file is plain */
    void *state;        /* the codec's */
    bool ended;         /* the compressed data may end here */
    Flood flood;
    unsigned char input[INPUT_SIZE];
};

static FlowStatus failure(const Packed *file, const char *why) {
    return flow_failure(FLOW_EXIT_data, "%s: %s", file->path, why);
}

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
}

static FlowStatus ends_early(const Packed *file) {
    return failure(file, file->codec ? "the compressed data ends early: the file is truncated"
                                     : "it ends early: the file is truncated");
}

/* *count: 0 at the end of the file. */
static FlowStatus read_file(const Packed *file, void *bytes, size_t size, size_t *count) {
    ssize_t got;
    do got = read(file->descriptor, bytes, size);
    while (got < 0 && errno == EINTR);
    *count = got < 0 ? 0 : (size_t)got;
    if (got >= 0) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: cannot be read: %s", file->path, strerror(errno));
}

/* Makes input available; none is left when in_size stays 0. */
static FlowStatus refill(Packed *file) {
    if (file->flood.in_size) return flow_ok;
    file->flood.in = file->input;
    return read_file(file, file->input, sizeof file->input, &file->flood.in_size);
}

static void copy_some(Flood *flood) {
    size_t count = flood->in_size < flood->out_size ? flood->in_size : flood->out_size;
    memcpy(flood->out, flood->in, count);
    flood->in += count;
    flood->in_size -= count;
    flood->out += count;
    flood->out_size -= count;
}

static FlowStatus unpack_some(Packed *file) {
    FlowStatus status = flow_ok;
    if (!file->codec) copy_some(&file->flood);
    else status = file->codec->advance(file->state, &file->flood, &file->ended);
    if (!status.exit) return flow_ok;
    return flow_failure(status.exit, "%s: %s", file->path, status.text);
}

/* Many bytes of a plain file are read where they are wanted. */
static bool reads_in_place(const Packed *file) {
    const Flood *flood = &file->flood;
    return !file->codec && !flood->in_size && flood->out_size >= INPUT_SIZE;
}

static FlowStatus read_in_place(Packed *file) {
    Flood *flood = &file->flood;
    size_t size = flood->out_size < READ_MOST ? flood->out_size : READ_MOST, count;
    FlowStatus status = read_file(file, flood->out, size, &count);
    flood->out += count;
    flood->out_size -= count;
    return status;
}

/* *last: only a codec may still hold something back. */
static FlowStatus read_more(Packed *file, bool *last) {
    *last = true;
    if (reads_in_place(file)) return read_in_place(file);
    FlowStatus status = refill(file);
    *last = !file->flood.in_size;
    return status.exit ? status : unpack_some(file);
}

/* Reads until the output is full or the file ends. */
static FlowStatus advance(Packed *file) {
    Flood *flood = &file->flood;
    while (flood->out_size) {
        if (interrupted()) return interrupt_reading(file->path);
        size_t before = flood->out_size;
        bool last;
        FlowStatus status = read_more(file, &last);
        if (status.exit || (last && flood->out_size == before)) return status;
    }
    return flow_ok;
}

FlowStatus packed_read_some(Packed *file, void *bytes, size_t size, size_t *count) {
    file->flood.out = bytes;
    file->flood.out_size = size;
    FlowStatus status = advance(file);
    *count = size - file->flood.out_size;
    return status;
}

FlowStatus packed_read(Packed *file, void *bytes, size_t size) {
    size_t count;
    FlowStatus status = packed_read_some(file, bytes, size, &count);
    return status.exit || count == size ? status : ends_early(file);
}

bool packed_is_compressed(const Packed *file) {
    return file->codec != NULL;
}

FlowStatus packed_finish(Packed *file) {
    unsigned char more;
    size_t count;
    FlowStatus status = packed_read_some(file, &more, 1, &count);
    if (status.exit) return status;
    if (count) return failure(file, "it holds more data than its header declares");
    return file->codec && !file->ended ? ends_early(file) : flow_ok;
}

uint64_t packed_capacity(const Packed *file) {
    uint64_t capacity;
    if (!file->codec) return file->size;
    if (__builtin_mul_overflow(file->size, BEST_RATIO, &capacity)) return UINT64_MAX;
    return capacity < LEAST_ROOM ? LEAST_ROOM : capacity;
}

static bool begins_zstd(const unsigned char *bytes, size_t size) {
    size_t length = strlen(CODEC_ZSTD_MAGIC);
    return size >= length && !memcmp(bytes, CODEC_ZSTD_MAGIC, length);
}

static const Codec *find_codec(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < CODEC_COUNT; i++)
        if (codecs[i] && codecs[i]->begins(bytes, size)) return codecs[i];
    return NULL;
}

bool packed_begins(const void *bytes, size_t size) {
    return find_codec(bytes, size) || begins_zstd(bytes, size);
}

bool packed_is_named(const char *path) {
    static const char *const endings[] = {".gz", ".zst"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length >= ending && !strcmp(path + length - ending, endings[i])) return true;
    }
    return false;
}

/* O_NONBLOCK keeps a named pipe from stopping us here; it is refused by start. */
static FlowStatus start(Packed *file) {
    struct stat stat;
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor < 0)
        return flow_failure(FLOW_EXIT_data, "%s: cannot be read: %s", file->path, strerror(errno));
    if (fstat(file->descriptor, &stat) || !S_ISREG(stat.st_mode))
        return failure(file, "is not a regular file");
    file->size = (uint64_t)stat.st_size;
    FlowStatus status = refill(file);
    if (status.exit) return status;
    file->codec = find_codec(file->flood.in, file->flood.in_size);
    if (!file->codec && begins_zstd(file->flood.in, file->flood.in_size))
        return failure(file, "is compressed by zstd, which this program does not have: in the "
                             ".flow file the name has to end in .zst");
    file->state = file->codec ? file->codec->open() : NULL;
    return file->codec && !file->state ? no_memory(file->path) : flow_ok;
}

FlowStatus packed_open(const char *path, Packed **out) {
    Packed *file = *out = calloc(1, sizeof *file);
    if (!file) return no_memory(path);
    file->path = path;
    file->descriptor = -1;
    FlowStatus status = start(file);
    if (!status.exit) return status;
    packed_close(file);
    *out = NULL;
    return status;
}

void packed_close(Packed *file) {
    if (!file) return;
    if (file->state) file->codec->close(file->state);
    if (file->descriptor >= 0) close(file->descriptor);
    free(file);
}
