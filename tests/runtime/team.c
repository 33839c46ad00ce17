/* Team and barrier: all threads take part, and none goes on before all have arrived. */
#include "runtime/clock.h"
#include "runtime/denormal.h"
#include "runtime/team.h"
#include "tests/runtime/test.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { MOST_THREADS = 8, ROUNDS = 100 };

typedef struct Work {
    FlowFrame frame;
    long counts[MOST_THREADS][16]; /* each in a cache line of its own */
    int rounds;
    bool wrong;
} Work;

/* Every thread counts its rounds; between two barriers all counts are equal. */
static void count(void *argument, int thread, int threads) {
    Work *work = argument;
    for (int round = 1; round <= work->rounds; round++) {
        work->counts[thread][0]++;
        flow_barrier(&work->frame, thread, threads);
        if (work->counts[(thread + 1) % threads][0] != work->counts[thread][0]) work->wrong = true;
        flow_barrier(&work->frame, thread, threads);
    }
}

static void meets(int threads) {
    Team team = {.threads = threads};
    FlowBarrier barrier = {0};
    Work work = {.frame.barrier = &barrier, .rounds = ROUNDS};
    for (int i = 0; i < 3; i++) team_run(&team, count, &work);
    CHECK(!work.wrong, "%d threads: one was ahead", threads);
    for (int i = 0; i < threads; i++)
        CHECK(work.counts[i][0] == 3 * ROUNDS, "%d threads: thread %d", threads, i);
}

/* A team that becomes smaller and larger meets at the same barrier of its own. */
static void meets_in_any_number(void) {
    static const int sizes[] = {3, 4, 2, 3};
    Team team = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Work work = {.frame.barrier = &team.barrier, .rounds = ROUNDS};
        team.threads = sizes[i];
        team_run(&team, count, &work);
        CHECK(!work.wrong, "%d threads after others: one was ahead", sizes[i]);
    }
}

typedef struct Visit {
    Team *team;
    Work work;
    int pause; /* microseconds between two runs */
} Visit;

static void run_thrice(void *argument) {
    Visit *visit = argument;
    for (int i = 0; i < 3; i++) {
        if (visit->pause) usleep((unsigned)visit->pause);
        team_run(visit->team, count, &visit->work);
    }
}

/* Threads that stay do what those that are called do, after a pause in which they sleep, too. */
static void meets_in_one_region(int threads, int pause) {
    Team team = {.threads = threads};
    FlowBarrier barrier = {0};
    Visit visit = {&team, {.frame.barrier = &barrier, .rounds = ROUNDS}, pause};
    team_stay(&team, run_thrice, &visit);
    CHECK(!visit.work.wrong, "%d threads that stay: one was ahead", threads);
    for (int i = 0; i < threads; i++)
        CHECK(visit.work.counts[i][0] == 3 * ROUNDS, "%d threads that stay: thread %d", threads, i);
    team_run(&team, count, &visit.work);
    CHECK(visit.work.counts[threads - 1][0] == 4 * ROUNDS, "%d threads after a stay", threads);
}

static void nothing(void *argument, int thread, int threads) {
    (void)argument, (void)thread, (void)threads;
}

static void count_threads(void *argument, int thread, int threads) {
    if (!thread) *(int *)argument = threads;
}

static void run_with_another(void *argument) {
    Team *team = argument;
    int seen = 0;
    team->threads = 3;
    team_run(team, count_threads, &seen);
    CHECK(seen >= 1, "%d threads", seen);
    team->threads = 2;
    team_run(team, count_threads, &seen);
    CHECK(seen == 2, "%d threads", seen);
}

static void runs_with_another_number(void) {
    Team team = {.threads = 2};
    team_stay(&team, run_with_another, &team);
}

static void count_call(void *argument, int thread, int threads) {
    ((int *)argument)[thread] += threads;
}

/* When it has run, a team may go: ThreadSanitizer tells who still looks at it. */
static void leaves_nobody_behind(void) {
    for (int i = 0; i < ROUNDS; i++) {
        Team team = {.threads = MOST_THREADS};
        Team other = {.threads = 2};
        team_run(&team, nothing, NULL);
        team_run(&other, count_threads, (int *)&team.barrier);
    }
}

