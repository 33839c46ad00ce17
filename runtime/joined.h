/* Joined: records that come from other pipelines. Which record of which input stands where is
 * arithmetic, so any of them can be asked for at any time, as of a source. An input is opened as if
 * it stood alone; but its random numbers are its own, and it may be gone through several times in
 * an epoch, each time in an epoch of its own. */
#ifndef FLOW_JOINED_H
#define FLOW_JOINED_H

#include "runtime/records.h"

typedef struct Joined Joined;

/* Opens the inputs of the pipeline's join, as in records_open; section: the pipeline's first, with
 * sizes that are known. On failure *joined is NULL. */
FlowStatus joined_open(const FlowPipeline *pipeline, const FlowSection *section, Places places,
                       Sizes sizes, int64_t seed, Rejects *rejects, Joined **joined);
void joined_close(Joined *joined); /* NULL: nothing */

int64_t joined_records(const Joined *joined); /* in an epoch */

/* Bytes that each thread needs for making a record. */
size_t joined_scratch(const Joined *joined);

/* Makes the record: field i where values[i] points; or sets values[i] to where it lies already,
 * valid until close. False: it can't be; *failure (unless it is NULL) says why. Thread-safe. */
bool joined_make(Joined *joined, int64_t record, int64_t epoch, char *scratch, const void **values,
                 FlowStatus *failure);

/* As records_are_dealt. */
bool joined_is_dealt(const Joined *joined);

/* As records_learn_one: of all inputs that a record comes from. Thread-safe. */
bool joined_learn(const Joined *joined, int64_t record, char *scratch, FlowStatus *failure);

/* As records_identity. Thread-safe. */
int64_t joined_identity(const Joined *joined, int64_t record, int64_t epoch);

/* As records_prefetch and records_locate; of several inputs the first. Thread-safe. */
void joined_prefetch(const Joined *joined, int64_t record, int64_t epoch);
void joined_locate(const Joined *joined, int64_t record, int64_t epoch, char *text, size_t size);

#endif
