/* Recall. A note is a row of strings, each with its NUL: the checksum of the others, the SHA-256 of
 * the files, the name of the cache entry, the paths of the files, an empty one, and the words. */
#define _GNU_SOURCE
#include "compiler/driver/recall.h"

#include "compiler/driver/files.h"
#include "compiler/driver/locks.h"
#include "compiler/driver/place.h"
#include "lang/base/path.h"
#include "runtime/device/device.h"
#include "runtime/half.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_KEPT = 1000 }; /* of some hundred bytes each */

/* The name of a note. */

static bool may_recall(const Compilation *line) {
    const bool measures = getenv("FLOWC_MEASURE") || getenv("FLOWC_TIMES");
    return !line->arguments->compiles && !measures && !is_locked(line) && !gpus_are_likely();
}

/* NULL and the empty word differ. */
static void add_word(Sha256 *hash, const char *word) {
    sha256_add_string(hash, word ? "=" : "");
    if (word) sha256_add_string(hash, word);
}

static void add_words(Sha256 *hash, const Strings *words) {
    vector_each(const char *, word, *words) add_word(hash, *word);
    add_word(hash, NULL);
}

static void add_stamp(void *hash, const char *path) {
    add_word(hash, path);
    sha256_add_stamp(hash, path);
}

static void add_flowc(Sha256 *hash, const Compilation *line) {
    add_word(hash, FLOWC_VERSION);
    add_stamp(hash, "/proc/self/exe");
    add_stamp(hash, line->home->runtime);
    add_stamp(hash, arena_format(line->arena, "%s/.made", line->home->share));
    home_each_file(line->arena, line->home, add_stamp, hash);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_variables(Sha256 *hash, Arena *arena) {
    Strings own = {0};
    for (char **variable = environ; *variable; variable++)
        if (!strncmp(*variable, "FLOW", 4)) vector_push(arena, &own, *variable);
    if (own.count) qsort(own.items, own.count, sizeof *own.items, by_text);
    add_words(hash, &own);
}

static void add_machine(Sha256 *hash, const Compilation *line) {
    add_word(hash, toolchain_native());
    add_word(hash, arena_format(line->arena, "%d", flow_half_means()));
    add_word(hash, toolchain_compiler(line->arguments->compiler));
    add_word(hash, toolchain_omp(line->arena));
}

const char *recall_place(const Compilation *line, const char *folder) {
    const char *cache = cache_folder(line->arena);
    char *hex = arena_allocate(line->arena, 65);
    Sha256 hash = sha256_new();
    if (!cache || !may_recall(line)) return NULL;
    add_flowc(&hash, line);
    add_words(&hash, &line->arguments->words);
    add_word(&hash, folder);
    add_variables(&hash, line->arena);
    add_machine(&hash, line);
    sha256_hex(&hash, hex);
    return arena_format(line->arena, "%s/recalled/%s", cache, hex);
}

/* Files. */

static Looked file_now(Arena *arena, const char *path) {
    const char *why;
    return (Looked){path, path_full(arena, path), source_read(arena, path, &why)};
}

static const char *digest(Arena *arena, const LookedList *files) {
    Sha256 hash = sha256_new();
    char *hex = arena_allocate(arena, 65);
    vector_each(Looked, file, *files) {
        const uint64_t size = file->source ? file->source->size : UINT64_MAX;
        add_word(&hash, file->full);
        sha256_add(&hash, &size, sizeof size);
        if (file->source) sha256_add(&hash, file->source->text, file->source->size);
    }
    sha256_hex(&hash, hex);
    return hex;
}

/* Reading a note. */

typedef struct Reader {
    const char *at, *end;
} Reader;

static const char *next(Reader *note) {
    const char *string = note->at;
    if (string >= note->end) return NULL;
    note->at += strlen(string) + 1;
    return string;
}

/* If the note is whole, what is read next stands behind its checksum. */
static bool open_note(Reader *note, Arena *arena, const char *place) {
    size_t size;
    const char *bytes =
        folder_is_private(path_folder(arena, place)) ? file_read(arena, place, &size) : NULL;
    if (!bytes || !size || bytes[size - 1]) return false;
    *note = (Reader){bytes, bytes + size};
    const char *stated = next(note);
    return !strcmp(stated, checksum_text(arena, note->at, (size_t)(note->end - note->at)));
}

static LookedList files_now(Reader *note, Arena *arena) {
    LookedList files = {0};
    for (const char *path; (path = next(note)) && *path;)
        vector_push(arena, &files, file_now(arena, path));
    return files;
}

bool recall(Arena *arena, const char *place, CacheEntry *entry, Strings *words) {
    Reader note;
    if (!place || !open_note(&note, arena, place)) return false;
    const char *stated = next(&note), *name = next(&note), *word;
    const LookedList files = files_now(&note, arena);
    if (!name || strcmp(stated, digest(arena, &files))) return false;
    while ((word = next(&note))) vector_push(arena, words, word);
    return cache_entry(arena, name, entry);
}

/* Writing one. */

static void add_string(Text *text, const char *string) {
    text_add_bytes(text, string, strlen(string) + 1);
}

static Text note_text(Arena *arena, const LookedList *files, const char *name,
                      const Strings *words) {
    Text rest = text_new(arena), note = text_new(arena);
    add_string(&rest, digest(arena, files));
    add_string(&rest, name);
    vector_each(Looked, file, *files) add_string(&rest, file->path);
    add_string(&rest, "");
    vector_each(const char *, word, *words) add_string(&rest, *word);
    add_string(&note, checksum_text(arena, text_string(&rest), rest.size));
    text_add_bytes(&note, text_string(&rest), rest.size);
    return note;
}

void recall_keep(const Compilation *compilation, const char *folder, const char *place,
                 const CacheEntry *entry, const Strings *words) {
    Arena *arena = compilation->arena;
    const char *now = place ? recall_place(compilation, folder) : NULL;
    if (entry->temporary || !now || strcmp(now, place)) return;
    const char *notes = path_folder(arena, place);
    if (!folder_make(notes, 0700) || !folder_is_private(notes)) return;
    /* as they were when they were compiled, which they need not be any more */
    const LookedList *files = &compilation->module->looked;
    Text note = note_text(arena, files, path_name(entry->folder), words);
    if (file_renew(arena, place, text_string(&note), note.size))
        drop_oldest(arena, notes, "", NOTES_KEPT);
}
