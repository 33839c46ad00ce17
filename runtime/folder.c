/* Folder: every component of a path is opened by itself, from the folder on and without following
 * links, so that neither a name nor somebody who changes the folder meanwhile leads out of it. */
#define _GNU_SOURCE
#include "runtime/folder.h"

#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/mix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEPTH_LIMIT = 32,
    PATH_LIMIT = 4096,
    FIRST_CAPACITY = 1024,
};

static FlowStatus no_memory(const Folder *folder) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory for its names", folder->path);
}

/* name: below the folder. */
static FlowStatus unreadable(const Folder *folder, const char *name, int error) {
    if (error == ELOOP)
        return flow_failure(FLOW_EXIT_data, "%s/%s: is a link; links are not followed",
                            folder->path, name);
    return flow_failure(FLOW_EXIT_data, "%s%s%s: cannot be read: %s", folder->path,
                        *name ? "/" : "", name, strerror(error));
}

/* Names. */

static bool add_text(Folder *folder, const char *text, uint64_t *place) {
    uint64_t length = strlen(text) + 1, wanted = folder->text_size + length;
    if (wanted > folder->text_capacity) {
        uint64_t capacity = 2 * wanted + PATH_LIMIT;
        char *more = held_resize(folder->text, folder->text_capacity, capacity);
        if (!more) return false;
        folder->text = more;
        folder->text_capacity = capacity;
    }
    *place = folder->text_size;
    memcpy(folder->text + folder->text_size, text, length);
    folder->text_size = wanted;
    return true;
}

static bool grow(FolderNames *names) {
    int64_t capacity = names->capacity ? 2 * names->capacity : FIRST_CAPACITY;
    uint64_t *more = held_resize(names->places, (size_t)names->capacity * sizeof *more,
                                 (size_t)capacity * sizeof *more);
    if (!more) return false;
    names->places = more;
    names->capacity = capacity;
    return true;
}

static FlowStatus add_name(Folder *folder, FolderNames *names, const char *name) {
    if ((names->count == names->capacity && !grow(names)) ||
        !add_text(folder, name, &names->places[names->count]))
        return no_memory(folder);
    names->count++;
    return flow_ok;
}

static bool is_image(const char *name) {
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t least = strlen(endings[i]);
        if (length > least && !strcasecmp(name + length - least, endings[i])) return true;
    }
    return false;
}

/* Walking. */

typedef struct Walk {
    Folder *folder;
    char path[PATH_LIMIT];    /* of what is looked at, below the folder */
    char other[NAME_MAX + 1]; /* a file of the class that is no image, or empty */
    int depth;
} Walk;

static FlowStatus walk_folder(Walk *walk, int descriptor, size_t length);

/* The kind of an entry, as readdir names kinds; DT_UNKNOWN: it is gone. */
static int kind_of(int descriptor, const struct dirent *entry) {
    struct stat stat;
    if (entry->d_type != DT_UNKNOWN) return entry->d_type;
    if (fstatat(descriptor, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW)) return DT_UNKNOWN;
    return IFTODT(stat.st_mode);
}

static bool links_to_folder(int descriptor, const char *name) {
    struct stat stat;
    return !fstatat(descriptor, name, &stat, 0) && S_ISDIR(stat.st_mode);
}

static FlowStatus enter(Walk *walk, int descriptor, const char *name, size_t length) {
    if (walk->depth == DEPTH_LIMIT)
        return flow_failure(FLOW_EXIT_data, "%s/%s: lies more than %d folders deep",
                            walk->folder->path, walk->path, DEPTH_LIMIT);
    int inner = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) return unreadable(walk->folder, walk->path, errno);
    walk->depth++;
    FlowStatus status = walk_folder(walk, inner, length);
    walk->depth--;
    return status;
}

/* A class may be empty, so that others keep their places; but not full of what is passed over. */
static FlowStatus enter_class(Walk *walk, int descriptor, const char *name, size_t length) {
    Folder *folder = walk->folder;
    int64_t before = folder->files.count;
    *walk->other = 0;
    FlowStatus status = add_name(folder, &folder->classes, name);
    if (!status.exit) status = enter(walk, descriptor, name, length);
    if (status.exit || folder->files.count > before) return status;
    if (!*walk->other) return add_name(folder, &folder->empty, name);
    return flow_failure(FLOW_EXIT_data, "%s/%s: has no .jpg, .jpeg or .png file, but `%s`",
                        folder->path, name, walk->other);
}

static FlowStatus take_file(Walk *walk, const char *name) {
    if (is_image(name)) return add_name(walk->folder, &walk->folder->files, walk->path);
    snprintf(walk->other, sizeof walk->other, "%s", name);
    return flow_ok;
}

/* A file that is no plain one but is named as an image is taken: it fails when it is read. */
static FlowStatus look_at(Walk *walk, int descriptor, const struct dirent *entry, size_t length) {
    const char *name = entry->d_name;
    int kind = kind_of(descriptor, entry);
    int more = snprintf(walk->path + length, PATH_LIMIT - length, "%s%s", length ? "/" : "", name);
    if (*name == '.') return flow_ok;
    if ((size_t)more >= PATH_LIMIT - length)
        return flow_failure(FLOW_EXIT_data, "%s: has paths of more than %d bytes",
                            walk->folder->path, PATH_LIMIT);
    if (kind == DT_DIR)
        return (walk->depth ? enter : enter_class)(walk, descriptor, name, length + (size_t)more);
    if (kind == DT_LNK && links_to_folder(descriptor, name))
        return unreadable(walk->folder, walk->path, ELOOP);
    return take_file(walk, name);
}

