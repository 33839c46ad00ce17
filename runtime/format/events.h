/* Events: a writer of trace events as JSON, which Perfetto and Chrome show: Google, "Trace Event
 * Format" (JSON object format; events X, M and C). What was written is a whole file whenever no
 * call is under way, so that it can be read after any end of the process. Times are nanoseconds.
 * Not thread-safe. */
#ifndef FLOW_EVENTS_H
#define FLOW_EVENTS_H

#include "runtime/flow.h"

enum { EVENTS_ROOM = 64 << 10 };

typedef struct Events {
    int file;        /* -1: none */
    int64_t written; /* bytes, without the end that follows them */
    size_t used;
    bool any;
    int failed; /* 0, or the errno: nothing more is written */
    char path[512];
    char text[EVENTS_ROOM]; /* not written yet */
} Events;

/* A line of the picture. */
typedef struct EventTrack {
    int process, thread;
} EventTrack;

FlowStatus events_open(Events *events, const char *path);

/* Texts are any bytes: what is no UTF-8 or no character is shown as `?`. detail: more of the span,
 * or NULL. */
void events_process(Events *events, int process, const char *name);
void events_thread(Events *events, EventTrack track, const char *name);
void events_span(Events *events, EventTrack track, const char *name, const char *detail,
                 int64_t begin, int64_t end);
void events_count(Events *events, const char *name, int64_t time, int64_t value);

/* All is in the file now. */
void events_flush(Events *events);
FlowStatus events_close(Events *events);

#endif
