/* Watchdog: says once what a run waits for when it has not moved for ten seconds. To wait for input
 * is not to be blocked, nor is to compute for long. */
#ifndef FLOW_WATCHDOG_H
#define FLOW_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a thread does. Zero-initialised but for the names. */
typedef struct Beat {
    const char *name, *place;    /* "pipeline `digits`"; a file, or NULL */
    _Atomic(const char *) doing; /* "makes a record"; NULL: it waits for work */
    atomic_llong record;         /* or -1 */
    atomic_llong turns;          /* how often it has gone on */
    atomic_int clock;            /* of the time that its thread has computed */
    struct Beat *around;         /* what the thread does while it does this; or NULL */
    /* The watchdog's own: */
    long long seen;
    int64_t processor, since; /* nanoseconds: that it has computed; since when it stands */
    int stood;                /* looks */
    bool told;
    struct Beat *next;
} Beat;

/* One thread watches all beats of the process. FLOWC_WATCHDOG: the seconds; 0: nobody watches. Each
 * once; when it was stopped, nothing more is told. */
void watchdog_start(const char *program);
void watchdog_stop(void);

void beat_add(Beat *beat);
void beat_remove(Beat *beat);

/* The calling thread begins something, and ends it; `doing` is constant. */
void beat_begin(Beat *beat, const char *doing);
void beat_end(Beat *beat);

/* The calling thread waits for input, which is not to be blocked: it does nothing from here on,
 * until it goes on with what beat_rest has returned. */
const char *beat_rest(void);
void beat_resume(const char *doing);

static inline void beat_at(Beat *beat, int64_t record) {
    long long turns = atomic_load_explicit(&beat->turns, memory_order_relaxed);
    atomic_store_explicit(&beat->record, record, memory_order_relaxed);
    atomic_store_explicit(&beat->turns, turns + 1, memory_order_relaxed);
}

#endif
