/* Team: the threads that run a step together, all on LLVM's OpenMP runtime. */
#ifndef FLOW_TEAM_H
#define FLOW_TEAM_H

#include "runtime/barrier.h"

#include <stdbool.h>

typedef struct Stay Stay;

typedef struct Team {
    int threads;
    FlowBarrier barrier;
    Stay *stay; /* the region that is open for it, or NULL */
    bool alone; /* for now its first thread does all: the others are not there yet */
} Team;

typedef void TeamBody(void *argument, int thread, int threads);
typedef void TeamTask(void *argument);

/* Begins what the first region of the process waits for, beside the calling thread, which has
 * something else to do. The process may not exit before team_end. Both from one thread. */
void team_begin(int threads);
void team_end(void);

/* Has it come to its end, if it is going on? */
bool team_is_ready(void);

/* Calls the body once on each thread of the team and returns when all are done. A team of
 * one calls it directly. */
void team_run(Team *team, TeamBody *body, void *argument);

/* Calls the task on this thread alone. Meanwhile the others stay, so that each team_run of this
 * team, which the task may call, takes a tenth of the time to begin and end. With another number of
 * threads than at the start it has one thread there. */
void team_stay(Team *team, TeamTask *task, void *argument);

#endif
