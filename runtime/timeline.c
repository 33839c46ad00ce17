#include "runtime/timeline.h"

#include "runtime/bounds.h"
#include "runtime/clock.h"
#include "runtime/device/times.h"
#include "runtime/format/events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST = 200, PROCESS = 1, FIRST_GPU = 2 }; /* nanoseconds; numbers of processes */

static const int64_t flush_time = 1000000000;

/* Of a function that is watched. */
typedef struct Watcher {
    FlowObserver observer; /* first: calls are made through a pointer to it */
    const FlowFunction *function;
    struct Watcher *next;
} Watcher;

static struct Timeline {
    bool on;
    pthread_mutex_t lock;
    Events events;
    int64_t start, flushed;
    int threads;        /* that have a line */
    uint64_t gpu_named; /* bit: its lines have names */
    uint64_t station_named[GPU_LIMIT];
    Watcher *watchers;
} timeline = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int own_line; /* 0: none yet */
static _Thread_local bool inside;  /* a call that is noted */
static _Thread_local char own_name[80];

bool timeline_is_on(void) {
    return timeline.on;
}

/* Threads. */

void timeline_name(const char *name) {
    if (timeline.on) snprintf(own_name, sizeof own_name, "%s", name);
}

/* While the lock is held. */
static EventTrack own_track(void) {
    char other[32];
    if (!own_line) {
        own_line = ++timeline.threads;
        snprintf(other, sizeof other, "thread %d", own_line);
        events_thread(&timeline.events, (EventTrack){PROCESS, own_line},
                      *own_name ? own_name : other);
    }
    return (EventTrack){PROCESS, own_line};
}

static void flush_sometimes(int64_t now) {
    if (now - timeline.flushed < flush_time) return;
    events_flush(&timeline.events);
    timeline.flushed = now;
}

int64_t timeline_begin(void) {
    return timeline.on ? clock_nanoseconds() : 0;
}

void timeline_end(int64_t begun, const char *name, const char *detail) {
    if (!begun) return;
    int64_t now = clock_nanoseconds();
    pthread_mutex_lock(&timeline.lock);
    events_span(&timeline.events, own_track(), name, detail, begun - timeline.start,
                now - timeline.start);
    flush_sometimes(now);
    pthread_mutex_unlock(&timeline.lock);
}

void timeline_count(const char *name, int64_t value) {
    if (!timeline.on) return;
    pthread_mutex_lock(&timeline.lock);
    events_count(&timeline.events, name, clock_nanoseconds() - timeline.start, value);
    pthread_mutex_unlock(&timeline.lock);
}

/* GPUs. */

static void name_gpu(int gpu) {
    static const char *const lines[] = {"kernels", "copies in", "copies out"};
    char name[32];
    if (timeline.gpu_named >> gpu & 1) return;
    timeline.gpu_named |= UINT64_C(1) << gpu;
    snprintf(name, sizeof name, "gpu(%d)", gpu);
    events_process(&timeline.events, FIRST_GPU + gpu, name);
    for (int i = 0; i < (int)(sizeof lines / sizeof *lines); i++)
        events_thread(&timeline.events, (EventTrack){FIRST_GPU + gpu, 1 + i}, lines[i]);
}

static void name_station(int gpu, int line) {
    char name[32];
    const int station = line - TIMES_STATIONS;
    if (station < 0 || station >= 64 || timeline.station_named[gpu] >> station & 1) return;
    timeline.station_named[gpu] |= UINT64_C(1) << station;
    snprintf(name, sizeof name, "records %d", station + 1);
    events_thread(&timeline.events, (EventTrack){FIRST_GPU + gpu, 1 + line}, name);
}

static void note_gpu(const GpuTime *time) {
    pthread_mutex_lock(&timeline.lock);
    name_gpu(time->gpu);
    name_station(time->gpu, time->line);
    events_span(&timeline.events, (EventTrack){FIRST_GPU + time->gpu, 1 + time->line}, time->name,
                time->detail, time->begin - timeline.start, time->end - timeline.start);
    pthread_mutex_unlock(&timeline.lock);
}

/* Calls. */

/* Of "contraction [B, 784, 128]: digits.flow:24 matmul, add" what stands behind the sizes. */
static const char *short_name(const FlowWork *work) {
    const char *colon = work->kernel >= 0 ? strstr(work->text, ": ") : NULL;
    return colon ? colon + 2 : work->text;
}

static void note_call(FlowObserver *observer, const FlowFrame *frame, const FlowCall *call,
                      int number, int thread, int threads) {
    const FlowFunction *function = ((Watcher *)observer)->function;
    const bool outer = !inside;
    static const FlowWork unknown = {.kernel = -1, .text = "copies"};
    const FlowWork *work = number < function->work_count ? &function->work[number] : &unknown;
    if (call->barrier) flow_barrier(frame, thread, threads);
    inside = true;
    if (outer && !thread) times_name((GpuName){short_name(work), work->text});
    int64_t begun = clock_nanoseconds();
    call->kernel(frame, call->operands, thread, threads);
    if (!outer) return;
    inside = false;
    if (!thread) times_name((GpuName){NULL, NULL});
    if (thread && work->kernel < 0) return; /* the first thread does it */
    if (clock_nanoseconds() - begun >= SHORTEST) timeline_end(begun, short_name(work), work->text);
}

FlowStatus timeline_watch(const FlowFunction *function, FlowObserver **observer) {
    *observer = NULL;
    if (!timeline.on) return flow_ok;
    Watcher *watcher = malloc(sizeof *watcher);
    if (!watcher) return flow_failure(FLOW_EXIT_resource, "--trace: no memory");
    *watcher = (Watcher){{.make = note_call, .goes_on = true}, function, timeline.watchers};
    timeline.watchers = watcher;
    *observer = &watcher->observer;
    return flow_ok;
}

/* Opening. */

FlowStatus timeline_open(const char *path) {
    FlowStatus status = events_open(&timeline.events, path);
    if (status.exit) return status;
    timeline.start = timeline.flushed = clock_nanoseconds();
    timeline.on = true;
    events_process(&timeline.events, PROCESS, "cpu");
    timeline_name("the run");
    times_tell(note_gpu);
    return flow_ok;
}

FlowStatus timeline_close(void) {
    if (!timeline.on) return flow_ok;
    timeline.on = false;
    times_tell(NULL);
    for (Watcher *watcher = timeline.watchers, *next; watcher; watcher = next) {
        next = watcher->next;
        free(watcher);
    }
    timeline.watchers = NULL;
    pthread_mutex_lock(&timeline.lock);
    FlowStatus status = events_close(&timeline.events);
    pthread_mutex_unlock(&timeline.lock);
    return status;
}
