/* Run: a train block at work; what train.c, look.c and action.c share. */
#ifndef FLOW_RUN_H
#define FLOW_RUN_H

#include "runtime/checkpoint.h"
#include "runtime/device/gpus.h"
#include "runtime/evaluate.h"
#include "runtime/file.h"
#include "runtime/progress.h"
#include "runtime/tune.h"

/* A batch that a function of the train block was called for, and has not been looked at. */
typedef struct Made {
    Call *call;
    int64_t step, records;
    RunNumbers numbers;
    const int64_t *sizes;
} Made;

typedef struct Run {
    const Settings *settings;
    const FlowTrain *train;
    const char *save_path;
    const FlowAction *saves; /* the action that saves there, or NULL */
    char *default_path;      /* of a train block that saves nothing by itself */
    FileLock lock;
    Team team;
    char *memory;
    Call initialise, step, accumulate;
    int64_t group; /* batches of one update */
    RunNumbers numbers;
    Stage *data;
    Evaluation *evaluations;       /* one an action; of print: only the call */
    int64_t *last_times;           /* one an action: when it was done, in nanoseconds */
    int64_t first_step, last_step; /* in batches */
    Identity identity;
    Position position;
    Progress progress;
    Tuner tuner;
    Depth depth;
    size_t depth_room;     /* bytes that a deeper queue may take */
    Made made[GPUS_AHEAD]; /* calls whose results nobody has looked at, by turns: GPUs are ahead */
    int64_t made_count, seen_count;
    int64_t began;          /* when its steps began, in nanoseconds */
    Pace begun;             /* before the first step: states are fitted to the same data */
    int64_t step_time;      /* nanoseconds, with batches that the team makes meanwhile */
    int64_t step_end;       /* when the last one ended */
    int64_t learnt;         /* batches whose steps were good */
    int64_t saved_step;     /* updates made when it was last saved whole, */
    const char *saved_path; /* there; NULL: never, or the file that it went on from */
    bool saved; /* a `save` has written its file; if the command line names one, that one */
    bool quiet; /* standard output is gone */
} Run;

/* Sums over the pass of that function begin at zero. */
void begin_pass(const Run *run, const FlowFunction *function);

int64_t updates_made(const Run *run);

/* What it has waited for so far. */
Pace run_pace(const Run *run);

/* Sets the numbers that follow from the position. */
void count_updates(Run *run);

/* Where the action saves, if the command line doesn't say otherwise. */
const char *run_path(const Run *run, const FlowAction *action);

/* Saves the run with that many actions done after the last step. */
FlowStatus run_save(const Run *run, const char *path, int actions_done);

/* How a run ends that is interrupted before its first step. */
FlowStatus run_without_steps(void);

/* Looks at what a step gave: the first that nobody has looked at. batch: its own, which is still
 * held, or NULL. Fails with where a number that is none began. */
FlowStatus look_at_step(Run *run, const Batch *batch);

/* The same of all but so many. */
FlowStatus look_at_steps(Run *run, int64_t ahead);

/* A call of a function of the train block. */
FlowStatus run_bind(const Run *run, const FlowFunction *function, Call *call);

/* Threads that make the batches of the stage, which is that of the training data. */
int run_workers(const Run *run, const Stage *stage);

/* Finds the vocabularies of the training data, which no file has yet. */
FlowStatus run_learn(Run *run);

/* Fits the states that are found in the data, before the first step. */
FlowStatus run_fits(Run *run);

/* Is one to be done after this step? */
bool actions_are_due(const Run *run);

/* Does the actions that are due and not yet done. One that is interrupted stays to be done. */
FlowStatus run_actions(Run *run);

#endif
