/* Rejects: the records of a pipeline that could not be made, where it goes on without them. */
#ifndef FLOW_REJECTS_H
#define FLOW_REJECTS_H

#include "runtime/flow.h"

typedef struct Rejects Rejects;

/* path: of the log, to which lines are added; NULL: there is none. On failure *rejects is NULL. */
FlowStatus rejects_new(const char *pipeline, const char *path, Rejects **rejects);

/* Says on standard error how many there were, if any, and what was wrong with the first. */
void rejects_free(Rejects *rejects);

/* Counts the record of that pipeline, which may be one that another is made of, and logs what is
 * wrong with it: one line, {"pipeline": "digits", "record": 7, "error": "…"}. Fails when that can't
 * be written. Returns the failure where nothing may be rejected: `rejects` is NULL, or not the data
 * is at fault, but that there is no memory for it. Thread-safe. */
FlowStatus rejects_add(Rejects *rejects, const char *pipeline, int64_t record,
                       const FlowStatus *failure);

/* A record of the pipeline could be made. Thread-safe; `rejects` may be NULL. */
void rejects_made(Rejects *rejects);

/* Says on standard error how many there are so far, where they have become more: every ten seconds
 * at most, and nothing in a run's first two. Thread-safe; `rejects` may be NULL. */
void rejects_tell(Rejects *rejects);

/* Fails when records were rejected and none could be made. `rejects` may be NULL. */
FlowStatus rejects_verdict(const Rejects *rejects);

/* Is the record noted for the first time, as far as memory tells? Not thread-safe. */
bool rejects_note(Rejects *rejects, int64_t record);

#endif
