/* Buckets: lengths are asked by all processors when the pipeline is opened, in turns of a few
 * records; a record that can't be asked is asked again when all are through, to hear why. */
#include "runtime/buckets.h"

#include "runtime/crew.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/least.h"
#include "runtime/mix.h"
#include "runtime/records_state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TURN = 64 /* records */, NOWHERE = BUCKET_LIMIT };

typedef struct Bucket {
    int64_t first, records; /* positions */
    int64_t most;           /* the longest of its records */
    int64_t *sizes;         /* of the program's bounds */
    size_t output_sizes[FIELD_LIMIT];
} Bucket;

struct Buckets {
    const FlowOrder *shuffle; /* or NULL */
    int64_t records, size;    /* size: records of a full batch */
    int64_t full, batches;
    int64_t *members; /* positions before the order, bucket by bucket, those of each in order */
    int64_t *firsts;  /* of batches: where their records begin among the members */
    int count;
    Bucket buckets[BUCKET_LIMIT];
};

/* What the threads that ask share. */
typedef struct Asking {
    const Records *records;
    const Buckets *buckets;
    int number; /* of the order */
    int64_t count;
    unsigned char *places; /* the bucket of each record */
    Holding *holding;      /* that their scratch counts for */
    _Atomic int64_t next;
    atomic_llong limit; /* records from here on are not needed: one before has failed */
    atomic_bool starved;
} Asking;

static FlowStatus no_memory(const Records *records) {
    return flow_failure(FLOW_EXIT_resource,
                        "pipeline `%s` (%s): no memory for the table of `bucket`",
                        records->pipeline->name, records->pipeline->line);
}

/* Sizes. */

static FlowStatus check_sizes(const Records *records, int bound, const int64_t *values) {
    FlowStatus status = sizes_check((Sizes){records->sizes.program, values});
    if (!status.exit) return status;
    return flow_failure(status.exit, "pipeline `%s` (%s): a bucket has %s = %lld, and %.200s",
                        records->pipeline->name, records->pipeline->line,
                        records->sizes.program->bounds[bound].name, (long long)values[bound],
                        status.text);
}

static FlowStatus set_sizes(const Records *records, int bound, int64_t size, Bucket *bucket) {
    size_t bounds = (size_t)records->sizes.program->bound_count;
    const FlowSection *section = &records->pipeline->sections[records_last_section(records)];
    bucket->sizes = held_new(bounds * sizeof *bucket->sizes);
    if (!bucket->sizes) return no_memory(records);
    memcpy(bucket->sizes, records->sizes.values, bounds * sizeof *bucket->sizes);
    bucket->sizes[bound] = size;
    for (int i = 0; i < section->output_count; i++) {
        Sizes sizes = {records->sizes.program, bucket->sizes};
        FlowType type = type_at(&section->outputs[i].type, sizes);
        bucket->output_sizes[i] = flow_type_size(&type);
    }
    return check_sizes(records, bound, bucket->sizes);
}

/* Those that are smaller than the run's own size, and one of that. */
static FlowStatus make_buckets(const Records *records, const FlowOrder *order, Buckets *buckets) {
    int64_t most = records->sizes.values[order->bound];
    FlowStatus status = flow_ok;
    for (int i = 0; i <= order->size_count && !status.exit; i++) {
        bool last = i == order->size_count || order->sizes[i] >= most;
        Bucket *bucket = &buckets->buckets[buckets->count++];
        bucket->most = last ? INT64_MAX : order->sizes[i];
        status = set_sizes(records, order->bound, last ? most : order->sizes[i], bucket);
        if (last) break;
    }
    return status;
}

/* Lengths. */

static unsigned char place_of(const Buckets *buckets, int64_t length) {
    unsigned char place = 0;
    while (buckets->buckets[place].most < length) place++;
    return place;
}

static void ask_turn(Asking *asking, int64_t first, char *scratch) {
    Maker maker = {.records = asking->records, .scratch = scratch};
    int64_t end = least(first + TURN, asking->count), length;
    for (int64_t i = first; i < end && i < asking->limit; i++) {
        bool asked = records_answer(&maker, records_last_section(asking->records), asking->number,
                                    i, &length);
        asking->places[i] = asked ? place_of(asking->buckets, length) : NOWHERE;
        if (!asked && !asking->records->rejects) least_note(&asking->limit, i);
    }
}

