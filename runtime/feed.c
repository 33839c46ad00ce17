/* Feed: bytes lie in chunks, each as long as some hundred records or as one that is longer. A
 * record that a chunk ends in goes on in the next one, where its beginning is copied. A chunk lives
 * as long as the records that begin in it. */
#define _GNU_SOURCE
#include "runtime/feed.h"

#include "runtime/clock.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/thread_own.h"
#include "runtime/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 256 << 10,    /* bytes */
    FIRST_PLACES = 1024,  /* of records; a power of two */
    PATIENCE = 100000000, /* nanoseconds that somebody sleeps, then looks again */
};

typedef struct Chunk {
    struct Chunk *next;
    size_t size, capacity;
    int64_t end; /* one past the last record that begins in it */
    char bytes[];
} Chunk;

typedef struct Place {
    const char *bytes;
    size_t size;
    int64_t line;
} Place;

struct Feed {
    Tap *tap; /* NULL: it has no bytes, and no end */
    int stopper;
    FeedCut *cut;
    void *context;
    FeedScan scan; /* of what is not cut yet */
    int64_t line;  /* of it */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t come, wanted; /* records have; more are */
    Chunk *oldest, *newest;
    size_t at;   /* in the newest chunk: what is not cut yet */
    size_t held; /* bytes of all chunks */
    Holding *holding;
    size_t counted; /* bytes that are held at most */
    Place *places;  /* a ring: record i is at i % capacity */
    int64_t capacity;
    int64_t first, count; /* records: the oldest; how many have come */
    int64_t asked;        /* for so many somebody waits */
    bool stopped, ended;
    FlowStatus status;
};

/* Records. */

/* While the ring grows it is there twice. */
static bool count_held(Feed *feed, size_t chunk, int64_t places) {
    size_t held = feed->held + chunk + (size_t)places * sizeof *feed->places / 2 * 3;
    if (held <= feed->counted) return true;
    if (!holding_take(feed->holding, HOLDING_feed, held - feed->counted)) return false;
    feed->counted = held;
    return true;
}

static bool make_places(Feed *feed) {
    int64_t capacity = feed->capacity ? 2 * feed->capacity : FIRST_PLACES;
    if (feed->count - feed->first < feed->capacity) return true;
    if (!count_held(feed, 0, capacity)) return false;
    Place *places = calloc((size_t)capacity, sizeof *places);
    if (!places) return false;
    for (int64_t i = feed->first; i < feed->count; i++)
        places[i & (capacity - 1)] = feed->places[i & (feed->capacity - 1)];
    free(feed->places);
    feed->places = places;
    feed->capacity = capacity;
    return true;
}

static FlowStatus no_memory(const Feed *feed) {
    return tap_no_memory(feed->tap->name);
}

static FlowStatus add_record(Feed *feed, size_t size) {
    if (!make_places(feed)) return no_memory(feed);
    feed->places[feed->count++ & (feed->capacity - 1)] =
        (Place){feed->newest->bytes + feed->at, size, feed->line};
    feed->newest->end = feed->count;
    return flow_ok;
}

/* Goes past the bytes that were cut. */
static FlowStatus take(Feed *feed, size_t size) {
    FlowStatus status = feed->scan.nothing ? flow_ok : add_record(feed, size);
    feed->at += size;
    feed->line += feed->scan.breaks;
    feed->scan = (FeedScan){0};
    return status;
}

/* end: what is left is a record. */
static FlowStatus cut_records(Feed *feed, bool end) {
    FlowStatus status = flow_ok;
    for (size_t left, size; !status.exit && (left = feed->newest->size - feed->at) > 0;) {
        feed->scan.end = end;
        feed->scan.breaks = 1;
        size = feed->cut(feed->context, feed->newest->bytes + feed->at, left, &feed->scan);
        feed->scan.seen = left;
        if (!size && !end) break;
        status = take(feed, size ? size : left);
    }
    pthread_cond_broadcast(&feed->come);
    return status;
}

/* Reading. */

static void drop_chunks(Feed *feed) {
    while (feed->oldest != feed->newest && feed->oldest->end <= feed->first) {
        Chunk *chunk = feed->oldest;
        feed->oldest = chunk->next;
        feed->held -= chunk->capacity;
        free(chunk);
    }
}

