/* Feed: what a tap gives, in order, cut into records by a thread that reads ahead. A run of records
 * is there at a time: from the oldest that is not forgotten to the newest that has come. All
 * functions are thread-safe but feed_open and feed_close. */
#ifndef FLOW_FEED_H
#define FLOW_FEED_H

#include "runtime/bounds.h"
#include "runtime/tap.h"

enum {
    FEED_RECORD_LIMIT = 64 << 20, /* bytes */
    FEED_PADDING = 64,            /* zeros behind the copy of a record */
    FEED_COPY = 4096,             /* bytes of a record that is copied without asking for memory */
};

typedef struct Feed Feed;

/* What is known of the bytes that are to be cut. */
typedef struct FeedScan {
    bool start;     /* nothing was cut before */
    bool end;       /* no more bytes follow */
    size_t seen;    /* so many were looked at in vain */
    int state;      /* 0 at the begin of each record; else what the cut has left there */
    bool nothing;   /* the cut says: these bytes are no record */
    int64_t breaks; /* it says: so many line ends are in them; else 1 */
} FeedScan;

/* How many of the bytes the first record takes, with what ends it; 0: it does not end in them. What
 * is left when the data ends is a record too, unless it is nothing. */
typedef size_t FeedCut(void *context, const char *bytes, size_t size, FeedScan *scan);

/* Begins to read. Takes the tap over, on failure too. */
FlowStatus feed_open(Tap *tap, FeedCut *cut, void *context, Feed **feed);
void feed_close(Feed *feed);

/* The same of what the path "-" stands for; unpacks: compressed bytes are unpacked. */
FlowStatus feed_open_origin(const FlowOrigin *origin, bool unpacks, FeedCut *cut, void *context,
                            Feed **feed);

/* Of records that are their numbers, of which there is no end. */
FlowStatus feed_open_endless(Feed **feed);

/* What it reads, for messages. */
const char *feed_name(const Feed *feed);

/* Waits until `end` records have come, or no more do, or the clock shows the deadline (nanoseconds;
 * 0: there is none), or the run is interrupted. Returns how many have come in all; *final (unless
 * it is NULL): no more will. */
int64_t feed_wait(Feed *feed, int64_t end, int64_t deadline, bool *final);

/* Whether no more records come; why, if they should have, in *status. */
bool feed_has_ended(Feed *feed, FlowStatus *status);

/* A record that has come, until it is forgotten. What lies behind its bytes may change. */
const char *feed_record(Feed *feed, int64_t record, size_t *size);

/* The line it begins at, from 1. */
int64_t feed_line(Feed *feed, int64_t record);

/* A copy of one, with zeros behind it. */
typedef struct FeedCopy {
    char *bytes; /* NULL: no memory */
    size_t size;
    char room[FEED_COPY + FEED_PADDING];
} FeedCopy;

void feed_copy(Feed *feed, int64_t record, FeedCopy *copy);
void feed_drop_copy(FeedCopy *copy);

/* Cuts at line ends. */
FeedCut feed_cut_line;

/* How many bytes at the begin are a mark of UTF-8; -1: too few have come to tell. */
int feed_mark(const char *bytes, size_t size, const FeedScan *scan);

/* Ends it: who waits is woken, nothing more is read. */
void feed_stop(Feed *feed);

/* The records before this one are not asked for any more. */
void feed_forget(Feed *feed, int64_t before);

#endif
