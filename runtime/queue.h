/* Queue: a bounded queue of pointers between threads. Full queues hold their producers
 * back, empty ones their consumers; closing lets consumers drain it, stopping ends both at
 * once. All functions are thread-safe but queue_new and queue_free. */
#ifndef FLOW_QUEUE_H
#define FLOW_QUEUE_H

#include "runtime/flow.h"

typedef struct Queue Queue;

/* Which item is taken next; the newest one is likely to lie in a cache. */
typedef enum QueueTurn { QUEUE_oldest, QUEUE_newest } QueueTurn;

/* A consumer that fell asleep is woken when `burst` items are there: fewer, longer turns.
 * NULL when there is no memory. */
Queue *queue_new(int capacity, int burst, QueueTurn turn);
void queue_free(Queue *queue);

void queue_set_burst(Queue *queue, int burst);

/* Are there processors for all threads, so that a consumer takes none from others while it watches
 * for an item? At first there are not. */
void queue_let_watch(Queue *queue, bool may_watch);

/* False when the queue was closed or stopped. */
bool queue_push(Queue *queue, void *item);

/* False when the queue is closed and empty, or stopped. */
bool queue_pop(Queue *queue, void **item);

/* What there is now. */
int queue_count(const Queue *queue);

/* False when there is nothing now. */
bool queue_try_pop(Queue *queue, void **item);

void queue_close(Queue *queue);
void queue_stop(Queue *queue);

#endif
