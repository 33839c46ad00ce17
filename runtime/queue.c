/* Queue: a ring under a mutex. An uncontended turn is two atomic operations, so nothing
 * cleverer is needed for items that are whole batches. Waiting threads watch `count` for
 * some microseconds before they sleep, because a wake-up costs more than that. */
#include "runtime/queue.h"

#include "runtime/barrier.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SPINS = 100 };

struct Queue {
    pthread_mutex_t mutex;
    pthread_cond_t not_full, not_empty;
    int producers, consumers; /* asleep */
    int capacity, burst, first;
    atomic_int count;
    atomic_bool closed;
    bool stopped;
    void *items[];
};

Queue *queue_new(int capacity, int burst) {
    Queue *queue = calloc(1, sizeof *queue + sizeof queue->items[0] * (size_t)capacity);
    if (!queue) return NULL;
    queue->capacity = capacity;
    queue->burst = burst;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    return queue;
}

void queue_free(Queue *queue) {
    if (!queue) return;
    pthread_cond_destroy(&queue->not_empty);
    pthread_cond_destroy(&queue->not_full);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void queue_set_burst(Queue *queue, int burst) {
    pthread_mutex_lock(&queue->mutex);
    queue->burst = burst;
    bool wake = queue->consumers && queue->count >= burst;
    pthread_mutex_unlock(&queue->mutex);
    if (wake) pthread_cond_broadcast(&queue->not_empty);
}

static void spin_while_count_is(Queue *queue, int count) {
    for (int i = 0; i < SPINS && queue->count == count && !queue->closed; i++) spin_pause();
}

static void sleep_on(Queue *queue, pthread_cond_t *condition, int *sleepers) {
    ++*sleepers;
    pthread_cond_wait(condition, &queue->mutex);
    --*sleepers;
}

bool queue_push(Queue *queue, void *item) {
    spin_while_count_is(queue, queue->capacity);
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == queue->capacity && !queue->closed)
        sleep_on(queue, &queue->not_full, &queue->producers);
    bool open = !queue->closed;
    if (open) {
        queue->items[(queue->first + queue->count) % queue->capacity] = item;
        queue->count++;
    }
    bool wake = queue->consumers && queue->count >= queue->burst, many = queue->burst > 1;
    pthread_mutex_unlock(&queue->mutex);
    if (wake && many) pthread_cond_broadcast(&queue->not_empty);
    if (wake && !many) pthread_cond_signal(&queue->not_empty);
    return open;
}

bool queue_pop(Queue *queue, void **item) {
    spin_while_count_is(queue, 0);
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == 0 && !queue->closed)
        sleep_on(queue, &queue->not_empty, &queue->consumers);
    bool some = queue->count > 0 && !queue->stopped;
    if (some) {
        *item = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
    }
    bool wake = queue->producers > 0;
    pthread_mutex_unlock(&queue->mutex);
    if (wake) pthread_cond_signal(&queue->not_full);
    return some;
}

static void end(Queue *queue, bool at_once) {
    pthread_mutex_lock(&queue->mutex);
    queue->stopped |= at_once;
    queue->closed = true;
    pthread_mutex_unlock(&queue->mutex);
    pthread_cond_broadcast(&queue->not_empty);
    pthread_cond_broadcast(&queue->not_full);
}

void queue_close(Queue *queue) {
    end(queue, false);
}

void queue_stop(Queue *queue) {
    end(queue, true);
}
