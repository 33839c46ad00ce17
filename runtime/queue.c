/* Queue: a ring under a mutex, taken from at either end. An uncontended turn is two atomic
 * operations, so nothing cleverer is needed for items that are whole batches. Waiting threads watch
 * `count` for some microseconds before they sleep, because a wake-up costs more than that. It may
 * cost a hundred: so where sleeps are that short and processors would be idle, threads watch for as
 * long. They sleep at a bell of ours: glibc's conditions lose a wake-up in a million (its bug
 * 25847, until 2.41). */
#define _GNU_SOURCE
#include "runtime/queue.h"

#include "runtime/barrier.h"
#include "runtime/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 100 };

/* Nanoseconds. A brief sleep is mostly the wake-up. */
static const int64_t watched = 100000, brief = 300000;

/* Rung with the mutex held, so whoever heard how often it had rung by then misses nothing. */
typedef struct Bell {
    atomic_uint rings;
    int sleepers;
} Bell;

struct Queue {
    pthread_mutex_t mutex;
    Bell not_full, not_empty;
    int capacity, burst, first;
    QueueTurn turn;
    atomic_int count;
    atomic_bool closed;
    atomic_bool may_watch;
    atomic_bool slept_briefly; /* who slept last; and nobody has watched in vain since */
    bool stopped;
    void *items[];
};

Queue *queue_new(int capacity, int burst, QueueTurn turn) {
    Queue *queue = calloc(1, sizeof *queue + sizeof queue->items[0] * (size_t)capacity);
    if (!queue) return NULL;
    queue->capacity = capacity;
    queue->burst = burst;
    queue->turn = turn;
    pthread_mutex_init(&queue->mutex, NULL);
    return queue;
}

void queue_free(Queue *queue) {
    if (!queue) return;
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

/* To be followed by wake() without the mutex. */
static void ring(Bell *bell) {
    atomic_fetch_add(&bell->rings, 1);
}

static void wake(Bell *bell, int sleepers) {
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE_PRIVATE, sleepers, NULL, NULL, 0);
}

static void sleep_at(Queue *queue, Bell *bell) {
    unsigned heard = bell->rings;
    bell->sleepers++;
    pthread_mutex_unlock(&queue->mutex);
    int64_t before = clock_nanoseconds();
    syscall(SYS_futex, &bell->rings, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
    queue->slept_briefly = clock_nanoseconds() - before < brief;
    pthread_mutex_lock(&queue->mutex);
    bell->sleepers--;
}

/* Consumers that are to be woken now. */
static int count_woken(Queue *queue) {
    if (!queue->not_empty.sleepers || queue->count < queue->burst) return 0;
    ring(&queue->not_empty);
    return queue->burst > 1 ? INT_MAX : 1;
}

void queue_let_watch(Queue *queue, bool may_watch) {
    queue->may_watch = may_watch;
}

void queue_set_burst(Queue *queue, int burst) {
    pthread_mutex_lock(&queue->mutex);
    queue->burst = burst;
    int woken = queue->count ? count_woken(queue) : 0;
    pthread_mutex_unlock(&queue->mutex);
    if (woken) wake(&queue->not_empty, INT_MAX);
}

static bool spin_while_count_is(const Queue *queue, int count) {
    for (int i = 0; i < SPINS; i++) {
        if (queue->count != count || queue->closed) return false;
        spin_pause();
    }
    return true;
}

static void watch_while_empty(Queue *queue) {
    int64_t end = 0;
    while (spin_while_count_is(queue, 0) && queue->may_watch && queue->slept_briefly) {
        int64_t now = clock_nanoseconds();
        end = end ? end : now + watched;
        queue->slept_briefly = now < end;
        sched_yield();
    }
}

bool queue_push(Queue *queue, void *item) {
    spin_while_count_is(queue, queue->capacity);
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == queue->capacity && !queue->closed) sleep_at(queue, &queue->not_full);
    bool open = !queue->closed;
    if (open) {
        queue->items[(queue->first + queue->count) % queue->capacity] = item;
        queue->count++;
    }
    int woken = count_woken(queue);
    pthread_mutex_unlock(&queue->mutex);
    if (woken) wake(&queue->not_empty, woken);
    return open;
}

/* There is one. */
static void *take(Queue *queue) {
    int first = queue->first, last = (first + --queue->count) % queue->capacity;
    if (queue->turn == QUEUE_newest) return queue->items[last];
    queue->first = (first + 1) % queue->capacity;
    return queue->items[first];
}

static bool pop(Queue *queue, void **item, bool waits) {
    pthread_mutex_lock(&queue->mutex);
    while (waits && queue->count == 0 && !queue->closed) sleep_at(queue, &queue->not_empty);
    bool some = queue->count > 0 && !queue->stopped;
    if (some) *item = take(queue);
    bool waited_for = queue->not_full.sleepers > 0;
    if (waited_for) ring(&queue->not_full);
    pthread_mutex_unlock(&queue->mutex);
    if (waited_for) wake(&queue->not_full, 1);
    return some;
}

bool queue_pop(Queue *queue, void **item) {
    watch_while_empty(queue);
    return pop(queue, item, true);
}

int queue_count(const Queue *queue) {
    return queue->count;
}

bool queue_try_pop(Queue *queue, void **item) {
    return queue->count && pop(queue, item, false);
}

static void end(Queue *queue, bool at_once) {
    pthread_mutex_lock(&queue->mutex);
    queue->stopped |= at_once;
    queue->closed = true;
    ring(&queue->not_empty);
    ring(&queue->not_full);
    pthread_mutex_unlock(&queue->mutex);
    wake(&queue->not_empty, INT_MAX);
    wake(&queue->not_full, INT_MAX);
}

void queue_close(Queue *queue) {
    end(queue, false);
}

void queue_stop(Queue *queue) {
    end(queue, true);
}
