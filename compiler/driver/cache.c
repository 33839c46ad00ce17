/* Cache. */
#define _GNU_SOURCE
#include "compiler/driver/cache.h"

#include "compiler/driver/files.h"
#include "compiler/driver/place.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define BUILDING ".building." /* begins the name of a folder that will become an entry */

enum {
    ENTRY_LIMIT = 200,       /* programs kept; the oldest go first */
    SPACE_NEEDED = 16 << 20, /* bytes */
    BUILDING_LIMIT = 86400,  /* seconds; what is being built for longer was killed */
};

const char *scratch_folder(Arena *arena) {
    const char *base = getenv("TMPDIR");
    char *folder = arena_format(arena, "%s/flowc.XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(folder)) return folder;
    fprintf(stderr, "flowc: no folder for building in %s: %s\n", folder, strerror(errno));
    return NULL;
}

bool write_generated(Arena *arena, const Generated *generated, const char *folder) {
    vector_each(GeneratedFile, file, generated->files) {
        const char *path = arena_format(arena, "%s/%s", folder, file->name);
        if (file_write(path, file->text, strlen(file->text))) continue;
        fprintf(stderr, "flowc: %s: %s\n", path, strerror(errno));
        return false;
    }
    return true;
}

static bool hash_linked(const Toolchain *toolchain, Sha256 *hash, const char *path) {
    size_t size;
    const char *content = linked_content(toolchain, path, &size);
    if (!content) return false;
    sha256_add_string(hash, path);
    sha256_add(hash, content, size);
    return true;
}

/* NULL after printing what can't be read. */
static const char *entry_key(const Toolchain *toolchain, const Generated *generated,
                             const char *folder_define) {
    Sha256 hash = sha256_new();
    char *hex = arena_allocate(toolchain->arena, 65);
    sha256_add_string(&hash, toolchain_key(toolchain));
    sha256_add_string(&hash, folder_define);
    sha256_add_stamp(&hash, toolchain->home->runtime);
    sha256_add_stamp(&hash, arena_format(toolchain->arena, "%s/.made", toolchain->home->share));
    vector_each(GeneratedFile, file, generated->files) sha256_add_string(&hash, file->text);
    vector_each(const char *, path, toolchain->linked)
        if (!hash_linked(toolchain, &hash, *path)) return NULL;
    sha256_hex(&hash, hex);
    return hex;
}

/* The entry's program is there, is what was put there, and may be run. */
static bool is_whole(Arena *arena, const CacheEntry *entry) {
    size_t size;
    const char *stated = file_read(arena, arena_format(arena, "%s/checksum", entry->folder), &size);
    const char *found = stated ? checksum_file(arena, entry->program) : NULL;
    return found && !strcmp(stated, found) && !access(entry->program, X_OK);
}

static bool build_entry(const Toolchain *toolchain, const Generated *generated,
                        const char *folder_define, const char *folder) {
    Arena *arena = toolchain->arena;
    if (!write_generated(arena, generated, folder)) return false;
    if (!toolchain_program(toolchain, generated, folder, "program", folder_define, false)) {
        folder_remove(folder);
        return false;
    }
    const char *sum = checksum_file(arena, arena_format(arena, "%s/program", folder));
    const char *path = arena_format(arena, "%s/checksum", folder);
    return sum && file_write(path, sum, strlen(sum));
}

static void drop_abandoned(Arena *arena, const char *cache) {
    DIR *folder = opendir(cache);
    if (!folder) return;
    for (struct dirent *item; (item = readdir(folder));) {
        struct stat status;
        const char *path = arena_format(arena, "%s/%s", cache, item->d_name);
        if (strncmp(item->d_name, BUILDING, strlen(BUILDING)) || stat(path, &status)) continue;
        if (status.st_mtime < time(NULL) - BUILDING_LIMIT) folder_remove(path);
    }
    closedir(folder);
}

/* A folder that will become the entry. NULL: the cache can't be used, *why says why. */
static char *entry_folder(Arena *arena, const char *cache, const char **why) {
    *why = "HOME is not set";
    if (!cache) return NULL;
    *why = "it has no space";
    struct statvfs space;
    if (!statvfs(cache, &space) && space.f_bavail * space.f_frsize < SPACE_NEEDED) return NULL;
    *why = "others can write into it";
    if (folder_make(cache, 0700) && !folder_is_private(cache)) return NULL;
    char *folder = arena_format(arena, "%s/" BUILDING "XXXXXX", cache);
    if (mkdtemp(folder)) return folder;
    *why = strerror(errno);
    return NULL;
}

static bool publish(const char *building, const char *folder) {
    if (!rename(building, folder)) return true;
    bool lost = errno == EEXIST || errno == ENOTEMPTY;
    folder_remove(building);
    return lost; /* another process was faster */
}

static CacheEntry entry_in(Arena *arena, const char *folder) {
    return (CacheEntry){.program = arena_format(arena, "%s/program", folder), .folder = folder};
}

bool cache_entry(Arena *arena, const char *name, CacheEntry *entry) {
    const char *cache = cache_folder(arena);
    if (!cache || !folder_is_private(cache)) return false;
    const CacheEntry found = entry_in(arena, arena_format(arena, "%s/%s", cache, name));
    if (!is_whole(arena, &found)) return false;
    *entry = found;
    return true;
}

bool cache_program(const Toolchain *toolchain, const Generated *generated,
                   const char *folder_define, bool fresh, CacheEntry *entry) {
    Arena *arena = toolchain->arena;
    const char *why, *cache = cache_folder(arena);
    const char *key = entry_key(toolchain, generated, folder_define);
    if (!key) return false;
    if (!fresh && cache_entry(arena, key, entry)) return true;
    if (cache) *entry = entry_in(arena, arena_format(arena, "%s/%s", cache, key));
    if (cache && folder_is_private(cache)) folder_remove(entry->folder); /* broken or unwanted */
    char *building = entry_folder(arena, cache, &why);
    if (!building) {
        fprintf(stderr, "flowc: warning: not cached: %s: %s\n", cache ? cache : "~/.cache", why);
        const char *scratch = scratch_folder(arena);
        if (!scratch) return false;
        *entry = entry_in(arena, scratch);
        entry->temporary = true;
        return build_entry(toolchain, generated, folder_define, scratch);
    }
    if (!build_entry(toolchain, generated, folder_define, building)) return false;
    drop_abandoned(arena, cache);
    drop_oldest(arena, cache, "/program", ENTRY_LIMIT);
    return publish(building, entry->folder);
}