static char *scratch_new(const Asking *asking) {
    size_t size = asking->records->scratch + FLOW_ALIGNMENT;
    if (!holding_take(asking->holding, HOLDING_scratch, size)) return NULL;
    char *scratch = aligned_alloc(FLOW_ALIGNMENT, size);
    if (!scratch) holding_give(asking->holding, HOLDING_scratch, size);
    return scratch;
}

static void scratch_free(const Asking *asking, char *scratch) {
    if (!scratch) return;
    free(scratch);
    holding_give(asking->holding, HOLDING_scratch, asking->records->scratch + FLOW_ALIGNMENT);
}

static void *ask(void *argument) {
    Asking *asking = argument;
    char *scratch = scratch_new(asking);
    Holding *before = holding_enter(asking->holding);
    int64_t first;
    if (!scratch) asking->starved = true;
    while (!asking->starved && !interrupted() &&
           (first = atomic_fetch_add(&asking->next, TURN)) < least(asking->count, asking->limit))
        ask_turn(asking, first, scratch);
    holding_enter(before);
    scratch_free(asking, scratch);
    return NULL;
}

/* Why the record can't be asked; NOWHERE stays where it is only rejected. */
static FlowStatus ask_again(Asking *asking, int64_t position, char *scratch) {
    FlowStatus failure = flow_ok;
    Maker maker = {.records = asking->records, .scratch = scratch, .failure = &failure};
    int last = records_last_section(asking->records);
    int64_t length;
    if (!records_answer(&maker, last, asking->number, position, &length))
        return records_refuse(asking->records, last, asking->number, position, &failure);
    asking->places[position] = place_of(asking->buckets, length);
    return flow_ok;
}

static FlowStatus settle_failures(Asking *asking) {
    FlowStatus status = flow_ok;
    char *scratch = scratch_new(asking);
    if (!scratch) return no_memory(asking->records);
    for (int64_t i = 0; i < asking->count && !status.exit; i++)
        if (asking->places[i] == NOWHERE) status = ask_again(asking, i, scratch);
    scratch_free(asking, scratch);
    return status;
}

static FlowStatus ask_all(Asking *asking) {
    crew_run(ask, asking, (asking->count + TURN - 1) / TURN);
    if (interrupted())
        return flow_failure(FLOW_EXIT_interrupted, "interrupted while `bucket` asked for lengths");
    return asking->starved ? no_memory(asking->records) : settle_failures(asking);
}

/* The table. */

static void count_records(Buckets *buckets, const unsigned char *places, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (places[i] != NOWHERE) buckets->buckets[places[i]].records++;
    for (int i = 0; i < buckets->count; i++) {
        Bucket *bucket = &buckets->buckets[i];
        bucket->first = buckets->records;
        buckets->records += bucket->records;
        buckets->full += bucket->records / buckets->size;
        buckets->batches += (bucket->records + buckets->size - 1) / buckets->size;
    }
}

static void fill_tables(Buckets *buckets, const unsigned char *places, int64_t count) {
    int64_t put[BUCKET_LIMIT] = {0}, batch = 0;
    for (int64_t i = 0; i < count; i++) {
        if (places[i] == NOWHERE) continue;
        int64_t first = buckets->buckets[places[i]].first, *behind = &put[places[i]];
        buckets->members[first + (*behind)++] = i;
        if (*behind % buckets->size == 0)
            buckets->firsts[batch++] = first + *behind - buckets->size;
    }
    for (int i = 0; i < buckets->count; i++) {
        const Bucket *bucket = &buckets->buckets[i];
        int64_t rest = bucket->records % buckets->size;
        if (rest) buckets->firsts[batch++] = bucket->first + bucket->records - rest;
    }
}

static FlowStatus make_tables(const Records *records, Buckets *buckets, const unsigned char *places,
                              int64_t count) {
    count_records(buckets, places, count);
    buckets->members = held_resize(NULL, 0, ((size_t)buckets->records + 1) * sizeof(int64_t));
    buckets->firsts = held_resize(NULL, 0, ((size_t)buckets->batches + 1) * sizeof(int64_t));
    if (!buckets->members || !buckets->firsts) return no_memory(records);
    fill_tables(buckets, places, count);
    return flow_ok;
}

/* Open and close. */

