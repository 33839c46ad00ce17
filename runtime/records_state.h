/* Records_state: what the files of records share: records_open.c opens and closes them, records.c
 * finds and makes each, records_feed.c waits for those of a feed. */
#ifndef FLOW_RECORDS_STATE_H
#define FLOW_RECORDS_STATE_H

#include "runtime/buckets.h"
#include "runtime/feed.h"
#include "runtime/joined.h"
#include "runtime/pack.h"
#include "runtime/records.h"
#include "runtime/sieve.h"
#include "runtime/text/tokenizer.h"
#include "runtime/vocabulary.h"

#include <stdatomic.h>

typedef struct OrderState {
    Permutation permutation; /* of epoch 0 */
    int64_t *passing;        /* filter: the records that meet its condition */
    Sieve *sieve;            /* the same of a feed */
    atomic_llong end;        /* shuffle in windows: records; INT64_MAX: they are still coming */
} OrderState;

typedef struct SectionState {
    FlowSection section; /* with the paths that were found and sizes that are known */
    FlowField fields[FIELD_LIMIT], outputs[FIELD_LIMIT];
    size_t field_sizes[FIELD_LIMIT], output_sizes[FIELD_LIMIT]; /* bytes of these */
    Pack *pack;                  /* the tokens that it makes rows of, or NULL */
    bool direct;                 /* windows of what the source holds: nothing is copied */
    size_t offsets[FIELD_LIMIT]; /* in scratch, of the fields that have to be made: for each record
                                    that is made together with others */
    OrderState orders[ORDER_LIMIT];
} SectionState;

/* What a feed needs beside: the one who waits uses it. */
typedef struct FedState {
    char *scratch;      /* to ask filters */
    FlowStatus failure; /* of a filter that could not be asked: no more records come */
} FedState;

struct Records {
    const FlowPipeline *pipeline;
    FlowSourceArguments arguments; /* with words that options have said */
    FlowWord *words;               /* these */
    Sizes sizes;
    FlowReader *reader; /* NULL: they come from other pipelines */
    Joined *joined;
    size_t joined_scratch;              /* where in scratch those of `joined` are made */
    Feed *feed;                         /* or NULL */
    FedState *fed;                      /* the same */
    Rejects *rejects;                   /* the same */
    Buckets *buckets;                   /* the same; of the last section */
    Tokenizer *tokenizers[FIELD_LIMIT]; /* of the source's fields; several may have one */
    Vocabulary *texts[FIELD_LIMIT];     /* of those that are categories */
    bool points;                        /* the source points at its values; else it makes them */
    const void *firsts[FIELD_LIMIT];    /* at those of record 0 */
    atomic_uchar *learned;              /* bits of its records whose texts were counted; or NULL */
    int64_t seed;
    uint64_t first_seed; /* of the records */
    size_t scratch; /* bytes: what record functions work in, then fields that have to be made */
    int64_t count;  /* records in an epoch; -1: of a feed */
    SectionState sections[];
};

/* What it takes to make records: the same for all sections. */
typedef struct Maker {
    const Records *records;
    int64_t epoch;
    char *scratch;
    FlowStatus *failure;
    const int64_t *sizes; /* of the last section's record function; NULL: those of the run */
} Maker;

static inline const FlowSection *records_section_at(const Records *records, int index) {
    return &records->sections[index].section;
}

static inline int records_last_section(const Records *records) {
    return records->pipeline->section_count - 1;
}

static inline size_t records_aligned(size_t size) {
    return (size + FLOW_ALIGNMENT - 1) / FLOW_ALIGNMENT * FLOW_ALIGNMENT;
}

/* Windows that `count` records make. */
static inline int64_t records_windows(const FlowSection *section, int64_t count) {
    return count < section->window ? 0 : (count - section->window) / section->stride + 1;
}

/* Through the first `orders` orders of the section, from positions to the records that stand there.
 * shuffle: that of the epoch. */
void records_through_each(const Records *records, int index, int orders, const Permutation *shuffle,
                          int64_t *positions, int count);

static inline int64_t records_through(const Records *records, int index, int orders,
                                      const Permutation *shuffle, int64_t position) {
    records_through_each(records, index, orders, shuffle, &position, 1);
    return position;
}

/* Makes the record at that position of the section. */
bool records_make_at(const Maker *maker, int index, int64_t position, void *const *outputs);

/* The answer of condition `number` of the section about the record at that position before it.
 * False: it can't be made, *maker->failure says why. */
bool records_answer(const Maker *maker, int index, int number, int64_t position, void *answer);

/* Rejects that record. Fails with the failure where none are rejected. */
FlowStatus records_refuse(const Records *records, int index, int number, int64_t position,
                          const FlowStatus *failure);

/* Asks filter `number` of the section about the record at that position before it: *passes. One
 * that can't be made passes nowhere; why it is not rejected is the failure. */
FlowStatus records_ask(const Records *records, int index, int number, char *scratch,
                       int64_t position, bool *passes);

/* Of a feed, when its sections are opened. Whatever it returns, records_close_fed has to follow. */
FlowStatus records_open_fed(Records *records);
void records_close_fed(Records *records);

#endif
