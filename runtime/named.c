#include "runtime/named.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FlowStatus fail(const char *name, const char *why) {
    return flow_failure(FLOW_EXIT_data, "names %.*s, which %s", named_shown(strlen(name)), name,
                        why);
}

static FlowStatus cannot_be_read(const char *name) {
    return flow_failure(FLOW_EXIT_data, "names %.*s, which can't be read: %s",
                        named_shown(strlen(name)), name, strerror(errno));
}

/* Until it ends; it may shrink meanwhile. */
static FlowStatus read_all(int descriptor, const char *name, Named *file) {
    size_t room = file->size;
    file->size = 0;
    while (file->size < room) {
        ssize_t size = read(descriptor, file->bytes + file->size, room - file->size);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return cannot_be_read(name);
        if (!size) break;
        file->size += (size_t)size;
    }
    return flow_ok;
}

static FlowStatus read_open(int descriptor, const char *name, Named *file) {
    struct stat stat;
    if (fstat(descriptor, &stat)) return cannot_be_read(name);
    if (!S_ISREG(stat.st_mode)) return fail(name, "is not a regular file");
    if (stat.st_size > NAMED_LIMIT) return fail(name, "has more than 64 MiB");
    file->size = (size_t)stat.st_size;
    file->bytes = malloc(file->size + 1);
    if (!file->bytes) return flow_failure(FLOW_EXIT_resource, "names a file: no memory to read it");
    return read_all(descriptor, name, file);
}

/* O_NONBLOCK keeps a named pipe from stopping us. */
static FlowStatus read_path(const char *name, Named *file) {
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return cannot_be_read(name);
    FlowStatus status = read_open(descriptor, name, file);
    close(descriptor);
    return status;
}

FlowStatus named_read(const char *name, size_t size, Named *file) {
    char path[PATH_MAX];
    *file = (Named){0};
    if (!size) return flow_failure(FLOW_EXIT_data, "is empty, where it should name a file");
    if (size >= sizeof path || memchr(name, 0, size))
        return flow_failure(FLOW_EXIT_data, "is no name of a file");
    memcpy(path, name, size);
    path[size] = 0;
    return read_path(path, file);
}

void named_free(Named *file) {
    free(file->bytes);
}
