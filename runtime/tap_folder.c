/* Tap of a folder: the kernel tells what happens in it (inotify). The watch begins before the
 * folder is read, so nothing falls between. A file that somebody is still writing when the folder
 * is read is left out: its end will be told. When so much happens that the kernel forgets some of
 * it, the folder is read again. The names of the files in it are kept, and nothing else. */
#define _GNU_SOURCE
#include "runtime/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    EVENTS = IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF |
             IN_MOVE_SELF | IN_ONLYDIR,
    EVENTS_SIZE = 64 << 10,
};

typedef struct Folder {
    Tap tap;
    const char *path, *pattern; /* of the folder; of names in it */
    int inotify;
    void *seen;             /* a tree of the names that were told and are there */
    char *waiting;          /* the name that waits for room; or NULL */
    struct dirent **listed; /* what was there, in order */
    int listed_count, next; /* of these */
    size_t events_size, at; /* of the events, and where to go on */
    _Alignas(struct inotify_event) char events[EVENTS_SIZE];
} Folder;

static FlowStatus fail(const Folder *folder, const char *why) {
    return flow_failure(FLOW_EXIT_data, "%s: %s", folder->tap.name, why);
}

static int compare(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Names. */

typedef struct Path {
    char text[PATH_MAX];
} Path;

/* Not by a descriptor of the folder: while it is open, the kernel does not tell that it goes. */
static Path path_of(const Folder *folder, const char *name) {
    Path path;
    snprintf(path.text, sizeof path.text, "%s%s", folder->path, name);
    return path;
}

static bool is_wanted(const Folder *folder, const char *name) {
    struct stat about;
    return !fnmatch(folder->pattern, name, FNM_PERIOD) &&
           !stat(path_of(folder, name).text, &about) && S_ISREG(about.st_mode);
}

/* False: it was told already. */
static FlowStatus note(Folder *folder, const char *name, bool *is_new) {
    *is_new = !tfind(name, &folder->seen, compare);
    if (!*is_new) return flow_ok;
    char *own = strdup(name);
    if (own && tsearch(own, &folder->seen, compare)) return flow_ok;
    free(own);
    return tap_no_memory(folder->tap.name);
}

static void forget(Folder *folder, const char *name) {
    void *found = tfind(name, &folder->seen, compare);
    if (!found) return;
    char *own = *(char **)found;
    tdelete(name, &folder->seen, compare);
    free(own);
}

/* Is somebody writing it? A lease to read is not given then. */
static bool is_being_written(const Folder *folder, const char *name) {
    int file = open(path_of(folder, name).text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    fcntl(file, F_SETSIG, SIGURG); /* which nobody minds */
    bool written = fcntl(file, F_SETLEASE, F_RDLCK) && errno == EAGAIN;
    close(file);
    return written;
}

/* The folder as it is. */

static void drop_list(Folder *folder) {
    for (int i = folder->next; i < folder->listed_count; i++) free(folder->listed[i]);
    free(folder->listed);
    folder->listed = NULL;
    folder->listed_count = folder->next = 0;
}

static FlowStatus list(Folder *folder) {
    drop_list(folder);
    int count = scandir(path_of(folder, ".").text, &folder->listed, NULL, alphasort);
    if (count < 0) return fail(folder, strerror(errno));
    folder->listed_count = count;
    return flow_ok;
}

static int compare_entries(const void *name, const void *entry) {
    return strcmp(name, (*(struct dirent *const *)entry)->d_name);
}

/* What has gone while the kernel did not say so is forgotten. */
static FlowStatus list_again(Folder *folder) {
    void *before = folder->seen;
    FlowStatus status = list(folder);
    folder->seen = NULL;
    while (before) {
        char *name = *(char **)before;
        tdelete(name, &before, compare);
        bool there =
            folder->listed_count && bsearch(name, folder->listed, (size_t)folder->listed_count,
                                            sizeof *folder->listed, compare_entries);
        if (!there || !tsearch(name, &folder->seen, compare)) free(name);
    }
    return status;
}

/* The next name, or NULL: *status, or there is none. */
static const char *next_listed(Folder *folder, FlowStatus *status) {
    while (folder->next < folder->listed_count && !status->exit) {
        struct dirent *entry = folder->listed[folder->next];
        bool is_new = false;
        if (is_wanted(folder, entry->d_name) && !is_being_written(folder, entry->d_name))
            *status = note(folder, entry->d_name, &is_new);
        if (is_new) return entry->d_name;
        free(folder->listed[folder->next++]);
    }
    return NULL;
}

/* What happens in it. */

static FlowStatus has_gone(const Folder *folder) {
    return fail(folder, "the folder has gone");
}

static const char *take_event(Folder *folder, FlowStatus *status) {
    const struct inotify_event *event = (const struct inotify_event *)(folder->events + folder->at);
    bool is_new = false;
    folder->at += sizeof *event + event->len;
    if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT))
        *status = has_gone(folder);
    else if (event->mask & IN_Q_OVERFLOW) *status = list_again(folder);
    else if (event->mask & (IN_DELETE | IN_MOVED_FROM)) forget(folder, event->name);
    else if (is_wanted(folder, event->name)) *status = note(folder, event->name, &is_new);
    return is_new ? event->name : NULL;
}

