#include "runtime/whole_file.h"

#include "runtime/thread_own.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of these the file is innocent. */
static bool is_scarcity(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

static FlowStatus unreadable(int error) {
    return flow_failure(is_scarcity(error) ? FLOW_EXIT_resource : FLOW_EXIT_data,
                        "cannot be read: %s", strerror(error));
}

static FlowStatus fill(int descriptor, WholeFile *file) {
    for (size_t at = 0; at < file->size;) {
        ssize_t count = pread(descriptor, file->bytes + at, file->size - at, (off_t)at);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return unreadable(errno);
        if (!count) return flow_failure(FLOW_EXIT_data, "was cut while it was read");
        at += (size_t)count;
    }
    return flow_ok;
}

static FlowStatus read_open(int descriptor, WholeFile *file) {
    struct stat stat;
    if (fstat(descriptor, &stat)) return unreadable(errno);
    if (!S_ISREG(stat.st_mode)) return flow_failure(FLOW_EXIT_data, "is not a regular file");
    if (stat.st_size > WHOLE_FILE_LIMIT)
        return flow_failure(FLOW_EXIT_data, "has more than %d MiB", WHOLE_FILE_LIMIT >> 20);
    file->size = (size_t)stat.st_size;
    file->bytes = own_resize(NULL, 0, file->size + 1);
    return file->bytes ? fill(descriptor, file) : unreadable(ENOMEM);
}

FlowStatus whole_file_read(int descriptor, WholeFile *file) {
    *file = (WholeFile){0};
    if (descriptor < 0) return unreadable(errno);
    FlowStatus status = read_open(descriptor, file);
    close(descriptor);
    if (status.exit) whole_file_free(file);
    return status;
}

void whole_file_free(WholeFile *file) {
    if (file->bytes) own_free(file->bytes, file->size + 1);
    *file = (WholeFile){0};
}
