/* Feed: what comes from a descriptor, in order, cut into records by a thread that reads ahead. A run
 * of records is there at a time: from the oldest that is not forgotten to the newest that has come.
 * All functions are thread-safe but feed_open and feed_close. */
#ifndef FLOW_FEED_H
#define FLOW_FEED_H

#include "runtime/bounds.h"
#include "runtime/flow.h"

enum {
    FEED_RECORD_LIMIT = 64 << 20, /* bytes */
    FEED_PADDING = 64,            /* bytes that can be read behind a record */
};

typedef struct Feed Feed;

/* How many of the bytes the first record takes, with what ends it; 0: it does not end in them. */
typedef size_t FeedCut(const void *context, const char *bytes, size_t size);

/* Begins to read. The descriptor stays the caller's; name: for messages. What is left when the data
 * ends is the last record. */
FlowStatus feed_open(int descriptor, const char *name, FeedCut *cut, const void *context,
                     Feed **feed);
void feed_close(Feed *feed);

/* Waits until `end` records have come, or no more do, or the clock shows the deadline (nanoseconds;
 * 0: there is none), or the run is interrupted. Returns how many have come in all. */
int64_t feed_wait(Feed *feed, int64_t end, int64_t deadline);

/* Whether no more records come; why, if they should have, in *status. */
bool feed_has_ended(Feed *feed, FlowStatus *status);

/* A record that has come and is not forgotten; the bytes stay until it is. */
const char *feed_record(Feed *feed, int64_t record, size_t *size);

/* Ends it: who waits is woken, nothing more is read. */
void feed_stop(Feed *feed);

/* The records before this one are not asked for any more. */
void feed_forget(Feed *feed, int64_t before);

#endif
