/* Helpers: all of them take part in a call, asleep ones are left alone by little work, and a forked
 * process does without. */
#include "runtime/helpers.h"
#include "runtime/clock.h"
#include "tests/runtime/test.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { MOST_THREADS = 8, CALLS = 100, ROUNDS = 10 };

typedef struct Work {
    int threads;                   /* that the last call had */
    long counts[MOST_THREADS][16]; /* each in a cache line of its own: rounds of all calls, */
    int rounds[MOST_THREADS][32];  /* of this one */
    atomic_bool wrong;
    float small[MOST_THREADS];
    int pause; /* microseconds of its first thread */
} Work;

/* Between two barriers all have counted as far. */
static void count(const FlowFrame *frame, int thread, int threads) {
    Work *work = (Work *)frame->memory;
    if (!thread) work->threads = threads;
    if (!thread && work->pause) usleep((unsigned)work->pause);
    for (int round = 0; round < ROUNDS; round++) {
        work->counts[thread][0]++;
        work->rounds[thread][0] = round;
        flow_barrier(frame, thread, threads);
        if (work->rounds[(thread + 1) % threads][0] != round) work->wrong = true;
        flow_barrier(frame, thread, threads);
    }
    volatile float small = 1e-30f;
    work->small[thread] = small * 1e-10f;
}

static const FlowFunction counting = {.name = "count", .run = count};

static void call(Helpers *helpers, Work *work, int64_t *duration) {
    FlowFrame frame = {.memory = (char *)work};
    helpers_run(helpers, &counting, &frame, duration);
}

/* Calls until they are awake, for which the machine may take its time. */
static bool comes_awake(Helpers *helpers, Work *work, int64_t *duration) {
    const int64_t end = clock_nanoseconds() + 60LL * 1000000000;
    do {
        call(helpers, work, duration);
    } while (work->threads == 1 && clock_nanoseconds() < end);
    return work->threads > 1;
}

static void takes_part(int threads) {
    Work work = {0};
    int64_t duration = 0;
    Helpers *helpers = helpers_new(threads);
    CHECK(helpers && helpers_threads(helpers) == threads, "%d threads", threads);
    if (!helpers) return;
    CHECK(comes_awake(helpers, &work, &duration), "%d threads stay asleep", threads);
    memset(work.counts, 0, sizeof work.counts);
    int together = 0;
    for (int i = 0; i < CALLS; i++) {
        duration = INT64_MAX; /* worth to wake them, seven times of eight */
        call(helpers, &work, &duration);
        together += work.threads == threads;
    }
    CHECK(together >= CALLS / 8 * 7, "%d threads: %d calls of %d", threads, together, CALLS);
    CHECK(!work.wrong, "%d threads: one was ahead", threads);
    CHECK(work.counts[0][0] == CALLS * ROUNDS, "the caller of %d", threads);
    for (int i = 1; i < threads; i++)
        CHECK(work.counts[i][0] == together * ROUNDS, "thread %d of %d", i, threads);
    for (int i = 1; i < threads; i++)
        CHECK(work.small[i] == 0, "thread %d keeps denormal numbers", i);
    helpers_free(helpers);
}

/* What takes less time than waking them. */
static void leaves_sleepers(void) {
    Work work = {0};
    int64_t duration = 0;
    Helpers *helpers = helpers_new(2);
    if (!helpers) return;
    int alone = 0;
    for (int i = 0; i < 5; i++) {
        usleep(50000);
        call(helpers, &work, &duration);
        alone += work.threads == 1;
    }
    CHECK(alone >= 3, "%d of 5 calls far apart woke a helper", 5 - alone);
    work.pause = 2000;
    usleep(50000);
    call(helpers, &work, &duration);
    CHECK(duration >= 2000000, "a call of 2 ms took %lld ns", (long long)duration);
    usleep(50000);
    call(helpers, &work, &duration);
    CHECK(work.threads == 2, "2 ms of work don't wake it");
    work.pause = 0;
    alone = 0;
    for (int i = 0; i < 24; i++) {
        usleep(20000);
        call(helpers, &work, &duration);
        alone += work.threads == 1;
    }
    CHECK(alone >= 6, "behind a long call little work woke it %d times of 24", 24 - alone);
    usleep(50000);
    helpers_free(helpers);
}

static void is_alone_in_a_child(void) {
    Work work = {0};
    int64_t duration = INT64_MAX;
    Helpers *helpers = helpers_new(2);
    if (!helpers) return;
    call(helpers, &work, &duration);
    pid_t child = fork();
    if (!child) {
        duration = INT64_MAX;
        call(helpers, &work, &duration);
        bool good = work.threads == 1 && helpers_threads(helpers) == 1;
        helpers_free(helpers);
        _exit(good ? 0 : 1);
    }
    int told = -1;
    waitpid(child, &told, 0);
    CHECK(told == 0, "the child ends with %d", told);
    duration = INT64_MAX;
    call(helpers, &work, &duration);
    CHECK(work.threads == 2, "behind the fork there are %d threads", work.threads);
    helpers_free(helpers);
}

/* A signal of the process that its thread blocks finds no other to go to. */
static void takes_no_signals(void) {
    sigset_t one, pending;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    Helpers *helpers = helpers_new(3);
    if (!helpers) return;
    sigprocmask(SIG_BLOCK, &one, NULL);
    kill(getpid(), SIGUSR1);
    usleep(10000);
    sigpending(&pending);
    CHECK(sigismember(&pending, SIGUSR1), "a helper took a signal");
    helpers_free(helpers);
    signal(SIGUSR1, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
}

int main(void) {
    for (int threads = 2; threads <= MOST_THREADS; threads += 3) takes_part(threads);
    leaves_sleepers();
    is_alone_in_a_child();
    takes_no_signals();
    return test_result();
}
