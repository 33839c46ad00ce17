/* Content: a plain file is read in one go; a compressed one, whose size is not known, into a block
 * that doubles. What it can hold at most is known, so a small file cannot ask for all memory. */
#include "runtime/content.h"

#include "runtime/holdings.h"
#include "runtime/packed.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 1 << 16 };

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
}

static FlowStatus grow(const char *path, Content *content, size_t capacity) {
    char *larger = capacity < SIZE_MAX - CONTENT_PADDING
                       ? held_resize(content->bytes, content->room, capacity + CONTENT_PADDING)
                       : NULL;
    if (!larger) return no_memory(path);
    content->bytes = larger;
    content->room = capacity + CONTENT_PADDING;
    return flow_ok;
}

static FlowStatus too_large(const char *path, uint64_t most) {
    return flow_failure(FLOW_EXIT_data,
                        "%s: unpacks to more than %llu bytes, beyond what its size allows; unpack "
                        "it first if it is no decompression bomb",
                        path, (unsigned long long)most);
}

/* Everything that may be there has been read: is there more? */
static FlowStatus finish_full(Packed *file, const char *path) {
    char more;
    size_t count = 0;
    FlowStatus status = flow_ok;
    if (packed_is_compressed(file)) status = packed_read_some(file, &more, 1, &count);
    if (count) return too_large(path, packed_capacity(file));
    return status.exit ? status : packed_finish(file);
}

/* Reads until the file ends. */
static FlowStatus read_all(Packed *file, const char *path, Content *content) {
    uint64_t most = packed_capacity(file);
    size_t capacity = packed_is_compressed(file) ? FIRST_SIZE : (size_t)most, count;
    FlowStatus status = grow(path, content, capacity);
    while (!status.exit) {
        status = packed_read_some(file, content->bytes + content->size, capacity - content->size,
                                  &count);
        content->size += count;
        if (status.exit || content->size < capacity) break;
        if (capacity >= most) return finish_full(file, path);
        capacity = capacity > most / 2 ? (size_t)most : 2 * capacity;
        status = grow(path, content, capacity);
    }
    return status.exit ? status : packed_finish(file);
}

FlowStatus content_read(const char *path, Content *content) {
    Packed *file;
    *content = (Content){0};
    FlowStatus status = packed_open(path, &file);
    if (!status.exit) status = read_all(file, path, content);
    packed_close(file);
    if (status.exit) content_free(content);
    else memset(content->bytes + content->size, 0, CONTENT_PADDING);
    return status;
}

void content_free(Content *content) {
    free(content->bytes);
    *content = (Content){0};
}
