/* Recall. A note is a row of strings, each with its NUL: the checksum of the others, the SHA-256,
 * the name of the cache entry, how many files there are, these, and the words. */
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

enum { NOTES_KEPT = 1000 };

static bool is_plain(const Compilation *line) {
    const Arguments *given = line->arguments;
    const bool tells = given->dump_ir || given->explain || given->keep || given->verbose;
    const bool places = given->machine || given->visible_devices || given->gpu_memory ||
                        given->all_reduce || given->simulate || given->soft_placement;
    const bool measures = getenv("FLOWC_MEASURE") || getenv("FLOWC_TIMES");
    return !tells && !places && !measures && !given->no_cache && !given->link.count &&
           !is_locked(line) && !gpus_are_likely();
}

/* Also where there is none, which is no empty one. */
static void add_word(Sha256 *hash, const char *word) {
    sha256_add_string(hash, word ? "=" : "");
    if (word) sha256_add_string(hash, word);
}

static void add_stamp(void *hash, const char *path) {
    sha256_add_string(hash, path);
    sha256_add_stamp(hash, path);
}

static void add_flowc(Sha256 *hash, const Compilation *line) {
    sha256_add_string(hash, FLOWC_VERSION);
    sha256_add_stamp(hash, "/proc/self/exe");
    sha256_add_stamp(hash, line->home->runtime);
    sha256_add_stamp(hash, arena_format(line->arena, "%s/.made", line->home->share));
    home_each_file(line->arena, line->home, add_stamp, hash);
}

static void add_line(Sha256 *hash, const Arguments *given) {
    const char *const flags[] = {given->file, given->target, given->compiler, given->device,
                                 given->path};
    static const char *const variables[] = {"FLOW_PATH", "FLOWC_CC", "FLOWC_DEVICE",
                                            "FLOWC_TARGET"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) add_word(hash, flags[i]);
    sha256_add_string(hash, given->exact ? "exact" : "");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        add_word(hash, getenv(variables[i]));
    vector_each(const char *, word, given->program) add_word(hash, *word);
    add_word(hash, NULL);
}

static void add_machine(Sha256 *hash, const Compilation *line) {
    add_word(hash, toolchain_native());
    add_word(hash, flow_half_means() == FLOW_HALF_vectors ? "vectors" : "tiles");
    add_word(hash, toolchain_compiler(line->arguments->compiler));
    add_word(hash, toolchain_omp(line->arena));
}

const char *recall_place(const Compilation *line, const char *folder) {
    const char *cache = cache_folder(line->arena);
    char *hex = arena_allocate(line->arena, 65);
    Sha256 hash = sha256_new();
    if (!cache || !is_plain(line)) return NULL;
    add_flowc(&hash, line);
    add_line(&hash, line->arguments);
    add_machine(&hash, line);
    add_word(&hash, folder);
    sha256_hex(&hash, hex);
    return arena_format(line->arena, "%s/recalled/%s", cache, hex);
}

/* Files. */

static void add_file(Sha256 *hash, const char *path, const Source *source) {
    const uint64_t size = source ? source->size : UINT64_MAX;
    sha256_add_string(hash, path);
    sha256_add(hash, &size, sizeof size);
    if (source) sha256_add(hash, source->text, source->size);
}

/* As they were when they were compiled, which they need not be any more. */
static Sha256 files_compiled(const Module *module, Text *paths) {
    Sha256 hash = sha256_new();
    const Source *program = module->program->tree->source;
    add_file(&hash, program->path, program);
    text_format(paths, "%zu%c%s%c", module->looked.count + 1, 0, program->path, 0);
    vector_each(Looked, looked, module->looked) {
        add_file(&hash, looked->path, looked->source);
        text_format(paths, "%s%c", looked->path, 0);
    }
    return hash;
}

/* Notes. */

typedef struct Reader {
    Arena *arena;
    const char *at, *end;
} Reader;

static const char *next(Reader *note) {
    const char *string = note->at;
    if (string >= note->end) return NULL;
    note->at += strlen(string) + 1;
    return string;
}

/* A whole one, up to what stands behind its checksum. */
static bool open_note(Reader *note, Arena *arena, const char *place) {
    size_t size;
    const char *folder = path_folder(arena, place);
    const char *bytes = folder_is_private(folder) ? file_read(arena, place, &size) : NULL;
    if (!bytes || !size || bytes[size - 1]) return false;
    *note = (Reader){arena, bytes, bytes + size};
    const char *stated = next(note);
    return !strcmp(stated, checksum_text(arena, note->at, (size_t)(note->end - note->at)));
}

static const char *files_now(Reader *note) {
    const char *why, *path, *count = next(note);
    char *hex = arena_allocate(note->arena, 65);
    Sha256 hash = sha256_new();
    for (long left = count ? strtol(count, NULL, 10) : 0; left > 0 && (path = next(note)); left--)
        add_file(&hash, path, source_read(note->arena, path, &why));
    sha256_hex(&hash, hex);
    return hex;
}

bool recall(Arena *arena, const char *place, CacheEntry *entry, Strings *words) {
    Reader note;
    if (!place || !open_note(&note, arena, place)) return false;
    const char *files = next(&note), *name = next(&note), *word;
    if (!name || strcmp(files, files_now(&note)) || !cache_entry(arena, name, entry)) return false;
    while ((word = next(&note))) vector_push(arena, words, word);
    return true;
}

void recall_keep(const Compilation *compilation, const char *place, const CacheEntry *entry,
                 const Strings *words) {
    Arena *arena = compilation->arena;
    if (!place || entry->temporary) return;
    Text paths = text_new(arena), all = text_new(arena), note = text_new(arena);
    char hex[65];
    Sha256 files = files_compiled(compilation->module, &paths);
    sha256_hex(&files, hex);
    text_format(&all, "%s%c%s%c", hex, 0, path_name(entry->folder), 0);
    text_add_bytes(&all, text_string(&paths), paths.size);
    vector_each(const char *, word, *words) text_format(&all, "%s%c", *word, 0);
    text_format(&note, "%s%c", checksum_text(arena, text_string(&all), all.size), 0);
    text_add_bytes(&note, text_string(&all), all.size);
    const char *folder = path_folder(arena, place);
    if (!folder_make(folder, 0700) || !folder_is_private(folder)) return;
    file_renew(arena, place, text_string(&note), note.size);
    drop_oldest(arena, folder, "", NOTES_KEPT);
}