/* Takes the descriptor. length: of the folder's path in walk->path. */
static FlowStatus walk_folder(Walk *walk, int descriptor, size_t length) {
    DIR *entries = fdopendir(descriptor);
    FlowStatus status = flow_ok;
    if (!entries) {
        status = unreadable(walk->folder, walk->path, errno);
        close(descriptor);
        return status;
    }
    while (!status.exit) {
        errno = 0;
        const struct dirent *entry = readdir(entries);
        if (entry) {
            status = interrupted() ? interrupt_reading(walk->folder->path)
                                   : look_at(walk, descriptor, entry, length);
            continue;
        }
        walk->path[length] = 0;
        if (errno) status = unreadable(walk->folder, walk->path, errno);
        break;
    }
    closedir(entries);
    return status;
}

/* Order. */

/* A path that ends comes first, then one that goes on in a folder. */
static int rank(char c) {
    return c == '/' ? 1 : c ? (unsigned char)c + 1 : 0;
}

static int compare_paths(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return rank(*a) - rank(*b);
}

static int by_path(const void *a, const void *b, void *text) {
    return compare_paths((char *)text + *(const uint64_t *)a, (char *)text + *(const uint64_t *)b);
}

static void sort_names(Folder *folder, FolderNames *names) {
    if (names->count)
        qsort_r(names->places, (size_t)names->count, sizeof *names->places, by_path, folder->text);
}

/* Opening. */

static FlowStatus walk_all(Folder *folder) {
    int descriptor = openat(folder->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return unreadable(folder, "", errno);
    Walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        close(descriptor);
        return no_memory(folder);
    }
    walk->folder = folder;
    FlowStatus status = walk_folder(walk, descriptor, 0);
    free(walk);
    return status;
}

FlowStatus folder_open(const char *path, Folder *folder) {
    *folder = (Folder){.path = path};
    folder->descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (folder->descriptor < 0 && errno == ENOTDIR)
        return flow_failure(FLOW_EXIT_data, "%s: is no folder", path);
    if (folder->descriptor < 0) return unreadable(folder, "", errno);
    FlowStatus status = walk_all(folder);
    if (status.exit) return status;
    sort_names(folder, &folder->files);
    sort_names(folder, &folder->classes);
    sort_names(folder, &folder->empty);
    if (folder->files.count) return flow_ok;
    return flow_failure(FLOW_EXIT_data, "%s: has no images (.jpg, .jpeg, .png)", path);
}

void folder_close(Folder *folder) {
    if (folder->path && folder->descriptor >= 0) close(folder->descriptor);
    free(folder->text);
    free(folder->files.places);
    free(folder->classes.places);
    free(folder->empty.places);
    *folder = (Folder){0};
}

const char *folder_name(const Folder *folder, int64_t file) {
    return folder->text + folder->files.places[file];
}

/* "`ant`, `bee`, `cat`, …" */
static void list_names(const Folder *folder, const FolderNames *names, char *text, size_t size) {
    enum { SHOWN = 3 };
    size_t used = 0;
    for (int64_t i = 0; i < names->count && i <= SHOWN && used < size; i++)
        used += (size_t)snprintf(
            text + used, size - used, "%s%s%s%s", i ? ", " : "", i < SHOWN ? "`" : "…",
            i < SHOWN ? folder->text + names->places[i] : "", i < SHOWN ? "`" : "");
}

/* Is it the first time in this process? Where folders share a place one may seem new again. */
static bool is_news(const Folder *folder) {
    enum { PLACES = 64 };
    static _Atomic uint64_t told[PLACES];
    struct stat stat;
    if (fstat(folder->descriptor, &stat)) return true;
    uint64_t identity = mix(mix((uint64_t)stat.st_dev) ^ (uint64_t)stat.st_ino);
    return atomic_exchange(&told[identity % PLACES], identity) != identity;
}

void folder_tell_empty(const Folder *folder) {
    char names[256];
    long long empty = folder->empty.count, classes = folder->classes.count;
    if (!empty || !is_news(folder)) return;
    list_names(folder, &folder->empty, names, sizeof names);
    fprintf(stderr, "%s: %lld of %lld classes %s no images (%s); %s a label\n", folder->path, empty,
            classes, empty == 1 ? "has" : "have", names,
            empty == 1 ? "it still has" : "they still have");
}

/* Is the class before, at or behind the first component of the path? */
static int compare_class(const char *class, const char *path) {
    while (*class && *class == *path) class ++, path++;
    return !*class && *path == '/' ? 0 : rank(*class) - (*path == '/' ? 0 : rank(*path));
}

int64_t folder_class(const Folder *folder, int64_t file) {
    const char *path = folder_name(folder, file);
    int64_t low = 0, high = folder->classes.count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = compare_class(folder->text + folder->classes.places[middle], path);
        if (!order) return middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return -1;
}

/* Reading. */

/* Opens the path component by component, so that no link is followed; or -1 with errno. */
static int open_inside(int folder, const char *path) {
    char component[NAME_MAX + 1];
    int descriptor = folder;
    for (const char *slash; descriptor >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        snprintf(component, sizeof component, "%.*s", (int)(slash - path), path);
        int inner = openat(descriptor, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int error = errno;
        if (descriptor != folder) close(descriptor);
        descriptor = inner;
        errno = error;
    }
    if (descriptor < 0) return -1;
    int file = openat(descriptor, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error = errno;
    if (descriptor != folder) close(descriptor);
    errno = error;
    return file;
}

FlowStatus folder_read(const Folder *folder, int64_t file, WholeFile *read) {
    const char *name = folder_name(folder, file);
    int descriptor = open_inside(folder->descriptor, name);
    if (descriptor < 0 && errno == ELOOP) return unreadable(folder, name, errno);
    FlowStatus status = whole_file_read(descriptor, read);
    if (!status.exit) return status;
    return flow_failure(status.exit, "%s/%s: %s", folder->path, name, status.text);
}
