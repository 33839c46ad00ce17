#include "runtime/rejects.h"

#include "runtime/clock.h"
#include "runtime/fifo.h"
#include "runtime/interrupt.h"
#include "runtime/mix.h"
#include "runtime/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 64 };

static const int64_t first_pause = 2000000000, pause_between = 10000000000; /* nanoseconds */

struct Rejects {
    const char *pipeline, *path;
    FILE *log;
    pthread_mutex_t mutex;
    atomic_bool made; /* some record could be */
    int64_t count;
    int64_t told; /* the count that was told last */
    int64_t next; /* when they may be told again */
    FlowStatus first;
    FlowStatus latest; /* whichever thread met it: not always the last in order */
    int64_t *noted; /* a table of 1 + record, at least half of it empty; 0: nothing stands there */
    size_t places, used;
};

FlowStatus rejects_new(const char *pipeline, const char *path, Rejects **out) {
    Rejects *rejects = *out = calloc(1, sizeof *rejects);
    if (!rejects) return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", pipeline);
    rejects->pipeline = pipeline;
    rejects->path = path;
    rejects->next = clock_nanoseconds() + first_pause;
    pthread_mutex_init(&rejects->mutex, NULL);
    return flow_ok;
}

void rejects_free(Rejects *rejects) {
    if (!rejects) return;
    if (rejects->log) fclose(rejects->log);
    if (rejects->count && rejects->pipeline)
        fprintf(stderr, "pipeline `%s`: %lld record%s rejected%s%s; the first: %s\n",
                rejects->pipeline, (long long)rejects->count, rejects->count == 1 ? "" : "s",
                rejects->path ? ", see " : "", rejects->path ? rejects->path : "",
                rejects->first.text);
    free(rejects->noted);
    pthread_mutex_destroy(&rejects->mutex);
    free(rejects);
}

static void tell(Rejects *rejects) {
    if (rejects->count == rejects->told) return;
    int64_t now = clock_nanoseconds();
    if (now <= rejects->next) return;
    rejects->told = rejects->count;
    rejects->next = now + pause_between;
    progress_clear();
    fprintf(stderr, "pipeline `%s`: %lld record%s rejected so far; the latest: %s\n",
            rejects->pipeline, (long long)rejects->count, rejects->count == 1 ? "" : "s",
            rejects->latest.text);
}

void rejects_made(Rejects *rejects) {
    if (rejects && !atomic_load_explicit(&rejects->made, memory_order_relaxed))
        atomic_store_explicit(&rejects->made, true, memory_order_relaxed);
}

void rejects_tell(Rejects *rejects) {
    if (!rejects || !rejects->pipeline) return;
    pthread_mutex_lock(&rejects->mutex);
    tell(rejects);
    pthread_mutex_unlock(&rejects->mutex);
}

FlowStatus rejects_verdict(const Rejects *rejects) {
    if (!rejects || !rejects->count || rejects->made) return flow_ok;
    return flow_failure(FLOW_EXIT_data,
                        "pipeline `%s`: every record that was looked at was rejected",
                        rejects->pipeline);
}

/* Where the record stands, or would. */
static int64_t *place_of(int64_t *table, size_t places, int64_t record) {
    size_t place = mix((uint64_t)record) & (places - 1);
    while (table[place] && table[place] != record + 1) place = (place + 1) & (places - 1);
    return &table[place];
}

static bool make_room(Rejects *rejects) {
    size_t places = rejects->places ? 2 * rejects->places : FIRST_PLACES;
    if (2 * rejects->used < rejects->places) return true;
    int64_t *table = calloc(places, sizeof *table);
    if (!table) return false;
    for (size_t i = 0; i < rejects->places; i++)
        if (rejects->noted[i]) *place_of(table, places, rejects->noted[i] - 1) = rejects->noted[i];
    free(rejects->noted);
    rejects->noted = table;
    rejects->places = places;
    return true;
}

bool rejects_note(Rejects *rejects, int64_t record) {
    if (!make_room(rejects)) return true;
    int64_t *place = place_of(rejects->noted, rejects->places, record);
    bool new = !*place;
    *place = record + 1;
    rejects->used += new;
    return new;
}

static void write_text(FILE *file, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(file, "\\%c", c);
        else if (c < ' ' || c == 0x7f) fprintf(file, "\\u%04x", c);
        else fputc(c, file);
    }
}

static FILE *open_log(const char *path) {
    int descriptor = fifo_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
    return descriptor < 0 ? NULL : fdopen(descriptor, "a");
}

static FlowStatus log_failure(const Rejects *rejects) {
    if (errno == EINTR && !rejects->log) return interrupt_unread(rejects->path);
    return flow_failure(FLOW_EXIT_resource, "%s: %s", rejects->path, strerror(errno));
}

static FlowStatus add(Rejects *rejects, const char *pipeline, int64_t record,
                      const FlowStatus *failure) {
    if (!rejects->count++) rejects->first = *failure;
    rejects->latest = *failure;
    if (!rejects->path) return flow_ok;
    if (!rejects->log) rejects->log = open_log(rejects->path);
    if (!rejects->log) return log_failure(rejects);
    fprintf(rejects->log, "{\"pipeline\": \"%s\", \"record\": %lld, \"error\": \"", pipeline,
            (long long)record);
    write_text(rejects->log, failure->text);
    fputs("\"}\n", rejects->log);
    return fflush(rejects->log) ? log_failure(rejects) : flow_ok;
}

FlowStatus rejects_add(Rejects *rejects, const char *pipeline, int64_t record,
                       const FlowStatus *failure) {
    if (!rejects || failure->exit != FLOW_EXIT_data) return *failure;
    pthread_mutex_lock(&rejects->mutex);
    FlowStatus status = add(rejects, pipeline, record, failure);
    if (rejects->pipeline) tell(rejects);
    pthread_mutex_unlock(&rejects->mutex);
    return status;
}
