/* Team: one OpenMP parallel region a call, or for many of them. Inside, the threads meet at our own
 * barrier, which is ten times quicker than OpenMP's.
 *
 * What was written before a region its threads see, and when it has ended they touch nothing more:
 * so libomp has it, unknown to ThreadSanitizer. To show it that, they look at a count of regions
 * first, and their arrival at the barrier is the last thing they do, for which thread 0 waits.
 *
 * To open a region and to close it takes microseconds, as long as a small step. In one that stays
 * open, thread 0 goes on alone, and the others wait for its bell.
 *
 * libomp takes more than a millisecond to start, a third of it to count the ticks of a clock:
 * meanwhile the calling thread opens data.
 *
 * Idle libomp threads spin for 200 ms by default. Here one millisecond covers the gap
 * between two steps and leaves the processor to the pipeline otherwise. */
#define _GNU_SOURCE
#include "runtime/team.h"

#include "runtime/bell.h"
#include "runtime/denormal.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int omp_get_num_threads(void);
int omp_get_thread_num(void);
int omp_get_max_threads(void);
void kmp_set_blocktime(int milliseconds);
void kmp_set_defaults(const char *settings);

/* The processor number `index` of the set, or -1. */
static int processor_of(const cpu_set_t *set, int index) {
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, set) && index-- == 0) return processor;
    return -1;
}

static void move_to(int processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    sched_setaffinity(0, sizeof only, &only);
}

/* libomp registers itself in shared memory under the number of its process. What a process of this
 * number left when it was killed while registering is empty or begins with zero, and libomp would
 * stop at it with a bus error or a report of a second OpenMP. A whole one it judges itself. */
