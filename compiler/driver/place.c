/* Place. */
#define _GNU_SOURCE
#include "compiler/driver/place.h"

#include "compiler/driver/files.h"
#include "lang/base/vector.h"
#include "runtime/format/crc32c.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cache_folder(Arena *arena) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/') return arena_format(arena, "%s/flowc", base);
    return home && home[0] == '/' ? arena_format(arena, "%s/.cache/flowc", home) : NULL;
}

bool folder_is_private(const char *folder) {
    struct stat status;
    if (lstat(folder, &status)) return false;
    return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022);
}

void sha256_add_string(Sha256 *hash, const char *string) {
    sha256_add(hash, string, strlen(string) + 1);
}

void sha256_add_stamp(Sha256 *hash, const char *path) {
    struct stat status;
    if (stat(path, &status)) return;
    const int64_t stamp[] = {status.st_size,        status.st_mtim.tv_sec,  status.st_mtim.tv_nsec,
                             status.st_ctim.tv_sec, status.st_ctim.tv_nsec, (int64_t)status.st_ino,
                             (int64_t)status.st_dev};
    sha256_add(hash, stamp, sizeof stamp);
}

static const char *checksum(Arena *arena, uint32_t sum, size_t size) {
    return arena_format(arena, "%08x of %zu bytes", sum, size);
}

const char *checksum_text(Arena *arena, const char *bytes, size_t size) {
    return checksum(arena, crc32c(bytes, size), size);
}

/* Part by part, as room for all of a program takes longer to come by than to fill. */
const char *checksum_file(Arena *arena, const char *path) {
    char part[1 << 15];
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* as file_read does */
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    size_t size = 0, got;
    uint32_t sum = 0;
    if (!file) return NULL;
    setbuf(file, NULL);
    for (; (got = fread(part, 1, sizeof part, file)); size += got) sum = crc32c_add(sum, part, got);
    const bool whole = !ferror(file);
    fclose(file);
    return whole ? checksum(arena, sum, size) : NULL;
}

typedef struct Aged {
    char name[256];
    time_t used;
} Aged;

typedef Vector(Aged) AgedList;

static int by_age(const void *a, const void *b) {
    time_t x = ((const Aged *)a)->used, y = ((const Aged *)b)->used;
    return (x > y) - (x < y);
}

static AgedList aged_entries(Arena *arena, const char *path, const char *file) {
    AgedList entries = {0};
    DIR *folder = opendir(path);
    if (!folder) return entries;
    for (struct dirent *item; (item = readdir(folder));) {
        struct stat status;
        const char *full = arena_format(arena, "%s/%s%s", path, item->d_name, file);
        if (item->d_name[0] == '.' || stat(full, &status)) continue;
        Aged aged = {.used = status.st_atim.tv_sec};
        snprintf(aged.name, sizeof aged.name, "%s", item->d_name);
        vector_push(arena, &entries, aged);
    }
    closedir(folder);
    return entries;
}

void drop_oldest(Arena *arena, const char *folder, const char *file, size_t limit) {
    AgedList entries = aged_entries(arena, folder, file);
    if (entries.count <= limit) return;
    qsort(entries.items, entries.count, sizeof(Aged), by_age);
    for (size_t i = 0; i < entries.count - limit; i++)
        folder_remove(arena_format(arena, "%s/%s", folder, entries.items[i].name));
}
