/* Team: one OpenMP parallel region a call. Inside, the threads meet at our own barrier,
 * which is ten times quicker than OpenMP's; that it also stands at both ends of the region
 * lets ThreadSanitizer see the order that libomp makes without its knowledge.
 *
 * Idle libomp threads spin for 200 ms by default. Here one millisecond covers the gap
 * between two steps and leaves the processor to the pipeline otherwise. */
#include "runtime/team.h"

#include "runtime/denormal.h"

#include <stdlib.h>

int omp_get_num_threads(void);
int omp_get_thread_num(void);
void kmp_set_blocktime(int milliseconds);

static void run_member(FlowBarrier *barrier, TeamBody *body, void *argument, int thread,
                       int threads) {
    denormals_to_zero();
    barrier_wait(barrier, threads);
    body(argument, thread, threads);
    barrier_wait(barrier, threads);
}

static void limit_spinning(void) {
    static bool done;
    if (!done && !getenv("KMP_BLOCKTIME")) kmp_set_blocktime(1);
    done = true;
}

/* OpenMP may give fewer threads than were asked for, so each asks how many there are. */
void team_run(Team *team, TeamBody *body, void *argument) {
    FlowBarrier *barrier = &team->barrier;
    if (team->threads == 1) {
        run_member(barrier, body, argument, 0, 1);
        return;
    }
    limit_spinning();
#pragma omp parallel num_threads(team->threads) firstprivate(barrier, body, argument)
    run_member(barrier, body, argument, omp_get_thread_num(), omp_get_num_threads());
}
