/* File: atomic replacement by write, fsync, rename, fsync of the folder (Pillai et al.,
 * "All file systems are not created equal", OSDI 2014, on why each of these is needed). The
 * temporary file has a fixed name beside the target: the lock says that nobody else is
 * writing it, and one left by a crash is overwritten by the next save. */
#define _GNU_SOURCE
#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static FlowStatus cannot_write(const char *path, int error) {
    return flow_failure(FLOW_EXIT_resource, "%s: cannot be written: %s", path,
                        error == EEXIST ? "it is no regular file" : strerror(error));
}

/* Returns 0 or an error number, as do the next ones. */
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

static int write_parts(int descriptor, const FilePart *parts, int count, bool sync) {
    int error = 0;
    for (int i = 0; i < count && !error; i++)
        error = write_all(descriptor, parts[i].bytes, parts[i].size);
    if (!error && sync && fsync(descriptor)) error = errno;
    return error;
}

static int write_file(const char *path, const FilePart *parts, int count, bool sync) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) return errno;
    int error = write_parts(descriptor, parts, count, sync);
    if (close(descriptor) && !error) error = errno;
    if (error) unlink(path);
    return error;
}

int file_sync_folder(const char *path) {
    char folder[PATH_MAX];
    if (strlen(path) >= sizeof folder) return ENAMETOOLONG;
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = 0;
    int descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    int error = fsync(descriptor) && errno != EINVAL && errno != ENOTSUP ? errno : 0;
    close(descriptor);
    return error;
}

/* A rename would put a file in the place of a device or a folder. */
static int check_target(const char *path) {
    struct stat target;
    if (stat(path, &target)) return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(target.st_mode)) return EISDIR;
    return S_ISREG(target.st_mode) ? 0 : EEXIST;
}

static int replace(const char *path, const char *temporary, const FilePart *parts, int count) {
    int error = write_file(temporary, parts, count, true);
    if (error) return error;
    if (rename(temporary, path)) {
        error = errno;
        unlink(temporary);
        return error;
    }
    return file_sync_folder(path);
}

FlowStatus file_replace(const char *path, const FilePart *parts, int count) {
    char *temporary, *target = realpath(path, NULL); /* behind symbolic links, if it exists */
    int error = check_target(path);
    if (!error && asprintf(&temporary, "%s.tmp", target ? target : path) < 0) error = ENOMEM;
    if (!error) {
        error = replace(target ? target : path, temporary, parts, count);
        free(temporary);
    }
    free(target);
    return error ? cannot_write(path, error) : flow_ok;
}

FlowStatus file_put(const char *path, FilePart part) {
    char *temporary;
    if (asprintf(&temporary, "%s.part", path) < 0) return cannot_write(path, ENOMEM);
    int error = write_file(temporary, &part, 1, false);
    if (!error && rename(temporary, path)) {
        error = errno;
        unlink(temporary);
    }
    free(temporary);
    return error ? cannot_write(path, error) : flow_ok;
}

/* "x.2.y" for "x.y"; NULL: no memory. */
static char *numbered(const char *path, int number) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    char *name;
    return asprintf(&name, "%.*s.%d%s", (int)stem, path, number, path + stem) < 0 ? NULL : name;
}

/* from gets the name `to` too (link) or instead; what `to` named is gone. 0 or an error. */
static int move_file(const char *from, const char *to, bool keep) {
    if (access(from, F_OK)) return errno == ENOENT ? 0 : errno;
    if (keep && unlink(to) && errno != ENOENT) return errno;
    return (keep ? link(from, to) : rename(from, to)) ? errno : 0;
}

FlowStatus file_rotate(const char *path, int count) {
    FlowStatus status = flow_ok;
    for (int i = count; i > 0 && !status.exit; i--) {
        char *from = i > 1 ? numbered(path, i - 1) : strdup(path), *to = numbered(path, i);
        int error = from && to ? move_file(from, to, i == 1) : ENOMEM;
        if (error) status = cannot_write(path, error);
        free(from);
        free(to);
    }
    return status;
}

/* Whether the path still names the open file: its last owner may have removed it just now.
 */
static bool is_named(int descriptor, const char *path) {
    struct stat opened, named;
    return !fstat(descriptor, &opened) && !stat(path, &named) && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static int take_lock(FileLock *lock) {
    for (;;) {
        lock->descriptor = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (lock->descriptor < 0) return errno;
        if (flock(lock->descriptor, LOCK_EX | LOCK_NB)) break;
        if (is_named(lock->descriptor, lock->path)) return 0;
        close(lock->descriptor);
    }
    int error = errno;
    close(lock->descriptor);
    return error;
}

FlowStatus file_lock(const char *path, FileLock *lock) {
    *lock = (FileLock){.descriptor = -1};
    int error = check_target(path);
    if (error) return cannot_write(path, error);
    error = asprintf(&lock->path, "%s.lock", path) < 0 ? ENOMEM : take_lock(lock);
    if (!error) return flow_ok;
    free(lock->path);
    *lock = (FileLock){.descriptor = -1};
    if (error != EWOULDBLOCK) return cannot_write(path, error);
    return flow_failure(FLOW_EXIT_resource, "%s: another process is writing this file", path);
}

void file_unlock(FileLock *lock) {
    if (!lock->path) return;
    unlink(lock->path);
    close(lock->descriptor);
    free(lock->path);
    *lock = (FileLock){.descriptor = -1};
}