static FlowStatus read_events(Folder *folder, int stopper, TapRead *got) {
    FlowStatus status = tap_read_descriptor(&folder->tap, folder->inotify, stopper, folder->events,
                                            EVENTS_SIZE, got);
    folder->events_size = got->size;
    folder->at = 0;
    return status;
}

/* Reading. */

/* What an event has listed anew comes before the next event. */
static const char *next_name(Folder *folder, FlowStatus *status) {
    const char *name = next_listed(folder, status);
    while (!name && !status->exit && folder->at < folder->events_size) {
        name = take_event(folder, status);
        if (!name) name = next_listed(folder, status);
    }
    return name;
}

/* Puts the name behind *size bytes. False: there is no room. */
static bool put(const Folder *folder, const char *name, char *bytes, size_t room, size_t *size) {
    size_t before = strlen(folder->path), length = strlen(name);
    if (room - *size < before + length + 1) return false;
    memcpy(bytes + *size, folder->path, before);
    memcpy(bytes + *size + before, name, length + 1);
    *size += before + length + 1;
    return true;
}

/* The name that was listed last has been put. */
static void go_on(Folder *folder, const char *name) {
    if (folder->next < folder->listed_count && folder->listed[folder->next]->d_name == name)
        free(folder->listed[folder->next++]);
}

static FlowStatus read_folder(Tap *tap, int stopper, char *bytes, size_t room, TapRead *got) {
    Folder *folder = (Folder *)tap;
    FlowStatus status = flow_ok;
    size_t size = 0;
    if (folder->waiting && put(folder, folder->waiting, bytes, room, &size)) {
        free(folder->waiting);
        folder->waiting = NULL;
    }
    while (!status.exit && !folder->waiting) {
        const char *name = next_name(folder, &status);
        if (!name && size) break;
        if (name && !put(folder, name, bytes, room, &size)) {
            folder->waiting = strdup(name);
            if (!folder->waiting) status = tap_no_memory(tap->name);
        }
        if (name) go_on(folder, name);
        else if (!status.exit) {
            status = read_events(folder, stopper, got);
            if (status.exit || got->state == TAP_stopped) return status;
        }
    }
    *got = (TapRead){TAP_flows, size};
    return status;
}

static void close_folder(Tap *tap) {
    Folder *folder = (Folder *)tap;
    drop_list(folder);
    tdestroy(folder->seen, free);
    free(folder->waiting);
    if (folder->inotify >= 0) close(folder->inotify);
    free((char *)folder->path);
    free((char *)folder->pattern);
    free(folder);
}

static FlowStatus open_folder(Folder *folder, const char *pattern) {
    const char *slash = strrchr(pattern, '/');
    size_t size = slash ? (size_t)(slash - pattern) + 1 : 0;
    folder->path = strndup(pattern, size);
    folder->pattern = strdup(pattern + size);
    if (!folder->path || !folder->pattern) return tap_no_memory(pattern);
    if (strpbrk(folder->path, "*?["))
        return fail(folder, "one folder is watched: only what stands behind the last `/` is a "
                            "pattern");
    folder->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (folder->inotify < 0 ||
        inotify_add_watch(folder->inotify, size ? folder->path : ".", EVENTS) < 0)
        return fail(folder, strerror(errno));
    return list(folder);
}

FlowStatus tap_of_folder(const char *pattern, Tap **tap) {
    Folder *folder = tap_new(sizeof *folder, pattern);
    *tap = NULL;
    if (!folder) return tap_no_memory(pattern);
    folder->inotify = -1;
    folder->tap.read = read_folder;
    folder->tap.close = close_folder;
    FlowStatus status = open_folder(folder, pattern);
    if (status.exit) tap_close(&folder->tap);
    else *tap = &folder->tap;
    return status;
}
