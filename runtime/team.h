/* Team: the threads that run a step together, all on LLVM's OpenMP runtime. */
#ifndef FLOW_TEAM_H
#define FLOW_TEAM_H

#include "runtime/barrier.h"

typedef struct Team {
    int threads;
    FlowBarrier barrier;
} Team;

typedef void TeamBody(void *argument, int thread, int threads);

/* Calls the body once on each thread of the team and returns when all are done. A team of
 * one calls it directly. */
void team_run(Team *team, TeamBody *body, void *argument);

#endif
