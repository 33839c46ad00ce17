/* Output. The part is locked while it is written, so of two runs with one target one gives up; a
 * part that a killed run has left is written anew. */
#define _GNU_SOURCE
#include "runtime/output.h"

#include "runtime/bounds.h"
#include "runtime/fifo.h"
#include "runtime/file.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static FlowStatus failure(const Output *output, int error) {
    if (!output->path && error == EPIPE) return (FlowStatus){.exit = FLOW_EXIT_interrupted};
    if (error == EINTR && output->descriptor < 0) return interrupt_unread(output->path);
    if (error == EWOULDBLOCK && output->path)
        return flow_failure(FLOW_EXIT_resource, "%s: is being written already", output->path);
    return flow_failure(FLOW_EXIT_resource, "%s: cannot be written: %s",
                        output->path ? output->path : "standard output", strerror(error));
}

/* Opening. */

static bool is_regular(int descriptor) {
    struct stat stat;
    return !fstat(descriptor, &stat) && S_ISREG(stat.st_mode);
}

static bool is_link(const char *path) {
    struct stat stat;
    return !lstat(path, &stat) && S_ISLNK(stat.st_mode);
}

/* Whether the path still names the open file: its last writer may just have renamed it. */
static bool is_named(int descriptor, const char *path) {
    struct stat opened, named;
    return !fstat(descriptor, &opened) && !stat(path, &named) && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/* Returns 0 or an error number, as do the next ones. */
static int open_part(Output *output) {
    for (;;) {
        output->descriptor =
            open(output->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (output->descriptor < 0) return errno;
        if (flock(output->descriptor, LOCK_EX | LOCK_NB)) return errno;
        if (is_named(output->descriptor, output->part)) break;
        close(output->descriptor);
    }
    if (!is_regular(output->descriptor)) return EEXIST;
    return ftruncate(output->descriptor, 0) ? errno : 0;
}

static int open_beside(Output *output) {
    output->target = is_link(output->path) ? realpath(output->path, NULL) : strdup(output->path);
    if (!output->target) return errno;
    output->part = malloc(strlen(output->target) + sizeof ".part");
    if (!output->part) return ENOMEM;
    sprintf(output->part, "%s.part", output->target);
    return open_part(output);
}

static int open_in_place(Output *output) {
    output->descriptor = fifo_open(output->path, O_WRONLY | O_CLOEXEC);
    output->prompt = true;
    return output->descriptor < 0 ? errno : 0;
}

static int open_file(Output *output) {
    struct stat target;
    if (stat(output->path, &target)) return errno == ENOENT ? open_beside(output) : errno;
    if (S_ISDIR(target.st_mode)) return EISDIR;
    return S_ISREG(target.st_mode) ? open_beside(output) : open_in_place(output);
}

static bool grow(Output *output, size_t size) {
    size_t more = size - output->capacity;
    char *larger = holding_take(NULL, HOLDING_output, more) ? realloc(output->bytes, size) : NULL;
    if (larger) output->bytes = larger;
    if (larger) output->capacity = size;
    else output->error = ENOMEM;
    return larger;
}

static bool no_stdout;

void output_has_no_stdout(void) {
    no_stdout = true;
}

FlowStatus output_open(const char *path, int64_t records, Output *output) {
    *output = (Output){.path = path, .descriptor = STDOUT_FILENO};
    output->prompt = records == INT64_MAX || (!path && !is_regular(STDOUT_FILENO));
    if (path) output->descriptor = -1;
    int error = path ? open_file(output) : no_stdout ? EBADF : 0;
    if (!error && !grow(output, OUTPUT_HELD)) error = output->error;
    if (!error) return flow_ok;
    FlowStatus status = failure(output, error);
    output->error = error;
    output_close(output, FLOW_END_failed);
    return status;
}

/* Writing. */

static int write_all(int descriptor, const char *bytes, size_t size) {
    while (size) {
        ssize_t written = write(descriptor, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written ? errno : EIO;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

static void empty(Output *output) {
    if (!output->error) output->error = write_all(output->descriptor, output->bytes, output->used);
    output->written += output->used;
    output->used = 0;
}

char *output_room(Output *output, size_t size) {
    if (size > output->capacity - output->used) empty(output);
    if (output->error || (size > output->capacity && !grow(output, size))) return NULL;
    return output->bytes + output->used;
}

void output_used(Output *output, const char *end) {
    output->used = (size_t)(end - output->bytes);
}

void output_add(Output *output, const void *bytes, size_t size) {
    if (size > output->capacity - output->used) empty(output);
    if (size < output->capacity) {
        memcpy(output->bytes + output->used, bytes, size);
        output->used += size;
        return;
    }
    if (!output->error) output->error = write_all(output->descriptor, bytes, size);
    output->written += size;
}

void output_text(Output *output, const char *text) {
    output_add(output, text, strlen(text));
}

FlowStatus output_pass(Output *output) {
    if (output->prompt) empty(output);
    return output->error ? failure(output, output->error) : flow_ok;
}

FlowStatus output_over(Output *output, uint64_t offset, const void *bytes, size_t size) {
    empty(output);
    while (size && !output->error) {
        ssize_t written = pwrite(output->descriptor, bytes, size, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) output->error = written ? errno : EIO;
        if (written <= 0) break;
        bytes = (const char *)bytes + written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return output_pass(output);
}

/* Closing. */

static void rename_part(Output *output) {
    if (!output->error && fsync(output->descriptor)) output->error = errno;
    if (!output->error && rename(output->part, output->target)) output->error = errno;
    if (!output->error) output->error = file_sync_folder(output->target);
}

/* Whether what was written may stay in the part. */
static bool finish_part(Output *output, FlowEnd end) {
    if (end == FLOW_END_whole) rename_part(output);
    bool stays = !output->error && end != FLOW_END_failed;
    if (!stays && output->descriptor >= 0 && is_named(output->descriptor, output->part) &&
        output->error != EWOULDBLOCK && output->error != EEXIST)
        unlink(output->part);
    return stays;
}

FlowStatus output_close(Output *output, FlowEnd end) {
    if (output->bytes) empty(output);
    bool stays = output->part && finish_part(output, end);
    if (output->path && output->descriptor >= 0 && close(output->descriptor) && !output->error)
        output->error = errno;
    FlowStatus status = flow_ok;
    if (output->error) status = failure(output, output->error);
    else if (stays && end == FLOW_END_stopped)
        status = flow_failure(FLOW_EXIT_interrupted, "%s", output->part);
    free(output->target);
    free(output->part);
    free(output->bytes);
    holding_give(NULL, HOLDING_output, output->capacity);
    *output = (Output){.descriptor = -1};
    return status;
}
