/* Files. */
#define _GNU_SOURCE
#include "compiler/driver/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *file_read(Arena *arena, const char *path, size_t *size) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO waits for nobody */
    struct stat status;
    if (descriptor < 0) return NULL;
    if (fstat(descriptor, &status) || !S_ISREG(status.st_mode)) {
        close(descriptor);
        errno = EINVAL;
        return NULL;
    }
    char *bytes = arena_allocate(arena, (size_t)status.st_size + 1);
    size_t done = 0;
    while (done < (size_t)status.st_size) {
        ssize_t got = read(descriptor, bytes + done, (size_t)status.st_size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    close(descriptor);
    bytes[done] = 0;
    *size = done;
    return done == (size_t)status.st_size ? bytes : NULL;
}

static bool write_all(int descriptor, const char *bytes, size_t size) {
    while (size) {
        ssize_t done = write(descriptor, bytes, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

static bool write_mode(const char *path, const void *bytes, size_t size, int mode) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (descriptor < 0) return false;
    bool written = write_all(descriptor, bytes, size);
    return close(descriptor) == 0 && written;
}

bool file_write(const char *path, const void *bytes, size_t size) {
    return write_mode(path, bytes, size, 0644);
}

/* Writes beside the file, and puts what was written in its place. */
static bool write_beside(Arena *arena, const char *path, const void *bytes, size_t size, int mode) {
    char *temporary = arena_format(arena, "%s.%d.tmp", path, (int)getpid());
    if (write_mode(temporary, bytes, size, mode) && !chmod(temporary, (mode_t)mode) &&
        !rename(temporary, path))
        return true;
    int why = errno;
    unlink(temporary);
    errno = why;
    return false;
}

bool file_rewrite(Arena *arena, const char *path, const void *bytes, size_t size) {
    struct stat status;
    char *full = realpath(path, NULL);
    if (!full || stat(full, &status)) return false;
    if (access(full, W_OK)) return false; /* a folder's permission alone would do */
    bool written = write_beside(arena, full, bytes, size, status.st_mode & 07777);
    free(full);
    return written;
}

bool file_renew(Arena *arena, const char *path, const void *bytes, size_t size) {
    return write_beside(arena, path, bytes, size, 0644);
}

bool file_copy(Arena *arena, const char *from, const char *to, int mode) {
    size_t size;
    char *bytes = file_read(arena, from, &size);
    struct stat target;
    if (!bytes) return false;
    if (!stat(to, &target) && !S_ISREG(target.st_mode)) {
        errno = S_ISDIR(target.st_mode) ? EISDIR : EEXIST;
        return false;
    }
    return write_beside(arena, to, bytes, size, mode);
}

bool file_exists(const char *path) {
    return !access(path, F_OK);
}

bool same_file(const char *a, const char *b) {
    struct stat first, second;
    return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static bool make_folder(const char *path, int mode) {
    return !mkdir(path, (mode_t)mode) || errno == EEXIST;
}

bool folder_make(const char *path, int mode) {
    char copy[4096];
    if (make_folder(path, mode)) return true;
    if (errno != ENOENT) return false;
    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *at = copy + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        if (!make_folder(copy, mode)) return false;
        *at = '/';
    }
    return make_folder(copy, mode);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    remove(path); /* what can't be removed stays: nothing depends on its absence */
    return 0;
}

void folder_remove(const char *path) {
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
