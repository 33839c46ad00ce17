/* Helpers: the same bell and barrier as of a team that stays. What they share is in memory that is
 * all zero in a process forked from theirs, so that a call there finds itself alone. Each line of
 * the caches that they must have of the caller takes as long as a barrier: those of a call lie side
 * by side, and are asked for at once. */
#define _GNU_SOURCE
#include "runtime/helpers.h"

#include "runtime/barrier.h"
#include "runtime/bell.h"
#include "runtime/clock.h"
#include "runtime/denormal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

enum {
    LINE = 64,
    STACK = 4 << 20,    /* beyond what others have, who take what their host has for each thread */
    WORTH_NS = 1000000, /* of a call by the caller: waking them takes 50 to 300 microseconds */
    WOKEN_MOST = 8,     /* the last of so many is the caller's again, to see what that takes */
    SOON_NS = 1000000   /* calls no farther apart will find them awake once they are woken */
};

typedef struct Order {
    const FlowFunction *function; /* NULL: the end */
    int threads;
    unsigned mode; /* the caller's, of arithmetic */
    FlowFrame frame;
} Order;

struct Helpers {
    _Alignas(LINE) Bell bell; /* calls to the order */
    _Alignas(LINE) Order order;
    FlowBarrier barrier;
    int threads;         /* the caller among them; 0: they are in another process */
    atomic_int numbered; /* of them, so far */
    int64_t last_ns;     /* when the last call ended that found them asleep */
    unsigned woken;      /* calls that were worth it */
    size_t size;
    pthread_t handles[]; /* from 1 on */
};

static void ask_for(const Order *order) {
    for (size_t i = 0; i < sizeof *order; i += LINE) __builtin_prefetch((const char *)order + i);
}

static void *help(void *argument) {
    Helpers *helpers = argument;
    const Order *order = &helpers->order;
    const int thread = atomic_fetch_add(&helpers->numbered, 1) + 1;
    unsigned heard = 0;
    for (;;) {
        bell_wait(&helpers->bell, &heard);
        ask_for(order);
        if (!order->function) return NULL;
        denormals_restore(order->mode);
        order->function->run(&order->frame, thread, order->threads);
        barrier_arrive(&helpers->barrier);
    }
}

/* With all signals blocked, which they inherit. */
static int start(Helpers *helpers, int threads) {
    pthread_attr_t attributes;
    sigset_t all, before;
    int started = 1;
    size_t stack;
    if (pthread_attr_init(&attributes)) return started;
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_setstacksize(&attributes, stack + STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < threads &&
           !pthread_create(&helpers->handles[started], &attributes, help, helpers))
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

Helpers *helpers_new(int threads) {
    const size_t size = sizeof(Helpers) + (size_t)threads * sizeof(pthread_t);
    Helpers *helpers = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (helpers == MAP_FAILED) return NULL;
    helpers->size = size;
    if (!madvise(helpers, size, MADV_WIPEONFORK)) helpers->threads = start(helpers, threads);
    if (helpers->threads > 1) return helpers;
    munmap(helpers, size);
    return NULL;
}

/* In a child, whose memory is zero, size too: what is left is left. */
void helpers_free(Helpers *helpers) {
    if (!helpers || !helpers->threads) return;
    helpers->order.function = NULL;
    bell_ring(&helpers->bell);
    for (int i = 1; i < helpers->threads; i++) pthread_join(helpers->handles[i], NULL);
    munmap(helpers, helpers->size);
}

int helpers_threads(const Helpers *helpers) {
    return helpers->threads ? helpers->threads : 1;
}

static void run_together(Helpers *helpers, const FlowFunction *function, const FlowFrame *frame) {
    Order *order = &helpers->order;
    *order = (Order){function, helpers->threads, denormals_to_zero(), *frame};
    order->frame.barrier = &helpers->barrier;
    bell_ring(&helpers->bell);
    function->run(&order->frame, 0, order->threads);
    barrier_wait(&helpers->barrier, order->threads);
}

static void run_while_asleep(Helpers *helpers, const FlowFunction *function, const FlowFrame *frame,
                             int64_t *duration_ns) {
    const int64_t begin = clock_nanoseconds();
    const bool together = *duration_ns > WORTH_NS && ++helpers->woken % WOKEN_MOST;
    if (together) {
        run_together(helpers, function, frame);
    } else {
        if (begin - helpers->last_ns < SOON_NS) bell_rouse(&helpers->bell);
        function->run(frame, 0, 1);
    }
    helpers->last_ns = clock_nanoseconds();
    *duration_ns = (helpers->last_ns - begin) * (together ? 2 : 1);
}

void helpers_run(Helpers *helpers, const FlowFunction *function, const FlowFrame *frame,
                 int64_t *duration_ns) {
    if (!helpers->threads) function->run(frame, 0, 1);
    else if (bell_has_sleepers(&helpers->bell))
        run_while_asleep(helpers, function, frame, duration_ns);
    else run_together(helpers, function, frame);
}
