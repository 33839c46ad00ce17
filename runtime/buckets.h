/* Buckets: records of like length are batched together. Each batch is made with the size that its
 * bucket stands for, in place of the run's; so what is computed of it falls with the length.
 *
 * Which records a batch has follows from seed, epoch and number, as without buckets: where records
 * are shuffled, full batches change places and so do the records of each bucket; else full batches
 * come as they become full. What is left of each bucket is a smaller batch behind them. */
#ifndef FLOW_BUCKETS_H
#define FLOW_BUCKETS_H

#include "runtime/permutation.h"
#include "runtime/records.h"

typedef struct Buckets Buckets;

/* Asks all `*count` records of the last section that stand before its order `number` how long they
 * are. *count: those that could be asked. Whatever it returns, *buckets is to be closed. */
FlowStatus buckets_open(const Records *records, int number, int64_t *count, Buckets **buckets);
void buckets_close(Buckets *buckets);

/* In an epoch; and where the records of one stand, bucket by bucket. */
int64_t buckets_batches(const Buckets *buckets);
BatchPlace buckets_batch(const Buckets *buckets, int64_t epoch, int64_t position);

/* Of the program's bounds, in batches of the bucket; and bytes of the pipeline's outputs. */
const int64_t *buckets_sizes(const Buckets *buckets, int bucket);
const size_t *buckets_output_sizes(const Buckets *buckets, int bucket);

/* How the bucket's records change places in the epoch; of -1: no record does. */
Permutation buckets_permutation(const Buckets *buckets, int64_t epoch, int bucket);

/* Positions of one bucket: to those before they changed places, and from these to the records. */
void buckets_shuffle(const Buckets *buckets, const Permutation *permutation, int64_t *positions,
                     int count);
void buckets_find_each(const Buckets *buckets, int64_t *positions, int count);

#endif
