/* Objects. */
#include "compiler/driver/objects.h"

#include "compiler/driver/files.h"
#include "compiler/driver/place.h"
#include "lang/base/path.h"

#include <stdio.h>
#include <string.h>

enum { OBJECT_LIMIT = 4000 }; /* kept, of some tens of kilobytes each */

static const char *objects_folder(Arena *arena) {
    const char *cache = cache_folder(arena);
    bool trusted = cache && folder_make(cache, 0700) && folder_is_private(cache);
    return trusted ? arena_format(arena, "%s/objects", cache) : NULL;
}

/* But for lines that are a comment, which say where in the program a kernel comes from. */
static void add_source(Sha256 *hash, const char *source) {
    for (size_t size; *source; source += size + (source[size] == '\n')) {
        size = strcspn(source, "\n");
        bool comment = size > 3 && !memcmp(source, "/*", 2) && !memcmp(source + size - 2, "*/", 2);
        if (!comment) sha256_add(hash, source, size + (source[size] == '\n'));
    }
}

const char *object_path(const Toolchain *toolchain, const char *source, const Strings *words) {
    Arena *arena = toolchain->arena;
    const char *folder = objects_folder(arena);
    size_t size;
    const char *text = folder ? file_read(arena, source, &size) : NULL;
    if (!text) return NULL;
    Sha256 hash = sha256_new();
    char hex[65];
    sha256_add_string(&hash, FLOWC_VERSION);
    sha256_add_stamp(&hash, arena_format(arena, "%s/.made", toolchain->home->share));
    vector_each(const char *, word, *words) sha256_add_string(&hash, *word);
    sha256_add_string(&hash, "");
    add_source(&hash, text);
    sha256_hex(&hash, hex);
    return arena_format(arena, "%s/%s", folder, hex);
}

bool object_take(Arena *arena, const char *path, const char *object) {
    size_t size;
    const char *bytes = file_read(arena, path, &size);
    const char *end = bytes ? memchr(bytes, '\n', size) : NULL;
    if (!end) return false;
    const char *stated = arena_copy(arena, bytes, (size_t)(end - bytes));
    size -= (size_t)(end + 1 - bytes);
    return !strcmp(stated, checksum_text(arena, end + 1, size)) &&
           file_write(object, end + 1, size);
}

void object_keep(Arena *arena, const char *path, const char *object) {
    size_t size;
    const char *bytes = file_read(arena, object, &size);
    if (!bytes || !folder_make(path_folder(arena, path), 0700)) return;
    Text text = text_new(arena);
    text_format(&text, "%s\n", checksum_text(arena, bytes, size));
    text_add_bytes(&text, bytes, size);
    file_renew(arena, path, text_string(&text), text.size);
}

void objects_limit(Arena *arena) {
    const char *folder = objects_folder(arena);
    if (folder) drop_oldest(arena, folder, "", OBJECT_LIMIT);
}