/* Makes room behind what has been read. */
static FlowStatus make_room(Feed *feed) {
    Chunk *full = feed->newest;
    size_t tail = full ? full->size - feed->at : 0, capacity = 2 * tail + CHUNK;
    if (full && full->capacity - full->size >= CHUNK / 2) return flow_ok;
    if (tail > FEED_RECORD_LIMIT)
        return flow_failure(FLOW_EXIT_data, "%s: record %lld is longer than %d MB", feed->tap->name,
                            (long long)feed->count + 1, FEED_RECORD_LIMIT >> 20);
    bool room = count_held(feed, capacity, feed->capacity);
    Chunk *chunk = room ? calloc(1, sizeof *chunk + capacity + FEED_PADDING) : NULL;
    if (!chunk) return no_memory(feed);
    chunk->capacity = capacity;
    chunk->end = feed->count;
    chunk->size = tail;
    if (full) memcpy(chunk->bytes, full->bytes + feed->at, tail);
    if (full) full->next = chunk;
    else feed->oldest = chunk;
    feed->newest = chunk;
    feed->held += capacity;
    feed->at = 0;
    drop_chunks(feed);
    return flow_ok;
}

/* Called with the mutex, which is free meanwhile. */
static FlowStatus read_bytes(Feed *feed) {
    FlowStatus status = make_room(feed);
    if (status.exit) return status;
    Chunk *chunk = feed->newest;
    TapRead got = {TAP_stopped, 0};
    pthread_mutex_unlock(&feed->mutex);
    status = feed->tap->read(feed->tap, feed->stopper, chunk->bytes + chunk->size,
                             chunk->capacity - chunk->size, &got);
    pthread_mutex_lock(&feed->mutex);
    if (status.exit || got.state == TAP_stopped) return status;
    chunk->size += got.size;
    feed->ended = got.state == TAP_ended;
    return cut_records(feed, got.state != TAP_flows);
}

/* Places take no more than three times their size: rounded up, and there twice while they grow. */
static bool has_enough(const Feed *feed) {
    size_t held = feed->held + 3 * sizeof *feed->places * (size_t)(feed->count - feed->first);
    return held >= FEED_ROOM && feed->count > feed->first && feed->count >= feed->asked;
}

/* Not for ever, even where nobody signals: some conditions lose a signal once in a long while. */
static void sleep_until(Feed *feed, pthread_cond_t *condition, int64_t time) {
    struct timespec until = {time / 1000000000, time % 1000000000};
    pthread_cond_timedwait(condition, &feed->mutex, &until);
}

static void *read_all(void *argument) {
    Feed *feed = argument;
    FlowStatus status = flow_ok;
    pthread_mutex_lock(&feed->mutex);
    while (!feed->stopped && !feed->ended && !status.exit) {
        while (has_enough(feed) && !feed->stopped)
            sleep_until(feed, &feed->wanted, clock_nanoseconds() + PATIENCE);
        if (!feed->stopped) status = read_bytes(feed);
    }
    feed->status = status;
    feed->ended = true;
    pthread_cond_broadcast(&feed->come);
    pthread_mutex_unlock(&feed->mutex);
    return NULL;
}

/* The readers of records. */

static int64_t earlier(int64_t a, int64_t b) {
    return a && a < b ? a : b;
}

int64_t feed_wait(Feed *feed, int64_t end, int64_t deadline, bool *final) {
    const char *doing = beat_rest();
    pthread_mutex_lock(&feed->mutex);
    if (!feed->tap && !feed->stopped && feed->count < end) feed->count = end;
    if (end > feed->asked) feed->asked = end;
    pthread_cond_signal(&feed->wanted);
    while (feed->count < end && !feed->ended && !feed->stopped && !interrupted()) {
        int64_t now = clock_nanoseconds();
        if (deadline && now >= deadline) break;
        sleep_until(feed, &feed->come, earlier(deadline, now + PATIENCE));
    }
    int64_t count = feed->count;
    if (final) *final = feed->ended;
    pthread_mutex_unlock(&feed->mutex);
    beat_resume(doing);
    return count;
}

bool feed_has_ended(Feed *feed, FlowStatus *status) {
    pthread_mutex_lock(&feed->mutex);
    bool ended = feed->ended;
    *status = feed->status;
    pthread_mutex_unlock(&feed->mutex);
    return ended;
}

static Place place_of(Feed *feed, int64_t record) {
    pthread_mutex_lock(&feed->mutex);
    Place place = feed->places[record & (feed->capacity - 1)];
    pthread_mutex_unlock(&feed->mutex);
    return place;
}

const char *feed_record(Feed *feed, int64_t record, size_t *size) {
    Place place = place_of(feed, record);
    *size = place.size;
    return place.bytes;
}

int64_t feed_line(Feed *feed, int64_t record) {
    return place_of(feed, record).line;
}