static void remove_half_registration(void) {
    char name[64], first = 0;
    snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%d", (int)getpid(), (int)getuid());
    int file = shm_open(name, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return;
    if (read(file, &first, 1) >= 0 && !first) shm_unlink(name);
    close(file);
}

/* Has the user said where threads go? */
static bool is_bound(void) {
    static const char *const names[] = {"KMP_AFFINITY", "OMP_PROC_BIND", "OMP_PLACES",
                                        "GOMP_CPU_AFFINITY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return true;
    return false;
}

static atomic_bool is_started;

/* The start of libomp, which else goes from processor to processor to look at each of them. */
static void *start_openmp(void *unused) {
    remove_half_registration();
    if (!is_bound()) kmp_set_defaults("KMP_AFFINITY=disabled");
    omp_get_max_threads();
    atomic_store(&is_started, true);
    return unused;
}

/* The thread that starts it. */
typedef struct Starter {
    pthread_t thread;
    bool begun, running;
} Starter;

static Starter starter;

void team_begin(int threads) {
    if (threads == 1 || starter.begun) return;
    starter.begun = true;
    starter.running = !pthread_create(&starter.thread, NULL, start_openmp, NULL);
}

void team_end(void) {
    if (starter.running) pthread_join(starter.thread, NULL);
    starter.running = false;
}

bool team_is_ready(void) {
    return atomic_load(&is_started) || (starter.begun && !starter.running);
}

static void wait_for_start(void) {
    if (starter.running) team_end();
    else start_openmp(NULL);
    starter.begun = true;
}

/* Once for the process, before its first region. */
static struct Placement {
    bool made;
    bool own_processors; /* of a team as large as `processors`; else the scheduler decides */
    cpu_set_t processors;
} placement;

static void prepare_process(int threads) {
    if (placement.made) return;
    placement.made = true;
    wait_for_start();
    if (!getenv("KMP_BLOCKTIME")) kmp_set_blocktime(1);
    if (sched_getaffinity(0, sizeof placement.processors, &placement.processors)) return;
    placement.own_processors =
        CPU_COUNT(&placement.processors) == threads && !getenv("OMP_PROC_BIND");
}

static atomic_uint regions; /* begun so far */

/* Before a region of the team, which may get another number of threads than the one before, but not
 * inside of one that stays open. */
static void prepare(Team *team) {
    prepare_process(team->threads);
    if (!team->stay) atomic_store(&team->barrier.arrived, 0);
    atomic_fetch_add_explicit(&regions, 1, memory_order_release);
}

/* Threads that wait for each other by spinning look busy to the scheduler, which may leave two of
 * them on one processor for seconds. A team that has all processors takes one each: the others
 * stay there, thread 0 only moves back, since threads that it creates later inherit its freedom. */
static void settle(int thread) {
    static _Thread_local bool settled;
    if (!placement.own_processors) return;
    if (thread == 0 && sched_getcpu() != processor_of(&placement.processors, 0)) {
        move_to(processor_of(&placement.processors, 0));
        sched_setaffinity(0, sizeof placement.processors, &placement.processors);
    }
    if (thread > 0 && !settled) move_to(processor_of(&placement.processors, thread));
    settled = true;
}

static void enter(int thread, int threads) {
    (void)atomic_load_explicit(&regions, memory_order_acquire);
    denormals_to_zero();
    if (threads > 1) settle(thread);
}

/* The end of what the team does together. */
static void leave(FlowBarrier *barrier, int thread, int threads) {
    if (thread) barrier_arrive(barrier);
    else barrier_wait(barrier, threads);
}

static void run_member(FlowBarrier *barrier, TeamBody *body, void *argument, int thread,
                       int threads) {
    enter(thread, threads);
    body(argument, thread, threads);
    leave(barrier, thread, threads);
}

/* OpenMP may give fewer threads than were asked for, so each asks how many there are. A function of
 * its own, since a compiler may call libomp at the head of one that has a region. */
static __attribute__((noinline)) void run_region(Team *team, TeamBody *body, void *argument) {
    FlowBarrier *barrier = &team->barrier;
#pragma omp parallel num_threads(team->threads) firstprivate(barrier, body, argument)
    run_member(barrier, body, argument, omp_get_thread_num(), omp_get_num_threads());
}

/* A region that stays open. */

struct Stay {
    _Alignas(64) Bell bell;
    int wanted, threads; /* of the team, and those that there are */
    TeamBody *body;      /* what the bell calls to; NULL: the end */
    void *argument;
};

/* Followers look at the line all the time: what they know is not written once more, which would
 * take it from them. */
static void call_to(Stay *stay, TeamBody *body, void *argument) {
    if (stay->body != body) stay->body = body;
    if (stay->argument != argument) stay->argument = argument;
    bell_ring(&stay->bell);
}

static void lead(Team *team, TeamTask *task, void *argument, int threads) {
    Stay *stay = team->stay;
    stay->threads = threads;
    task(argument);
    call_to(stay, NULL, NULL);
}

static void follow(Team *team, Stay *stay, int thread, int threads) {
    unsigned heard = 0;
    for (;;) {
        bell_wait(&stay->bell, &heard);
        if (!stay->body) return;
        stay->body(stay->argument, thread, threads);
        leave(&team->barrier, thread, threads);
    }
}

static void stay_member(Team *team, Stay *stay, TeamTask *task, void *argument, int thread,
                        int threads) {
    enter(thread, threads);
    if (thread) follow(team, stay, thread, threads);
    else lead(team, task, argument, threads);
    leave(&team->barrier, thread, threads);
}

static __attribute__((noinline)) void stay_region(Team *team, TeamTask *task, void *argument) {
    Stay *stay = team->stay;
#pragma omp parallel num_threads(team->threads) firstprivate(team, stay, task, argument)
    stay_member(team, stay, task, argument, omp_get_thread_num(), omp_get_num_threads());
}

void team_stay(Team *team, TeamTask *task, void *argument) {
    if (team->threads == 1 || team->alone) {
        task(argument);
        return;
    }
    Stay stay = {.wanted = team->threads};
    prepare(team);
    team->stay = &stay;
    stay_region(team, task, argument);
    team->stay = NULL;
}

static void run_in_stay(Team *team, TeamBody *body, void *argument) {
    Stay *stay = team->stay;
    call_to(stay, body, argument);
    denormals_to_zero();
    settle(0);
    body(argument, 0, stay->threads);
    leave(&team->barrier, 0, stay->threads);
}

void team_run(Team *team, TeamBody *body, void *argument) {
    if (team->threads == 1 || team->alone) {
        run_member(&team->barrier, body, argument, 0, 1);
    } else if (team->stay && team->stay->wanted == team->threads) {
        run_in_stay(team, body, argument);
    } else {
        prepare(team);
        run_region(team, body, argument);
    }
}
