/* Stage_state: what the files of a stage share: stage_slots.c has the memory of batches,
 * stage_make.c makes them, stage_settle.c says what becomes of records that can't be made,
 * stage_workers.c runs the threads, stage_order.c decides which batch comes next, stage_cost.c says
 * what takes longest, stage.c does the rest. */
#ifndef FLOW_STAGE_STATE_H
#define FLOW_STAGE_STATE_H

#include "runtime/bounds.h"
#include "runtime/cost.h"
#include "runtime/holdings.h"
#include "runtime/progression.h"
#include "runtime/queue.h"
#include "runtime/rejects.h"
#include "runtime/stage.h"
#include "runtime/watchdog.h"

#include <pthread.h>

enum { NAME_SIZE = 128 };

#define NO_FAILURE INT64_MAX

/* Rows of a batch that a thread of the team begins with; others help when they are done. */
typedef struct Share {
    _Alignas(64) atomic_llong next;
    int64_t end;
} Share;

enum { RECORDS_KNOWN = 64 }; /* rows of which is known at a time which records they are */

/* Rows that are made one after the other: which records the next ones are. */
typedef struct Ahead {
    int64_t batch; /* its number; -1: none yet */
    Permutation shuffle;
    int64_t records[RECORDS_KNOWN];
    int64_t first, found, asked; /* rows: of records[0]; one past the last that is known; one past
                                    those whose bytes were asked for */
} Ahead;

/* What a thread makes records with. */
typedef struct Hand {
    char *scratch;
    char name[NAME_SIZE]; /* of its beat */
    Beat beat;
    Costs costs;
    Ahead ahead;         /* of the batch that it makes */
    int64_t busy, ended; /* nanoseconds in which it made batches, of the team; when that ended */
} Hand;

typedef struct Worker {
    Stage *stage;
    int index;
    Hand hand;
    pthread_t thread;
    bool running; /* to be joined */
    bool left;    /* it claims no more */
} Worker;

struct Stage {
    const FlowPipeline *pipeline;
    Holding holding;
    const FlowSection *section; /* the last, whose outputs are a batch's */
    Records *source;
    int64_t records, batches; /* in an epoch; -1: of a feed */
    Rejects *rejects;         /* or NULL: the first one stops the run */
    char name[NAME_SIZE];     /* of these: */
    Beat opening, logging;

    /* stage_slots.c */
    Batch **slots;
    int slot_count;
    Hand **hands; /* one a thread of the team */
    int hand_count;
    Queue *vacant, *ready;
    Batch **own; /* vacant ones that the step's threads fill: they lie in their caches */
    int own_count;
    Batch **spare; /* that nobody fills, and how many more are to be: the queue became shallower */
    int spare_count, surplus;
    int queue;              /* batches that lie ready, as tuned; 0: as usual */
    atomic_llong idle_time; /* of all workers, in which they waited for a vacant one */

    /* stage_workers.c */
    Worker **workers;
    int allowed;              /* workers, later */
    int worker_count;         /* that there are; those from `wanted` on leave */
    pthread_mutex_t claiming; /* of a feed held while its records are waited for */
    Progression begun;        /* what is not made again */
    int64_t next, end;        /* batches: the next to be claimed, one past the last */
    int64_t claimed_records;  /* of a feed: in the batches that were claimed */
    bool drained;             /* a feed that has ended */
    atomic_llong claimed;     /* batches since the start */
    pthread_mutex_t mutex;    /* of whom is wanted and who is there */
    int wanted, working;

    /* For the step alone, on lines of its own: of workers none reads them. */
    _Alignas(64) int64_t input_time, team_time;
    int64_t wait_time;                 /* in which it waited for a batch that is ready */
    int64_t given_batches, given_rows; /* since it was opened */
    int least_ready;                   /* batches, when one was taken */
    FlowAsked asked;                   /* of the next batch, during the step */

    /* stage_order.c, for the step as well */
    Progression done;
    int64_t ends[OVERTAKE_LIMIT]; /* of a feed: positions behind the batches that are done */
    Batch **held;                 /* batches that are made, not given */
    int held_count;
    int64_t delivered; /* batches since the start */
    Batch *taken;

    /* The batch that the team makes while it runs the step. */
    Team *team;
    Batch *filling;
    Share *shares; /* room for as many as there are hands */
    int share_count;
    bool whole_shares; /* each is known to be made before another thread could look */
    int lead;          /* so many rows less has thread 0 then, */
    int behind;        /* since it was so often done last, less often first */
};

static inline bool stage_is_fed(const Stage *stage) {
    return stage->records < 0;
}

/* The first of its files, or NULL. */
const char *stage_place(const Stage *stage);

/* With so many workers, are batches made where one would be waited for? So it is where the step has
 * one thread, whose processor would be idle. Not of a feed: making its batch may mean to wait. */
bool stage_helps(const Stage *stage, int workers);

/* stage_slots.c */

/* Bytes; SIZE_MAX: more than there can be. */
size_t slots_size(const Stage *stage, int count);
size_t scratch_size(const Stage *stage, int count);

/* At least so many slots, all new ones vacant. Slots and hands stay from one start to the next. */
bool slots_grow(Stage *stage, int count);

/* Slots that go round. */
static inline int slots_used(const Stage *stage) {
    return stage->slot_count - stage->spare_count - stage->surplus;
}

/* So many go round, once those that are too many have come back. False: there is no memory. */
bool slots_use(Stage *stage, int count);

/* The step gives the slot back. */
void slots_return(Stage *stage, Batch *slot);
bool slots_hands(Stage *stage, int threads);
void slots_free(Stage *stage);

/* worker: its number from 1 on; 0: of the team. */
bool hand_open(Hand *hand, Stage *stage, int worker);
void hand_close(Hand *hand, Stage *stage);

/* stage_make.c */

/* Which records the batch has. */
void number_batch(const Stage *stage, Batch *batch, int64_t number);
void begin_batch(const Stage *stage, Batch *batch, int64_t rows);

/* Makes all rows, or with a team its share, and what others have not begun, unless a share is known
 * to be made before one could look. */
void make_batch(const Stage *stage, Batch *batch, Hand *hand);
void share_batch(Stage *stage, const Batch *batch, int threads);
void make_share(Stage *stage, Batch *batch, int thread, int threads);

/* Asks for the first records of the share that the thread is to make, when it has done a step. */
void ask_for_share(Stage *stage, const Batch *batch, int thread);

/* Makes a record that failed once more, to hear why. */
FlowStatus failure_of(const Stage *stage, const Batch *batch, int64_t row, int64_t *record);

/* stage_settle.c: what becomes of the rows that could not be made. */
FlowStatus settle(Stage *stage, Batch *batch);

/* stage_workers.c */

/* A vacant slot and the next number; NULL: there is none, or the worker is to leave. worker: NULL:
 * for the step's threads. */
Batch *claim_batch(Stage *stage, Worker *worker);

/* At least so many are there to be started. */
bool workers_grow(Stage *stage, int count);

/* From now on so many work; some may still finish a batch. False: there is no memory, no thread. */
bool workers_set(Stage *stage, int count);
void workers_stop(Stage *stage);
void workers_free(Stage *stage);

/* stage_order.c */

/* Keeps a batch that was made until it may be given. */
void order_hold(Stage *stage, Batch *batch);

/* The one that is given next; NULL: it is not held yet. */
Batch *order_find(Stage *stage);

/* Notes that the batch was given back. */
void order_release(Stage *stage, const Batch *batch);

#endif
