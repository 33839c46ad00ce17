/* Content: a plain file is read in one go; a compressed one, whose size is not known, into a block
 * that doubles. What it can hold at most is known, so a small file cannot ask for all memory. */
#include "runtime/content.h"

#include "runtime/gzip.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 1 << 16 };

static FlowStatus no_memory(const char *path) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", path);
}

static FlowStatus grow(const char *path, Content *content, size_t capacity) {
    char *larger = capacity < SIZE_MAX - CONTENT_PADDING
                       ? realloc(content->bytes, capacity + CONTENT_PADDING)
                       : NULL;
    if (!larger) return no_memory(path);
    content->bytes = larger;
    return flow_ok;
}

/* Reads until the file ends. */
static FlowStatus read_all(Gzip *file, const char *path, Content *content) {
    uint64_t most = gzip_capacity(file);
    size_t capacity = gzip_is_compressed(file) ? FIRST_SIZE : (size_t)most, count;
    FlowStatus status = grow(path, content, capacity);
    while (!status.exit) {
        status =
            gzip_read_some(file, content->bytes + content->size, capacity - content->size, &count);
        content->size += count;
        if (status.exit || content->size < capacity) break;
        if (capacity >= most) return gzip_finish(file);
        capacity = capacity > SIZE_MAX / 2 ? SIZE_MAX : 2 * capacity;
        status = grow(path, content, capacity);
    }
    return status.exit ? status : gzip_finish(file);
}

FlowStatus content_read(const char *path, Content *content) {
    Gzip *file;
    *content = (Content){0};
    FlowStatus status = gzip_open(path, &file);
    if (!status.exit) status = read_all(file, path, content);
    gzip_close(file);
    if (status.exit) content_free(content);
    else memset(content->bytes + content->size, 0, CONTENT_PADDING);
    return status;
}

void content_free(Content *content) {
    free(content->bytes);
    *content = (Content){0};
}
