#define _GNU_SOURCE
#include "runtime/cache_file.h"

#include "runtime/file.h"
#include "runtime/mapping.h"
#include "runtime/mix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100 };

uint64_t cache_header_check(const CacheHeader *header) {
    uint64_t words[offsetof(CacheHeader, check) / sizeof(uint64_t)], check = 0;
    memcpy(words, header, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) check = mix(check + words[i]);
    return check;
}

static FlowStatus cannot(const CacheFile *file, const char *what, int error) {
    return flow_failure(FLOW_EXIT_resource, "%s: %s: %s", file->path, what, strerror(error));
}

/* Making one. */

/* Without a name: a run that is killed leaves nothing. */
static int open_nameless(const char *path) {
    char folder[PATH_MAX];
    if (strlen(path) >= sizeof folder) return -1;
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = 0;
    return open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
}

/* Calls what takes a name that nobody has, PATH.NUMBER.part, until it finds one. */
typedef int TakeName(CacheFile *file);

static bool find_name(CacheFile *file, TakeName *take) {
    for (int try = 0; try < TRIES; try++) {
        if (asprintf(&file->part, "%s.%d.%d.part", file->path, (int)getpid(), try) < 0)
            file->part = NULL;
        if (!file->part) return errno = ENOMEM, false;
        if (!take(file)) return true;
        int error = errno;
        free(file->part);
        file->part = NULL;
        errno = error;
        if (error != EEXIST) return false;
    }
    return false;
}

static int open_name(CacheFile *file) {
    file->descriptor = open(file->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file->descriptor < 0 ? -1 : 0;
}

static int link_name(CacheFile *file) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->descriptor);
    return linkat(AT_FDCWD, self, AT_FDCWD, file->part, AT_SYMLINK_FOLLOW);
}

static int allocate(int descriptor, size_t size) {
    int error;
    do error = posix_fallocate(descriptor, 0, (off_t)size);
    while (error == EINTR);
    return error;
}

static FlowStatus map(CacheFile *file, size_t size, char **bytes) {
    *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor, 0);
    return *bytes == MAP_FAILED ? cannot(file, "can't be mapped", errno) : flow_ok;
}

FlowStatus cache_file_create(CacheFile *file, size_t size, char **bytes) {
    char what[64];
    snprintf(what, sizeof what, "no space for its %.1f MB", (double)size / 1e6);
    file->descriptor = open_nameless(file->path);
    if (file->descriptor < 0 && !find_name(file, open_name))
        return cannot(file, "can't be written", errno);
    int error = allocate(file->descriptor, size);
    FlowStatus status = error ? cannot(file, what, error) : map(file, size, bytes);
    if (status.exit) cache_file_close(file);
    return status;
}

static int give_name(CacheFile *file) {
    if (fsync(file->descriptor)) return errno;
    if (!file->part && !find_name(file, link_name)) return errno;
    if (rename(file->part, file->path)) return errno;
    free(file->part);
    file->part = NULL;
    return file_sync_folder(file->path);
}

void cache_file_publish(CacheFile *file, char *bytes, size_t size) {
    file->error = msync(bytes, size, MS_SYNC) ? errno : give_name(file);
}

/* One that is there. */

static FlowStatus read_header(CacheFile *file, CacheHeader *header, size_t *size) {
    struct stat about;
    if (fstat(file->descriptor, &about)) return cannot(file, "can't be read", errno);
    bool plain = S_ISREG(about.st_mode) && about.st_size >= CACHE_PAGE;
    *size = (size_t)about.st_size;
    if (plain && pread(file->descriptor, header, sizeof *header, 0) == sizeof *header &&
        header->magic == cache_magic)
        return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: is no cache, and is not written over", file->path);
}

FlowStatus cache_file_open(CacheFile *file, CacheHeader *header, size_t *size) {
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor >= 0) return read_header(file, header, size);
    return errno == ENOENT ? flow_ok : cannot(file, "can't be read", errno);
}

FlowStatus cache_file_map(CacheFile *file, size_t size, const char **bytes) {
    return mapping_new(file->path, file->descriptor, size, bytes);
}

void cache_file_close(CacheFile *file) {
    if (file->error) fprintf(stderr, "%s: can't be kept: %s\n", file->path, strerror(file->error));
    if (file->part) unlink(file->part);
    if (file->descriptor >= 0) close(file->descriptor);
    free(file->part);
    *file = (CacheFile){.path = file->path, .descriptor = -1};
}
