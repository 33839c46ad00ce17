/* Threads: the caller is thread 0. */
#include "tests/codegen/threads.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREAD_LIMIT = 16 };

typedef struct Worker {
    const FlowFunction *function;
    const FlowFrame *frame;
    int thread, threads;
} Worker;

static void *work(void *context) {
    const Worker *worker = context;
    worker->function->run(worker->frame, worker->thread, worker->threads);
    return NULL;
}

void run_on_threads(const FlowFunction *function, const FlowFrame *frame, int threads) {
    pthread_t handles[THREAD_LIMIT];
    Worker workers[THREAD_LIMIT];
    if (threads > THREAD_LIMIT) abort();
    for (int i = 0; i < threads; i++) workers[i] = (Worker){function, frame, i, threads};
    for (int i = 1; i < threads; i++)
        if (pthread_create(&handles[i], NULL, work, &workers[i])) abort();
    work(&workers[0]);
    for (int i = 1; i < threads; i++) pthread_join(handles[i], NULL);
}
