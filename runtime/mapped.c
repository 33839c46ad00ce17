#include "runtime/mapped.h"

#include "runtime/mapping.h"
#include "runtime/packed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_compressed(int descriptor) {
    char start[4] = {0};
    ssize_t count = pread(descriptor, start, sizeof start, 0);
    return count > 0 && packed_begins(start, (size_t)count);
}

FlowStatus mapped_open(const char *path, Mapped *mapped) {
    struct stat stat;
    *mapped = (Mapped){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool plain = descriptor >= 0 && !fstat(descriptor, &stat) && S_ISREG(stat.st_mode) &&
                 !is_compressed(descriptor);
    mapped->plain = plain;
    FlowStatus status = plain ? mapping_new(path, descriptor, (size_t)stat.st_size, &mapped->bytes)
                              : content_read(path, &mapped->content);
    if (descriptor >= 0) close(descriptor);
    if (plain) mapped->size = (size_t)stat.st_size;
    else mapped->bytes = mapped->content.bytes, mapped->size = mapped->content.size;
    if (status.exit) *mapped = (Mapped){0};
    return status;
}

void mapped_close(Mapped *mapped) {
    if (mapped->plain) mapping_free(mapped->bytes);
    content_free(&mapped->content);
    *mapped = (Mapped){0};
}
