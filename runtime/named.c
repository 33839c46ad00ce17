#include "runtime/named.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* O_NONBLOCK keeps a named pipe from stopping us. */
static FlowStatus read_path(const char *path, WholeFile *file) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FlowStatus status = whole_file_read(descriptor, file);
    if (!status.exit) return status;
    return flow_failure(status.exit, "names %.*s, which %s", named_shown(strlen(path)), path,
                        status.text);
}

FlowStatus named_read(const char *name, size_t size, WholeFile *file) {
    char path[PATH_MAX];
    *file = (WholeFile){0};
    if (!size) return flow_failure(FLOW_EXIT_data, "is empty, where it should name a file");
    if (size >= sizeof path || memchr(name, 0, size))
        return flow_failure(FLOW_EXIT_data, "is no name of a file");
    memcpy(path, name, size);
    path[size] = 0;
    return read_path(path, file);
}
