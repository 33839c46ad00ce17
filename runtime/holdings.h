/* Holdings: what each part of a running program holds in memory, counted when it is asked for, and
 * never more than the limit. Mapped files are not counted, nor is what does not grow with programs
 * and data. All functions are thread-safe. */
#ifndef FLOW_HOLDINGS_H
#define FLOW_HOLDINGS_H

#include "runtime/flow.h"

typedef enum HoldingKind {
    HOLDING_program,  /* weights, states, what functions work in */
    HOLDING_batches,  /* of a stage: those made ahead, and the one at work */
    HOLDING_scratch,  /* of each thread that makes batches */
    HOLDING_source,   /* what files unpack to, where records begin, names, tables of a filter */
    HOLDING_feed,     /* what is read ahead of a stream */
    HOLDING_decoders, /* of each thread: rows of images, a file, tokens of a text */
    HOLDING_output,   /* what is not written yet */
    HOLDING_KINDS
} HoldingKind;

/* Of one pipeline. Its owner keeps it where it is while it is open. */
typedef struct Holding {
    const char *name, *line; /* name NULL: the program itself */
    size_t bytes[HOLDING_KINDS];
    struct Holding *next;
} Holding;

/* Nothing is held yet. */
void holding_open(Holding *holding, const char *name, const char *line);

/* Gives back all that it still holds. */
void holding_close(Holding *holding);

/* Counts so many bytes more; false: the limit does not leave them. NULL: the program itself. */
bool holding_take(Holding *holding, HoldingKind kind, size_t bytes);
void holding_give(Holding *holding, HoldingKind kind, size_t bytes);

/* The one that this thread opens the source of, which counts as below; returns the one before. */
Holding *holding_enter(Holding *holding);
Holding *holding_here(void);

/* For sources, as realloc and memory_new, counted: NULL when there is no memory, or the limit does
 * not leave it. What they take goes when the pipeline is closed, unless it is given back before. */
void *held_resize(void *bytes, size_t before, size_t after);
void *held_new(size_t size);
void held_give(size_t size);

/* Limits what is held; 0: it is not. */
void holdings_limit(size_t bytes);
size_t holdings_limited(void);

/* What the limit leaves; SIZE_MAX without one. */
size_t holdings_room(void);

/* All that is held, and the most that ever was. */
size_t holdings_sum(void);
size_t holdings_most(void);

/* Where memory was refused, the failure says so: how much, for what, what the limit is. */
FlowStatus holdings_verdict(FlowStatus status);

/* The table; then, when all is done, the most that was held: on standard error. */
void holdings_print(const char *program);
void holdings_print_most(const char *program);

#endif
