/* Watchdog: who works only counts; the watchdog looks at the counters now and then. A thread that
 * stands and uses no processor is blocked. */
#define _GNU_SOURCE
#include "runtime/watchdog.h"

#include "runtime/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LOOKS = 4,        /* while something has to stand until it is blocked */
    BUSY_SHARE = 100, /* who computes for this part of that time is not */
    PLACE_SIZE = 384,
};

static struct Watchdog {
    const char *program;
    bool stopped;
    int64_t patience; /* nanoseconds */
    Beat *beats;
} watchdog;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local Beat *current; /* what this thread does */

static int64_t processor_time(const Beat *beat) {
    struct timespec time;
    if (clock_gettime(beat->clock, &time)) return 0;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* "pipeline `photos` makes a record (photos-*.tar: record 17)" */
static void tell(const Beat *beat, const char *doing) {
    char where[PLACE_SIZE] = "", since[32];
    struct tm local;
    time_t start = time(NULL) - (time_t)((clock_nanoseconds() - beat->since) / 1000000000);
    strftime(since, sizeof since, "%H:%M:%S", localtime_r(&start, &local));
    if (beat->place && beat->record >= 0)
        snprintf(where, sizeof where, " (%s: record %lld)", beat->place, beat->record);
    else if (beat->place) snprintf(where, sizeof where, " (%s)", beat->place);
    else if (beat->record >= 0) snprintf(where, sizeof where, " (record %lld)", beat->record);
    fprintf(stderr, "%s: blocked since %s: %s %s%s\n", watchdog.program, since, beat->name, doing,
            where);
}

/* For long enough? Counted in looks: when the whole machine stands, that is one. */
static bool stands(Beat *beat) {
    long long turns = beat->turns;
    int64_t processor = processor_time(beat);
    bool computes = processor - beat->processor > watchdog.patience / BUSY_SHARE;
    if (turns == beat->seen && !computes) return ++beat->stood >= LOOKS;
    beat->seen = turns;
    beat->processor = processor;
    beat->stood = 0;
    beat->since = clock_nanoseconds();
    return false;
}

static void look(Beat *beat) {
    const char *doing = beat->doing;
    if (!doing) beat->stood = 0;
    if (!doing || beat->told || !stands(beat)) return;
    beat->told = true;
    tell(beat, doing);
}

static bool look_at_all(void) {
    pthread_mutex_lock(&mutex);
    bool goes_on = !watchdog.stopped;
    for (Beat *beat = watchdog.beats; beat && goes_on; beat = beat->next) look(beat);
    pthread_mutex_unlock(&mutex);
    return goes_on;
}

static void *watch(void *unused) {
    int64_t time = watchdog.patience / LOOKS;
    struct timespec rest = {time / 1000000000, time % 1000000000};
    do nanosleep(&rest, NULL);
    while (look_at_all());
    return unused;
}

static int64_t patience_asked(void) {
    const char *asked = getenv("FLOWC_WATCHDOG");
    double seconds = asked && *asked ? strtod(asked, NULL) : 10;
    return seconds > 0 && seconds < 1e6 ? (int64_t)(seconds * 1e9) : 0;
}

/* Signals are for others. */
void watchdog_start(const char *program) {
    sigset_t all, before;
    pthread_t thread;
    watchdog.program = program;
    watchdog.patience = patience_asked();
    if (!watchdog.patience) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, watch, NULL)) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Its thread sleeps on, as the process is about to end: waiting for it takes 0.1 ms. */
void watchdog_stop(void) {
    pthread_mutex_lock(&mutex);
    watchdog.stopped = true;
    pthread_mutex_unlock(&mutex);
}

void beat_add(Beat *beat) {
    beat->since = clock_nanoseconds();
    beat->record = -1;
    pthread_mutex_lock(&mutex);
    beat->next = watchdog.beats;
    watchdog.beats = beat;
    pthread_mutex_unlock(&mutex);
}

void beat_remove(Beat *beat) {
    pthread_mutex_lock(&mutex);
    Beat **link = &watchdog.beats;
    while (*link && *link != beat) link = &(*link)->next;
    if (*link) *link = beat->next;
    pthread_mutex_unlock(&mutex);
}

void beat_begin(Beat *beat, const char *doing) {
    clockid_t clock;
    if (!pthread_getcpuclockid(pthread_self(), &clock)) beat->clock = clock;
    beat_at(beat, -1);
    beat->doing = doing;
    beat->around = current;
    current = beat;
}

void beat_end(Beat *beat) {
    beat->doing = NULL;
    current = beat->around;
}

const char *beat_rest(void) {
    const char *doing = current ? current->doing : NULL;
    if (current) current->doing = NULL;
    return doing;
}

void beat_resume(const char *doing) {
    if (!current) return;
    beat_at(current, current->record);
    current->doing = doing;
}
