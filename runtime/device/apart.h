/* Apart: work in a process of its own, so that what it takes, and how it ends, are its own affair:
 * a compiler may need all memory, never end, or crash. */
#ifndef FLOW_APART_H
#define FLOW_APART_H

#include "runtime/flow.h"

/* What the work gives: bytes, or why there are none. */
typedef struct ApartResult {
    FlowStatus status;
    char *bytes; /* the caller's */
    size_t size;
} ApartResult;

/* Runs in the child, which has one thread and a copy of this process's memory. */
typedef ApartResult ApartWork(const void *context);

typedef struct Apart {
    int process; /* 0: none */
    int result;  /* a file in memory */
    int64_t deadline;
    const char *what; /* for messages: "NVRTC" */
} Apart;

typedef struct ApartLimits {
    int seconds;
    size_t memory; /* bytes beside what this process has */
} ApartLimits;

FlowStatus apart_start(Apart *apart, const char *what, ApartWork *work, const void *context,
                       ApartLimits limits);

/* Waits; a child that takes too long is ended, and so is one whose parent is interrupted or gone.
 * Fails as the work did, or says how the child ended. */
ApartResult apart_finish(Apart *apart);

#endif
