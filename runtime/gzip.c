/* Gzip: inflate straight into the caller's memory. The caller says how much, so a
 * decompression bomb costs nothing. A file may have several members (RFC 1952); one that
 * does not begin with the magic number is plain. */
#define _GNU_SOURCE
#include "runtime/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    INPUT_SIZE = 128 << 10,
    BEST_RATIO = 1032,     /* of deflate: 258 bytes for two bits */
    GZIP_WINDOW = 15 + 16, /* zlib's way to ask for gzip headers */
};

struct Gzip {
    const char *path;
    int descriptor;
    uint64_t size; /* of the file */
    bool compressed;
    bool between_members;
    z_stream stream;
    unsigned char input[INPUT_SIZE];
};

static FlowStatus failure(const Gzip *file, const char *why) {
    return flow_failure(FLOW_EXIT_data, "%s: %s", file->path, why);
}

static FlowStatus ends_early(const Gzip *file) {
    return failure(file, file->compressed ? "the compressed data ends early: the file is truncated"
                                          : "it ends early: the file is truncated");
}

/* Makes input available; none is left when stream.avail_in stays 0. */
static FlowStatus refill(Gzip *file) {
    if (file->stream.avail_in) return flow_ok;
    ssize_t count;
    do count = read(file->descriptor, file->input, sizeof file->input);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return flow_failure(FLOW_EXIT_data, "%s: cannot be read: %s", file->path, strerror(errno));
    file->stream.next_in = file->input;
    file->stream.avail_in = (unsigned)count;
    return flow_ok;
}

/* Goes on with the next member, if there is one. */
static FlowStatus next_member(Gzip *file) {
    if (file->stream.next_in[0] != 0x1f)
        return failure(file, "something that is not gzip follows the compressed data");
    inflateReset(&file->stream);
    file->between_members = false;
    return flow_ok;
}

static FlowStatus inflate_some(Gzip *file) {
    if (file->between_members) {
        FlowStatus status = next_member(file);
        if (status.exit) return status;
    }
    int code = inflate(&file->stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END) file->between_members = true;
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return flow_ok;
    if (code == Z_MEM_ERROR)
        return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", file->path);
    return flow_failure(FLOW_EXIT_data, "%s: the compressed data is damaged: %s", file->path,
                        file->stream.msg ? file->stream.msg : "unknown error");
}

static FlowStatus copy_some(Gzip *file) {
    z_stream *stream = &file->stream;
    unsigned count = stream->avail_in < stream->avail_out ? stream->avail_in : stream->avail_out;
    memcpy(stream->next_out, stream->next_in, count);
    stream->next_in += count;
    stream->avail_in -= count;
    stream->next_out += count;
    stream->avail_out -= count;
    return flow_ok;
}

/* Reads until the output is full or the file ends. */
static FlowStatus advance(Gzip *file) {
    while (file->stream.avail_out) {
        FlowStatus status = refill(file);
        if (status.exit || !file->stream.avail_in) return status;
        status = file->compressed ? inflate_some(file) : copy_some(file);
        if (status.exit) return status;
    }
    return flow_ok;
}

FlowStatus gzip_read_some(Gzip *file, void *bytes, size_t size, size_t *count) {
    enum { MOST = 1 << 30 }; /* zlib counts in unsigned int */
    *count = 0;
    while (*count < size) {
        unsigned wanted = size - *count < MOST ? (unsigned)(size - *count) : MOST;
        file->stream.next_out = (unsigned char *)bytes + *count;
        file->stream.avail_out = wanted;
        FlowStatus status = advance(file);
        *count += wanted - file->stream.avail_out;
        if (status.exit || file->stream.avail_out) return status;
    }
    return flow_ok;
}

FlowStatus gzip_read(Gzip *file, void *bytes, size_t size) {
    size_t count;
    FlowStatus status = gzip_read_some(file, bytes, size, &count);
    return status.exit || count == size ? status : ends_early(file);
}

bool gzip_is_compressed(const Gzip *file) {
    return file->compressed;
}

FlowStatus gzip_finish(Gzip *file) {
    unsigned char more;
    file->stream.next_out = &more;
    file->stream.avail_out = 1;
    FlowStatus status = advance(file);
    if (status.exit) return status;
    if (!file->stream.avail_out)
        return failure(file, "it holds more data than its header declares");
    return file->compressed && !file->between_members ? ends_early(file) : flow_ok;
}

uint64_t gzip_capacity(const Gzip *file) {
    uint64_t capacity;
    if (!file->compressed) return file->size;
    return __builtin_mul_overflow(file->size, BEST_RATIO, &capacity) ? UINT64_MAX : capacity;
}

/* O_NONBLOCK keeps a named pipe from stopping us here; it is refused by start. */
static FlowStatus start(Gzip *file) {
    struct stat stat;
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor < 0)
        return flow_failure(FLOW_EXIT_data, "%s: cannot be read: %s", file->path, strerror(errno));
    if (fstat(file->descriptor, &stat) || !S_ISREG(stat.st_mode))
        return failure(file, "is not a regular file");
    file->size = (uint64_t)stat.st_size;
    FlowStatus status = refill(file);
    if (status.exit) return status;
    const unsigned char *magic = file->input;
    file->compressed = file->stream.avail_in >= 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    if (file->compressed && inflateInit2(&file->stream, GZIP_WINDOW) != Z_OK)
        return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", file->path);
    return flow_ok;
}

FlowStatus gzip_open(const char *path, Gzip **out) {
    Gzip *file = *out = calloc(1, sizeof *file);
    if (!file) return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
    file->path = path;
    FlowStatus status = start(file);
    if (!status.exit) return status;
    gzip_close(file);
    *out = NULL;
    return status;
}

void gzip_close(Gzip *file) {
    if (!file) return;
    if (file->compressed) inflateEnd(&file->stream);
    if (file->descriptor >= 0) close(file->descriptor);
    free(file);
}