static void call_alone(void *argument) {
    Team *team = argument;
    int calls[2] = {0};
    team_run(team, count_call, calls);
    CHECK(calls[0] == 1 && calls[1] == 0, "%d %d", calls[0], calls[1]);
    team->alone = false;
    team_run(team, count_call, calls);
    CHECK(calls[0] == 3 && calls[1] == 2, "%d %d", calls[0], calls[1]);
}

/* Until it is not. */
static void is_alone_for_now(void) {
    Team team = {.threads = 2, .alone = true};
    team_stay(&team, call_alone, &team);
    CHECK(team_is_ready(), "libomp has a region and is not there");
}

static void needs_no_barrier_alone(void) {
    FlowFrame frame = {0};
    flow_barrier(&frame, 0, 1);
}

static void divide(void *argument, int thread, int threads) {
    (void)threads;
    volatile float small = 1e-30f;
    ((float *)argument)[thread] = small * 1e-10f;
}

static void flushes_denormals(void) {
    float results[2] = {1, 1};
    Team team = {.threads = 2};
    team_run(&team, divide, results);
    CHECK(results[0] == 0 && results[1] == 0, "%g %g", (double)results[0], (double)results[1]);
}

/* What a process of the same number left that was killed while libomp registered there. */
static void leave_registration(size_t size) {
    char name[64];
    snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%d", (int)getpid(), (int)getuid());
    int file = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, (off_t)size)) _exit(99);
    close(file);
}

/* libomp registers once in a process: each case has its own, before any region of this one. */
static void starts_over_a_killed_one(size_t size) {
    pid_t child = fork();
    if (child == 0) {
        leave_registration(size);
        Team team = {.threads = 2};
        team_run(&team, nothing, NULL);
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%zu bytes left: status %#x", size,
          (unsigned)status);
}

static void count_all(void *argument, int thread, int threads) {
    (void)thread;
    if (threads == 2) atomic_fetch_add((atomic_int *)argument, 1);
}

/* A start beside other work: with a region after it, with none, or where threads are bound. */
static void starts_beside(const char *bound, int regions) {
    pid_t child = fork();
    if (child == 0) {
        Team team = {.threads = 2};
        atomic_int count = 0;
        if (bound) setenv("OMP_PROC_BIND", bound, 1);
        team_begin(2);
        for (int i = 0; i < regions; i++) team_run(&team, count_all, &count);
        team_end();
        exit(count != 2 * regions);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d regions: status %#x", regions,
          (unsigned)status);
}

enum { REGIONS = 2000 };

static void run_often(void *argument) {
    for (int i = 0; i < REGIONS; i++) team_run(argument, nothing, NULL);
}

static void print_times(void) {
    Team team = {.threads = 2};
    FlowBarrier barrier = {0};
    Work work = {.frame.barrier = &barrier, .rounds = 10000};
    team_run(&team, nothing, NULL);
    int64_t start = clock_nanoseconds();
    for (int i = 0; i < REGIONS; i++) team_run(&team, nothing, NULL);
    double region = (double)(clock_nanoseconds() - start) / REGIONS;
    start = clock_nanoseconds();
    team_stay(&team, run_often, &team);
    double run = (double)(clock_nanoseconds() - start) / REGIONS;
    start = clock_nanoseconds();
    team_run(&team, count, &work);
    printf(
        "team of 2: a region takes %.0f ns, a run in one that stays %.0f ns, a barrier %.0f ns\n",
        region, run, (double)(clock_nanoseconds() - start) / (2.0 * work.rounds));
}

int main(void) {
    starts_over_a_killed_one(0);
    starts_over_a_killed_one(1024);
    for (int regions = 0; regions < 3; regions++) starts_beside(NULL, regions);
    starts_beside("close", 2);
    for (int threads = 1; threads <= MOST_THREADS; threads++) meets(threads);
    for (int threads = 1; threads <= MOST_THREADS; threads++) meets_in_one_region(threads, 0);
    meets_in_one_region(2, 5000);
    meets_in_any_number();
    runs_with_another_number();
    is_alone_for_now();
    leaves_nobody_behind();
    needs_no_barrier_alone();
#if defined __SSE__
    flushes_denormals();
#endif
    print_times();
    return test_result();
}
