/* Stage: a pipeline at work: its records and the batches that they fill. A batch is a pure function
 * of its number, whoever makes it and when; so training is the same, bit for bit, for any number of
 * threads and workers.
 *
 * Batches are numbered through all epochs: number = epoch * stage_batches + position. They
 * are made either by worker threads, ahead of time; or, with no workers, by the team that
 * runs the steps: each thread makes its share of the next batch before it leaves the step. A team
 * of one that was given workers later makes a batch where it would wait for one.
 * They are given by their numbers; those of an unordered pipeline within an epoch as they come.
 *
 * Those of a feed have one epoch. A batch is then what has come when it is made. */
#ifndef FLOW_STAGE_H
#define FLOW_STAGE_H

#include "runtime/depth.h"
#include "runtime/pace.h"
#include "runtime/places.h"
#include "runtime/progression.h"
#include "runtime/records.h"
#include "runtime/team.h"
#include "runtime/type.h"

#include <stdatomic.h>

typedef struct Batch {
    int64_t number;
    int64_t epoch, first;    /* where its records stand in the order of the epoch */
    int bucket;              /* all of its records are of */
    const int64_t *sizes;    /* of the program's bounds, in this batch */
    const size_t *row_sizes; /* bytes, one an output */
    int64_t records;
    int64_t rows;              /* that were to be made: as many records, and those rejected */
    void *arrays[FIELD_LIMIT]; /* one an output */
    atomic_llong failure;      /* its first row that could not be made */
    char *rejected;            /* is this row? NULL: the pipeline stops at the first */
    bool own;                  /* made by the threads of the step */
} Batch;

typedef struct Stage Stage;

/* Opens the source. seed: of random numbers in the pipeline. On failure *stage is NULL. */
FlowStatus stage_open(const FlowPipeline *pipeline, Places places, Sizes sizes, int64_t seed,
                      Stage **stage);
void stage_close(Stage *stage);

/* Bytes of its batches and its threads with so many workers, or `threads` of the team. */
size_t stage_needs(const Stage *stage, int workers, int threads);

/* Takes them now; they stay until it is started with others. */
FlowStatus stage_prepare(Stage *stage, int workers, int threads);

/* What a batch holds. */
const FlowSection *stage_section(const Stage *stage);

/* In an epoch; -1: the source is a feed, and nobody knows. */
int64_t stage_records(const Stage *stage);
int64_t stage_batches(const Stage *stage);

/* At its end: fails when there were records and every one was rejected. */
FlowStatus stage_verdict(const Stage *stage);

/* Fails when it is a feed: a train block goes over its records again and again. */
FlowStatus stage_check_counted(const Stage *stage);

/* Begins to make the batches up to `end` that are not done (NULL: none is); of a feed, which
 * workers make and which begins once, all that there are. Another stage can be started again after
 * stage_stop. The team is that of the steps. */
FlowStatus stage_start(Stage *stage, const Progression *done, int64_t end, int workers, Team *team);
void stage_stop(Stage *stage);

/* Before a start: the workers may be as many as that later. */
void stage_allow(Stage *stage, int workers);

/* Between two batches: so many workers from now on (of a feed at least one); it may be that there
 * are fewer when there is no memory or thread for more. Returns how many. */
int stage_set_workers(Stage *stage, int workers);

/* How many batches may lie ready while workers make them: now; as usual; at most, with so many
 * bytes more. From now on (not of a feed), where the pipeline does not say it: fewer where there is
 * no memory. */
int stage_queue(const Stage *stage);
int stage_usual_queue(const Stage *stage);
int stage_most_queue(const Stage *stage, size_t room);
void stage_set_queue(Stage *stage, int queue);

/* What was waited for so far; the fewest batches that lay ready since this was asked before. */
DepthPace stage_depth_pace(const Stage *stage);
int stage_least_ready(Stage *stage);

/* The batches that were given back. */
const Progression *stage_done(const Stage *stage);

/* Waits for the next batch; NULL: a feed has no more. Fails when one of its records can't be made,
 * and the pipeline does not go on without it: the batch then has the records before that one. */
FlowStatus stage_take(Stage *stage, const Batch **batch);

/* Writes where the record in that place of the batch comes from. */
void stage_locate(const Stage *stage, const Batch *batch, int64_t place, char *text, size_t size);

/* Called by all threads of the team while they hold a batch, before and after the step's work: asks
 * memory for what the next one is made of, and makes it, when there are no workers to do so. */
void stage_ask_next(Stage *stage, int thread);
void stage_fill_next(Stage *stage, int thread, int threads);

/* What of the next batch, which workers have made, the first thread asks for during the step; or
 * NULL. */
FlowAsked *stage_asked(Stage *stage);

/* Is there one to be made so? */
bool stage_wants_team(const Stage *stage);

/* Gives the batch back. */
void stage_release(Stage *stage);

/* How long the step's first thread has waited for batches or made them, in nanoseconds. */
int64_t stage_input_time(const Stage *stage);

/* What of it passed within steps. */
int64_t stage_team_time(const Stage *stage);

/* How long the step's threads, all together, have made batches without waiting for each other. */
int64_t stage_busy_time(const Stage *stage);

/* What of making a batch takes longest, from the records that were measured so far. */
Bottleneck stage_bottleneck(const Stage *stage);

#endif
