/* Records: a pipeline's source, opened, and the way to each of its records: from a position in an
 * epoch to the record that stands there, and from the record to its values. Everything but opening
 * and closing is thread-safe. */
#ifndef FLOW_RECORDS_H
#define FLOW_RECORDS_H

#include "runtime/bounds.h"
#include "runtime/places.h"
#include "runtime/permutation.h"
#include "runtime/rejects.h"
#include "runtime/type.h"

typedef struct Records Records;

/* Where the records of a batch stand. Those of a pipeline with buckets all are of one. */
typedef struct BatchPlace {
    int64_t first, records; /* positions */
    int bucket;             /* 0 where there are none */
} BatchPlace;

/* seed: of random numbers in the pipeline. rejects: gets the records of which a filter can't be
 * asked; NULL: that fails. On failure *records is NULL. */
FlowStatus records_open(const FlowPipeline *pipeline, Places places, Sizes sizes, int64_t seed,
                        Rejects *rejects, Records **records);
void records_close(Records *records);

int64_t records_count(const Records *records); /* in an epoch, at least 1; -1: it is a feed's */

/* In an epoch; -1: of a feed. */
int64_t records_batches(const Records *records);
BatchPlace records_batch(const Records *records, int64_t epoch, int64_t position);

/* The values of the program's bounds that a batch of the bucket is made with. */
const int64_t *records_sizes(const Records *records, int bucket);

/* Of a feed: waits until there are records at all positions before `end`, or no more come, or
 * the clock shows the deadline (0: there is none). Returns how many positions there are, `end`
 * at most. */
int64_t records_wait(const Records *records, int64_t end, int64_t deadline);

/* Of a feed: why no more come, if they should have. */
FlowStatus records_ended(const Records *records);

/* Of a feed: who waits is woken; and what stands before the position is not asked for any more. */
void records_stop(const Records *records);
void records_forget(const Records *records, int64_t position);

/* The last section, with sizes that are known: what is made. */
const FlowSection *records_section(const Records *records);

/* Bytes that each thread needs for making a record. */
size_t records_scratch(const Records *records);

/* The order that is new in the epoch, of the bucket's records; of -1: of all, as they come. */
Permutation records_shuffle(const Records *records, int64_t epoch, int bucket);

/* Bytes of each of its outputs. */
const size_t *records_output_sizes(const Records *records, int bucket);

/* Does another record stand at a position in another epoch? */
bool records_are_dealt(const Records *records);

/* The record at the position of the epoch with that order; and of each of several positions, all of
 * one bucket. */
int64_t records_find(const Records *records, const Permutation *shuffle, int64_t position);
void records_find_each(const Records *records, const Permutation *shuffle, int64_t *positions,
                       int count);

/* Asks for the bytes that the record is made of. */
void records_prefetch(const Records *records, int64_t record, int64_t epoch);

/* Writes where the record comes from: "people.jsonl: line 7". */
void records_locate(const Records *records, int64_t record, int64_t epoch, char *text, size_t size);

/* Tells it from all others, also where the same one stands elsewhere in another epoch. */
int64_t records_identity(const Records *records, int64_t record, int64_t epoch);

/* Some records, in the order in which they are made. */
typedef struct RecordList {
    const int64_t *records;
    int count; /* to be made, at most RECORDS_AT_ONCE */
    int known; /* these, and those that are likely to be made next */
    int asked; /* of them: whose bytes were asked for before */
} RecordList;

/* Makes the outputs of the last section, in rows behind each other, until one can't be made;
 * *failure (unless it is NULL) says why. Returns how many were made. While it makes one, the bytes
 * of the one that is FLOW_ROWS_AHEAD behind it are asked for. */
int records_make_each(const Records *records, const RecordList *list, int64_t epoch, int bucket,
                      char *scratch, void *const *outputs, FlowStatus *failure);

/* The same of one. False: it can't be made. */
bool records_make(const Records *records, int64_t record, int64_t epoch, int bucket, char *scratch,
                  void *const *outputs, FlowStatus *failure);

#endif