static const FlowOrder *find_shuffle(const FlowSection *section) {
    for (int i = 0; i < section->order_count; i++)
        if (section->orders[i].each_epoch) return &section->orders[i];
    return NULL;
}

static FlowStatus open_tables(const Records *records, int number, int64_t count, Buckets *buckets) {
    size_t bytes = (size_t)count + 1;
    unsigned char *places = held_resize(NULL, 0, bytes);
    if (!places) return no_memory(records);
    Asking asking = {.records = records,
                     .buckets = buckets,
                     .number = number,
                     .count = count,
                     .places = places,
                     .holding = holding_here(),
                     .limit = count};
    FlowStatus status = ask_all(&asking);
    if (!status.exit) status = make_tables(records, buckets, places, count);
    free(places);
    held_give(bytes);
    return status;
}

FlowStatus buckets_open(const Records *records, int number, int64_t *count, Buckets **out) {
    const FlowSection *section = records_section(records);
    Buckets *buckets = *out = held_new(sizeof *buckets);
    if (!buckets) return no_memory(records);
    memset(buckets, 0, sizeof *buckets);
    buckets->shuffle = find_shuffle(section);
    buckets->size = records->pipeline->batch;
    FlowStatus status = make_buckets(records, &section->orders[number], buckets);
    if (!status.exit) status = open_tables(records, number, *count, buckets);
    *count = buckets->records;
    return status;
}

void buckets_close(Buckets *buckets) {
    if (!buckets) return;
    for (int i = 0; i < buckets->count; i++) free(buckets->buckets[i].sizes);
    free(buckets->members);
    free(buckets->firsts);
    free(buckets);
}

/* Batches. */

int64_t buckets_batches(const Buckets *buckets) {
    return buckets->batches;
}

static int bucket_at(const Buckets *buckets, int64_t position) {
    int bucket = 0;
    while (position >= buckets->buckets[bucket].first + buckets->buckets[bucket].records) bucket++;
    return bucket;
}

static int64_t change_place(const Buckets *buckets, const Permutation *permutation,
                            int64_t position) {
    int64_t places = (int64_t)permutation->size;
    double part = (double)places / (double)buckets->records;
    int64_t window = (int64_t)((double)buckets->shuffle->window * part);
    if (!buckets->shuffle->window) return permutation_at(permutation, position);
    return permutation_within(permutation, window ? window : 1, places, position);
}

static int64_t first_of(const Buckets *buckets, int64_t epoch, int64_t position) {
    const FlowOrder *shuffle = buckets->shuffle;
    if (!shuffle || position >= buckets->full) return buckets->firsts[position];
    Permutation permutation = permutation_new(buckets->full, mix(shuffle->number), epoch);
    return buckets->firsts[change_place(buckets, &permutation, position)];
}

BatchPlace buckets_batch(const Buckets *buckets, int64_t epoch, int64_t position) {
    int64_t first = first_of(buckets, epoch, position);
    int bucket = bucket_at(buckets, first);
    int64_t left = buckets->buckets[bucket].first + buckets->buckets[bucket].records - first;
    return (BatchPlace){first, least(left, buckets->size), bucket};
}

const int64_t *buckets_sizes(const Buckets *buckets, int bucket) {
    return buckets->buckets[bucket].sizes;
}

const size_t *buckets_output_sizes(const Buckets *buckets, int bucket) {
    return buckets->buckets[bucket].output_sizes;
}

/* Shuffles. */

Permutation buckets_permutation(const Buckets *buckets, int64_t epoch, int bucket) {
    const FlowOrder *shuffle = buckets->shuffle;
    if (!shuffle || bucket < 0) return (Permutation){0};
    uint64_t seed = mix(shuffle->number) + (uint64_t)bucket + 1;
    return permutation_new(buckets->buckets[bucket].records, seed, epoch);
}

void buckets_shuffle(const Buckets *buckets, const Permutation *permutation, int64_t *positions,
                     int count) {
    if (!permutation->size || !count) return;
    int64_t first = buckets->buckets[bucket_at(buckets, positions[0])].first;
    for (int i = 0; i < count; i++)
        positions[i] = first + change_place(buckets, permutation, positions[i] - first);
}

void buckets_find_each(const Buckets *buckets, int64_t *positions, int count) {
    for (int i = 0; i < count; i++) positions[i] = buckets->members[positions[i]];
}
