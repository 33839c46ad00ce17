/* Mapped: the file lies at the start of memory that has a page of zeros more, so what reads a few
 * bytes at a time need not ask where it ends. */
#define _GNU_SOURCE
#include "runtime/mapped.h"

#include "runtime/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_compressed(int descriptor) {
    char start[4] = {0};
    ssize_t count = pread(descriptor, start, sizeof start, 0);
    return count > 0 && packed_begins(start, (size_t)count);
}

static FlowStatus map(const char *path, int descriptor, size_t size, Mapped *mapped) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (size + page - 1) / page * page + page;
    void *bytes = mmap(NULL, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes != MAP_FAILED && size &&
        mmap(bytes, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
        int error = errno;
        munmap(bytes, room);
        errno = error;
        bytes = MAP_FAILED;
    }
    if (bytes == MAP_FAILED)
        return flow_failure(FLOW_EXIT_resource, "%s: cannot be mapped: %s", path, strerror(errno));
    *mapped = (Mapped){.bytes = bytes, .size = size, .room = room};
    return flow_ok;
}

FlowStatus mapped_open(const char *path, Mapped *mapped) {
    struct stat stat;
    *mapped = (Mapped){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool plain = descriptor >= 0 && !fstat(descriptor, &stat) && S_ISREG(stat.st_mode) &&
                 !is_compressed(descriptor);
    FlowStatus status = plain ? map(path, descriptor, (size_t)stat.st_size, mapped)
                              : content_read(path, &mapped->content);
    if (descriptor >= 0) close(descriptor);
    if (status.exit || plain) return status;
    mapped->bytes = mapped->content.bytes;
    mapped->size = mapped->content.size;
    return flow_ok;
}

void mapped_close(Mapped *mapped) {
    if (mapped->room) munmap((void *)mapped->bytes, mapped->room);
    content_free(&mapped->content);
    *mapped = (Mapped){0};
}
