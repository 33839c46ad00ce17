/* Queue: order, back-pressure, closing, stopping, many threads, and time of an uncontended
 * turn. */
#include "runtime/clock.h"
#include "runtime/queue.h"
#include "tests/runtime/test.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PRODUCERS = 3, CONSUMERS = 3, ITEMS = 20000 };

static void keeps_order(void) {
    Queue *queue = queue_new(4, 1, QUEUE_oldest);
    int values[4];
    void *item;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) queue_push(queue, &values[i]);
        for (int i = 0; i < 4; i++)
            CHECK(queue_pop(queue, &item) && item == &values[i], "item %d", i);
    }
    queue_free(queue);
}

static void gives_the_newest(void) {
    Queue *queue = queue_new(3, 1, QUEUE_newest);
    int values[4];
    void *item;
    for (int i = 0; i < 2; i++) queue_push(queue, &values[i]);
    CHECK(queue_pop(queue, &item) && item == &values[1], "the second of two");
    for (int i = 2; i < 4; i++) queue_push(queue, &values[i]);
    for (int i = 3; i >= 0; i--)
        CHECK(i == 1 || (queue_pop(queue, &item) && item == &values[i]), "item %d", i);
    CHECK(!queue_try_pop(queue, &item), "it is empty");
    queue_free(queue);
}

static void close_drains(void) {
    Queue *queue = queue_new(4, 1, QUEUE_oldest);
    int value;
    void *item;
    queue_push(queue, &value);
    queue_close(queue);
    CHECK(!queue_push(queue, &value), "a closed queue takes nothing");
    CHECK(queue_pop(queue, &item), "a closed queue is drained");
    CHECK(!queue_pop(queue, &item), "and then it ends");
    queue_free(queue);
}

static void stop_ends_at_once(void) {
    Queue *queue = queue_new(4, 1, QUEUE_oldest);
    int value;
    void *item;
    queue_push(queue, &value);
    queue_stop(queue);
    CHECK(!queue_push(queue, &value), "a stopped queue takes nothing");
    CHECK(!queue_pop(queue, &item), "a stopped queue delivers nothing");
    queue_close(queue);
    CHECK(!queue_pop(queue, &item), "closing makes it deliver again");
    queue_free(queue);
}

static void *pop_one(void *queue) {
    void *item;
    return queue_pop(queue, &item) ? queue : NULL;
}

static void *push_two(void *queue) {
    return queue_push(queue, queue) && queue_push(queue, queue) ? queue : NULL;
}

/* A thread that sleeps in `body` is woken by `wake` and its call returns false. */
static void wakes(void *(*body)(void *), void (*wake)(Queue *)) {
    Queue *queue = queue_new(1, 1, QUEUE_oldest);
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, body, queue);
    usleep(20000);
    wake(queue);
    pthread_join(thread, &result);
    CHECK(!result, "a sleeping thread was not told that the queue ended");
    queue_free(queue);
}

static Queue *shared;
static atomic_llong pushed, popped;

static void *produce(void *unused) {
    (void)unused;
    for (intptr_t i = 1; i <= ITEMS && queue_push(shared, (void *)i); i++) pushed += i;
    return NULL;
}

static void *consume(void *unused) {
    void *item;
    (void)unused;
    while (queue_pop(shared, &item)) popped += (intptr_t)item;
    return NULL;
}

static void many_threads(bool may_watch) {
    pthread_t producers[PRODUCERS], consumers[CONSUMERS];
    pushed = popped = 0;
    shared = queue_new(8, 1, QUEUE_oldest);
    queue_let_watch(shared, may_watch);
    for (int i = 0; i < CONSUMERS; i++) pthread_create(&consumers[i], NULL, consume, NULL);
    for (int i = 0; i < PRODUCERS; i++) pthread_create(&producers[i], NULL, produce, NULL);
    for (int i = 0; i < PRODUCERS; i++) pthread_join(producers[i], NULL);
    queue_close(shared);
    for (int i = 0; i < CONSUMERS; i++) pthread_join(consumers[i], NULL);
    CHECK(pushed == popped && pushed == (long long)PRODUCERS * ITEMS * (ITEMS + 1) / 2,
          "%lld pushed, %lld popped", (long long)pushed, (long long)popped);
    queue_free(shared);
}

/* A consumer that waits for a burst gets its items when the burst is complete. */
static void bursts(void) {
    Queue *queue = queue_new(4, 2, QUEUE_oldest);
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, pop_one, queue);
    usleep(20000);
    queue_push(queue, queue);
    usleep(20000);
    queue_push(queue, queue);
    pthread_join(thread, &result);
    CHECK(result, "the burst did not arrive");
    queue_free(queue);
}

static void print_time(void) {
    enum { TURNS = 1000000 };
    Queue *queue = queue_new(4, 1, QUEUE_oldest);
    void *item;
    int64_t start = clock_nanoseconds();
    for (int i = 0; i < TURNS; i++) {
        queue_push(queue, queue);
        queue_pop(queue, &item);
    }
    printf("queue: push and pop take %.0f ns\n", (double)(clock_nanoseconds() - start) / TURNS);
    queue_free(queue);
}

int main(void) {
    keeps_order();
    gives_the_newest();
    close_drains();
    stop_ends_at_once();
    wakes(pop_one, queue_close);
    wakes(pop_one, queue_stop);
    wakes(push_two, queue_close);
    wakes(push_two, queue_stop);
    many_threads(false);
    many_threads(true);
    bursts();
    print_time();
    return test_result();
}
