/* Image cache: a file has the key and the text itself before the image, so its name, which is a sum
 * of both, need not be theirs alone. */
#define _GNU_SOURCE
#include "runtime/device/image_cache.h"

#include "runtime/file.h"
#include "runtime/format/crc32c.h"
#include "runtime/mix.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMAGES_LIMIT = 100 /* files that are kept */ };

static const uint64_t image_magic = 0x31756770776f6c66; /* "flowgpu1" */

typedef struct ImageHead {
    uint64_t magic, key_size, text_size, image_size;
    uint64_t check; /* of the image */
} ImageHead;

/* The folder. */

static bool is_private(const char *folder) {
    struct stat status;
    if (lstat(folder, &status)) return false;
    return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022);
}

/* Makes what is missing of it. NULL: it can't be had, or trusted. */
static char *make_folder(const char *base, const char *below) {
    static const char *const rest[] = {"", "/flowc", "/flowc/gpu"};
    char *path = NULL;
    for (int i = 0; i < 3; i++) {
        free(path);
        if (asprintf(&path, "%s%s%s", base, below, rest[i]) < 0) return NULL;
        mkdir(path, 0700);
    }
    if (is_private(path)) return path;
    free(path);
    return NULL;
}

static char *images_folder(void) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/') return make_folder(base, "");
    return home && home[0] == '/' ? make_folder(home, "/.cache") : NULL;
}

static uint64_t sum_of(const char *text, uint64_t sum) {
    for (; *text; text++) sum = mix(sum * 31 + (unsigned char)*text);
    return sum;
}

static char *path_of(const char *folder, const char *key, const char *text) {
    char *path;
    uint64_t sum = sum_of(text, sum_of(key, 1));
    return asprintf(&path, "%s/%016llx", folder, (unsigned long long)sum) < 0 ? NULL : path;
}

/* Taking. */

static char *read_whole(const char *path, size_t *size) {
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return NULL;
    bool good = !fstat(descriptor, &status) && S_ISREG(status.st_mode);
    char *bytes = good ? malloc((size_t)status.st_size + 1) : NULL;
    ssize_t got = 1;
    for (*size = 0; bytes && got > 0 && *size < (size_t)status.st_size; *size += (size_t)got)
        if ((got = read(descriptor, bytes + *size, (size_t)status.st_size - *size)) < 0) got = 0;
    close(descriptor);
    return bytes;
}

static bool is_whole(const char *bytes, size_t size, const char *key, const char *text,
                     ImageHead *head) {
    const size_t key_size = strlen(key), text_size = strlen(text);
    const size_t before = sizeof *head + key_size + text_size;
    if (size < before) return false;
    memcpy(head, bytes, sizeof *head);
    const char *at = bytes + sizeof *head;
    return head->magic == image_magic && head->key_size == key_size &&
           head->text_size == text_size && head->image_size == size - before &&
           !memcmp(at, key, key_size) && !memcmp(at + key_size, text, text_size) &&
           head->check == crc32c(bytes + before, size - before);
}

static bool take(const char *path, const char *key, const char *text, GpuImage *image) {
    size_t size;
    ImageHead head;
    char *bytes = read_whole(path, &size);
    bool whole = bytes && is_whole(bytes, size, key, text, &head);
    if (whole) {
        *image = (GpuImage){bytes, head.image_size};
        memmove(bytes, bytes + size - head.image_size, head.image_size);
        bytes[head.image_size] = 0;
    } else free(bytes);
    return whole;
}

bool image_cache_take(const char *key, const char *text, GpuImage *image) {
    char *folder = images_folder(), *path = folder ? path_of(folder, key, text) : NULL;
    bool taken = path && take(path, key, text, image);
    if (taken) utimensat(AT_FDCWD, path, NULL, 0);
    free(path);
    free(folder);
    return taken;
}

/* Keeping. */

/* Removes the file that was not used for the longest time, if there are too many. */
static void limit(const char *folder) {
    char oldest[256] = "";
    int count = 0;
    time_t time = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        struct stat status;
        if (entry->d_name[0] == '.' || fstatat(dirfd(entries), entry->d_name, &status, 0)) continue;
        count++;
        if (*oldest && status.st_mtime >= time) continue;
        snprintf(oldest, sizeof oldest, "%s", entry->d_name);
        time = status.st_mtime;
    }
    if (entries && count > IMAGES_LIMIT) unlinkat(dirfd(entries), oldest, 0);
    if (entries) closedir(entries);
}

void image_cache_keep(const char *key, const char *text, const GpuImage *image) {
    char *folder = images_folder(), *path = folder ? path_of(folder, key, text) : NULL;
    const ImageHead head = {image_magic, strlen(key), strlen(text), image->size,
                            crc32c(image->bytes, image->size)};
    const FilePart parts[] = {{&head, sizeof head},
                              {key, head.key_size},
                              {text, head.text_size},
                              {image->bytes, image->size}};
    if (path && !file_replace(path, parts, 4).exit) limit(folder);
    free(path);
    free(folder);
}