void feed_copy(Feed *feed, int64_t record, FeedCopy *copy) {
    Place place = place_of(feed, record);
    copy->size = place.size;
    copy->bytes =
        place.size <= FEED_COPY ? copy->room : own_resize(NULL, 0, place.size + FEED_PADDING);
    if (!copy->bytes) return;
    memcpy(copy->bytes, place.bytes, place.size);
    memset(copy->bytes + place.size, 0, FEED_PADDING);
}

void feed_drop_copy(FeedCopy *copy) {
    if (copy->bytes != copy->room) own_free(copy->bytes, copy->size + FEED_PADDING);
}

void feed_forget(Feed *feed, int64_t before) {
    pthread_mutex_lock(&feed->mutex);
    if (before > feed->count) before = feed->count;
    if (before > feed->first) feed->first = before;
    drop_chunks(feed);
    pthread_cond_signal(&feed->wanted);
    pthread_mutex_unlock(&feed->mutex);
}

/* Cutting. */

size_t feed_cut_line(void *context, const char *bytes, size_t size, FeedScan *scan) {
    (void)context;
    const char *end = memchr(bytes + scan->seen, '\n', size - scan->seen);
    return end ? (size_t)(end - bytes) + 1 : 0;
}

int feed_mark(const char *bytes, size_t size, const FeedScan *scan) {
    static const char mark[] = "\xef\xbb\xbf";
    if (!scan->start || memcmp(bytes, mark, size < 3 ? size : 3)) return 0;
    return size >= 3 ? 3 : scan->end ? 0 : -1;
}

/* Open and close. */

static void make_conditions(Feed *feed) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&feed->come, &monotonic);
    pthread_cond_init(&feed->wanted, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&feed->mutex, NULL);
}

static void free_feed(Feed *feed) {
    while (feed->oldest) {
        Chunk *next = feed->oldest->next;
        free(feed->oldest);
        feed->oldest = next;
    }
    pthread_mutex_destroy(&feed->mutex);
    pthread_cond_destroy(&feed->wanted);
    pthread_cond_destroy(&feed->come);
    if (feed->stopper >= 0) close(feed->stopper);
    tap_close(feed->tap);
    free(feed->places);
    holding_give(feed->holding, HOLDING_feed, feed->counted);
    free(feed);
}

static Feed *feed_new(Tap *tap) {
    Feed *feed = calloc(1, sizeof *feed);
    if (!feed) return NULL;
    feed->tap = tap;
    feed->stopper = -1;
    feed->scan.start = true;
    feed->line = 1;
    feed->holding = holding_here();
    make_conditions(feed);
    return feed;
}

FlowStatus feed_open(Tap *tap, FeedCut *cut, void *context, Feed **out) {
    Feed *feed = *out = feed_new(tap);
    if (!feed) {
        tap_close(tap);
        return tap_no_memory("a feed");
    }
    feed->cut = cut;
    feed->context = context;
    feed->stopper = eventfd(0, EFD_CLOEXEC);
    bool room = holding_take(feed->holding, HOLDING_feed, FEED_HELD);
    if (room) feed->counted = FEED_HELD;
    int error = feed->stopper < 0 ? errno : 0;
    if (room && !error) error = pthread_create(&feed->thread, NULL, read_all, feed);
    if (room && !error) return flow_ok;
    FlowStatus status = room ? flow_failure(FLOW_EXIT_resource, "%s: no thread to read it: %s",
                                            tap->name, strerror(error))
                             : tap_no_memory(tap->name);
    free_feed(feed);
    *out = NULL;
    return status;
}

FlowStatus feed_open_origin(const FlowOrigin *origin, bool unpacks, FeedCut *cut, void *context,
                            Feed **feed) {
    Tap *tap;
    *feed = NULL;
    FlowStatus status = tap_open(origin, &tap);
    if (!status.exit && unpacks) status = tap_unpacked(tap, &tap);
    return status.exit ? status : feed_open(tap, cut, context, feed);
}

FlowStatus feed_open_endless(Feed **feed) {
    *feed = feed_new(NULL);
    return *feed ? flow_ok : tap_no_memory("a feed");
}

const char *feed_name(const Feed *feed) {
    return feed->tap->name;
}

void feed_stop(Feed *feed) {
    pthread_mutex_lock(&feed->mutex);
    feed->stopped = true;
    pthread_cond_broadcast(&feed->wanted);
    pthread_cond_broadcast(&feed->come);
    pthread_mutex_unlock(&feed->mutex);
    uint64_t one = 1;
    if (!feed->tap) return;
    while (write(feed->stopper, &one, sizeof one) < 0 && errno == EINTR) continue;
}

void feed_close(Feed *feed) {
    if (!feed) return;
    feed_stop(feed);
    if (feed->tap) pthread_join(feed->thread, NULL);
    free_feed(feed);
}
