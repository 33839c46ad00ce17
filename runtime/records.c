/* Records: each section of a pipeline goes back from its record to those it is made of, down to the
 * source. Nothing but the passing records of a filter is stored; so any record can be asked for at
 * any time, and is the same whoever asks. */
#include "runtime/records_state.h"

#include "runtime/cost.h"
#include "runtime/device/gpus.h"
#include "runtime/key.h"
#include "runtime/least.h"
#include "runtime/mix.h"
#include "runtime/shards.h"

#include <stdio.h>
#include <string.h>

enum {
    PLACE_SIZE = 384, /* bytes of the text that says where a record comes from */
    NUMBER_SIZE = 32,
};

/* From positions to records. */

static void through_shuffle(const FlowOrder *order, const OrderState *state,
                            const Permutation *shuffle, int64_t *positions, int count) {
    const Permutation *permutation = order->each_epoch ? shuffle : &state->permutation;
    if (!order->window) permutation_each(permutation, positions, count);
    else
        for (int i = 0; i < count; i++)
            positions[i] = permutation_within(permutation, order->window, atomic_load(&state->end),
                                              positions[i]);
}

static void through_order(const Records *records, const FlowOrder *order, const OrderState *state,
                          const Permutation *shuffle, int64_t *positions, int count) {
    switch (order->kind) {
    case FLOW_ORDER_shuffle:
        if (records->buckets && order->each_epoch)
            buckets_shuffle(records->buckets, shuffle, positions, count);
        else through_shuffle(order, state, shuffle, positions, count);
        break;
    case FLOW_ORDER_bucket: buckets_find_each(records->buckets, positions, count); break;
    case FLOW_ORDER_take: break;
    case FLOW_ORDER_skip:
        for (int i = 0; i < count; i++) positions[i] += (int64_t)order->number;
        break;
    case FLOW_ORDER_filter:
        for (int i = 0; i < count; i++)
            positions[i] =
                state->sieve ? sieve_at(state->sieve, positions[i]) : state->passing[positions[i]];
        break;
    }
}

void records_through_each(const Records *records, int index, int orders, const Permutation *shuffle,
                          int64_t *positions, int count) {
    for (int i = orders; i-- > 0;)
        through_order(records, &records_section_at(records, index)->orders[i],
                      &records->sections[index].orders[i], shuffle, positions, count);
}

/* From records to values. */

static bool make(const Maker *maker, int index, int64_t record, void *const *outputs);

bool records_make_at(const Maker *maker, int index, int64_t position, void *const *outputs) {
    int orders = records_section_at(maker->records, index)->order_count;
    int64_t found = records_through(maker->records, index, orders, NULL, position);
    return make(maker, index, found, outputs);
}

/* The record at one place of a window, into that place of the arrays. */
static bool make_part(const Maker *maker, int index, int64_t record, int64_t part,
                      const void *const *arrays) {
    const FlowSection *section = records_section_at(maker->records, index);
    const FlowSection *before = records_section_at(maker->records, index - 1);
    void *outputs[FIELD_LIMIT];
    for (int i = 0; i < before->output_count; i++)
        outputs[i] =
            (char *)arrays[i] + (size_t)part * maker->records->sections[index - 1].output_sizes[i];
    return records_make_at(maker, index - 1, record * section->stride + part, outputs);
}

static bool make_window(const Maker *maker, int index, int64_t record, const void **values) {
    const Records *records = maker->records;
    const FlowSection *section = records_section_at(records, index);
    if (section->packs) {
        pack_read(records->sections[index].pack, record * section->stride, section->window,
                  (int32_t *)values[0]);
        return true;
    }
    for (int64_t part = 0; part < section->window; part++)
        if (!make_part(maker, index, record, part, values)) return false;
    return true;
}

static uint64_t seed_of(const Records *records, int64_t record) {
    return mix(records->first_seed + (uint64_t)record);
}

/* Has the source make the record, or point at what it holds. */
static bool ask_source(const Maker *maker, int64_t record, const void **values) {
    const Records *records = maker->records;
    key_set(mix(seed_of(records, record) + mix((uint64_t)maker->epoch)));
    return records->pipeline->source->make(records->reader, record, (void *const *)values,
                                           maker->failure);
}

static bool ask(const Maker *maker, int64_t record, const void **values) {
    const Records *records = maker->records;
    if (records->joined)
        return joined_make(records->joined, record, maker->epoch,
                           maker->scratch + records->joined_scratch, values, maker->failure);
    CostPart before = cost_enter(COST_source);
    bool made = ask_source(maker, record, values);
    cost_enter(before);
    return made;
}

/* Does the source hold what the section's records are made of? */
static bool points(const Records *records, int index) {
    return index ? records->sections[index].direct : records->points;
}

/* Points values[0], values[stride] … at a field of each of the records, which the source holds. */
static void point_each(const Records *records, int index, int field, const int64_t *list, int count,
                       const void **values, int stride) {
    const char *first = records->firsts[field];
    int64_t step = index ? records_section_at(records, index)->stride : 1;
    size_t size = records->sections[0].field_sizes[field] * (size_t)step;
    for (int i = 0; i < count; i++) values[i * stride] = first + (size_t)list[i] * size;
}

/* Points at what the record is made of; turn: its number among those that are made together. */
static bool gather(const Maker *maker, int index, int64_t record, int turn, const void **values) {
    const Records *records = maker->records;
    const FlowSection *section = records_section_at(records, index);
    if (points(records, index)) {
        for (int i = 0; i < section->field_count; i++)
            point_each(records, index, i, &record, 1, &values[i], 1);
        return true;
    }
    const SectionState *state = &records->sections[index];
    for (int i = 0; i < section->field_count; i++)
        values[i] = maker->scratch + state->offsets[i] +
                    (size_t)turn * records_aligned(state->field_sizes[i]);
    if (index) return make_window(maker, index, record, values);
    return ask(maker, record, values);
}

/* Where the section's record comes from; where: what it is called else. */
static void locate(const Maker *maker, int index, int64_t record, const char *where, char *text,
                   size_t size) {
    const Records *records = maker->records;
    const FlowSource *source = records->pipeline->source;
    if (index == 0 && records->joined)
        joined_locate(records->joined, record, maker->epoch, text, size);
    else if (index == 0 && source->locate) source->locate(records->reader, record, text, size);
    else snprintf(text, size, "%s: record %lld", where, (long long)record);
}

static void write_unmet(const FlowUnmet *unmet, char *text, size_t size) {
    if (unmet->is_whole) snprintf(text, size, "%lld", (long long)unmet->whole);
    else snprintf(text, size, "%.9g", unmet->real);
}

static FlowStatus check_failure(const Maker *maker, int index, const FlowCheck *check,
                                const FlowUnmet *unmet, int64_t record) {
    const Records *records = maker->records;
    const FlowField *fields = records_section_at(records, index)->fields;
    const FlowField *field = check->field < 0 ? NULL : &fields[check->field];
    const char *where = !field ? records->pipeline->name : field->path ? field->path : field->name;
    char place[PLACE_SIZE], value[NUMBER_SIZE];
    locate(maker, index, record, where, place, sizeof place);
    write_unmet(unmet, value, sizeof value);
    return flow_failure(FLOW_EXIT_data, "%s: %s, but is %s (%s)", place, check->text, value,
                        check->line);
}

/* A compiled function, and what it is called with. */
typedef struct Computation {
    FlowRecordFunction function;
    const FlowCheck *checks;
    const int64_t *sizes;
} Computation;

/* Points at what a record function is given beside the fields of a record. */
static void point_beside(const Maker *maker, int index, int64_t record, const void **values,
                         int64_t *seed) {
    int count = records_section_at(maker->records, index)->field_count;
    *seed = (int64_t)seed_of(maker->records, record);
    values[count] = seed;
    values[count + 1] = &maker->epoch;
}

static FlowStatus compute_failure(const Maker *maker, int index, const FlowCheck *checks,
                                  const FlowUnmet *unmet, int64_t record) {
    if (unmet->check == FLOW_NOT_MADE) return gpus_status();
    return check_failure(maker, index, &checks[unmet->check], unmet, record);
}

/* Returns how many of the listed records were made; fewer: *maker->failure says why. */
static int64_t compute_each(const Maker *maker, int index, const Computation *computation,
                            const int64_t *list, const FlowRows *rows) {
    FlowUnmet unmet;
    CostPart before = cost_enter(COST_record + index);
    int64_t made = computation->function(maker->scratch, computation->sizes, rows, &unmet);
    cost_enter(before);
    if (made < rows->count && maker->failure)
        *maker->failure = compute_failure(maker, index, computation->checks, &unmet, list[made]);
    return made;
}

static bool compute(const Maker *maker, int index, const Computation *computation, int64_t record,
                    void *const *outputs) {
    const void *values[FIELD_LIMIT + 2];
    int64_t seed;
    const FlowRows rows = {.count = 1, .fields = values, .outputs = outputs};
    point_beside(maker, index, record, values, &seed);
    return gather(maker, index, record, 0, values) &&
           compute_each(maker, index, computation, &record, &rows);
}

bool records_answer(const Maker *maker, int index, int number, int64_t position, void *answer) {
    const Records *records = maker->records;
    const FlowOrder *order = &records_section_at(records, index)->orders[number];
    int64_t record = records_through(records, index, number, NULL, position);
    const Computation computation = {order->condition, order->checks, records->sizes.values};
    return compute(maker, index, &computation, record, (void *const[]){answer});
}

FlowStatus records_refuse(const Records *records, int index, int number, int64_t position,
                          const FlowStatus *failure) {
    int64_t record = records_through(records, index, number, NULL, position);
    return rejects_add(records->rejects, records->pipeline->name, record, failure);
}

FlowStatus records_ask(const Records *records, int index, int number, char *scratch,
                       int64_t position, bool *passes) {
    FlowStatus failure = flow_ok;
    Maker maker = {.records = records, .scratch = scratch, .failure = &failure};
    if (records_answer(&maker, index, number, position, passes)) {
        rejects_made(records->rejects);
        return flow_ok;
    }
    *passes = false;
    return records_refuse(records, index, number, position, &failure);
}

static bool copy(const Maker *maker, int index, int64_t record, void *const *outputs) {
    const Records *records = maker->records;
    const FlowSection *section = records_section_at(records, index);
    bool made_there = index == 0 && !records->points;
    const void *values[FIELD_LIMIT];
    for (int i = 0; i < section->output_count; i++) values[i] = outputs[i];
    bool made = made_there ? ask(maker, record, values) : gather(maker, index, record, 0, values);
    for (int i = 0; made && i < section->output_count; i++)
        if (values[i] != outputs[i])
            memcpy(outputs[i], values[i], records->sections[index].output_sizes[i]);
    return made;
}

static Computation computation_of(const Maker *maker, int index) {
    const FlowSection *section = records_section_at(maker->records, index);
    bool own = maker->sizes && index == records_last_section(maker->records);
    return (Computation){section->record, section->checks,
                         own ? maker->sizes : maker->records->sizes.values};
}

static bool make(const Maker *maker, int index, int64_t record, void *const *outputs) {
    const Computation computation = computation_of(maker, index);
    return computation.function ? compute(maker, index, &computation, record, outputs)
                                : copy(maker, index, record, outputs);
}

/* Of the pipeline. */

int64_t records_count(const Records *records) {
    return records->count;
}

const FlowSection *records_section(const Records *records) {
    return records_section_at(records, records_last_section(records));
}

const size_t *records_output_sizes(const Records *records, int bucket) {
    if (records->buckets) return buckets_output_sizes(records->buckets, bucket);
    return records->sections[records_last_section(records)].output_sizes;
}

const int64_t *records_sizes(const Records *records, int bucket) {
    return records->buckets ? buckets_sizes(records->buckets, bucket) : records->sizes.values;
}

int64_t records_batches(const Records *records) {
    int64_t size = records->pipeline->batch;
    if (records->count < 0) return -1;
    return records->buckets ? buckets_batches(records->buckets)
                            : (records->count + size - 1) / size;
}

BatchPlace records_batch(const Records *records, int64_t epoch, int64_t position) {
    int64_t size = records->pipeline->batch, first = position * size, left = records->count - first;
    if (records->buckets) return buckets_batch(records->buckets, epoch, position);
    return (BatchPlace){.first = first, .records = left < size ? left : size};
}

size_t records_scratch(const Records *records) {
    return records->scratch;
}

Permutation records_shuffle(const Records *records, int64_t epoch, int bucket) {
    const FlowSection *section = records_section_at(records, records_last_section(records));
    if (records->buckets) return buckets_permutation(records->buckets, epoch, bucket);
    for (int i = 0; i < section->order_count; i++)
        if (section->orders[i].each_epoch)
            return permutation_new((int64_t)records->sections[records_last_section(records)]
                                       .orders[i]
                                       .permutation.size,
                                   section->orders[i].number, epoch);
    return (Permutation){0};
}

bool records_are_dealt(const Records *records) {
    const FlowSection *section = records_section(records);
    bool dealt = records->joined && joined_is_dealt(records->joined);
    for (int i = 0; i < section->order_count; i++) dealt |= section->orders[i].each_epoch;
    return dealt;
}

void records_find_each(const Records *records, const Permutation *shuffle, int64_t *positions,
                       int count) {
    int last = records_last_section(records);
    records_through_each(records, last, records_section_at(records, last)->order_count, shuffle,
                         positions, count);
}

int64_t records_find(const Records *records, const Permutation *shuffle, int64_t position) {
    records_find_each(records, shuffle, &position, 1);
    return position;
}

static void prefetch_source(const Records *records, int64_t record, int64_t epoch) {
    if (records->joined) joined_prefetch(records->joined, record, epoch);
    else if (records->pipeline->source->prefetch)
        records->pipeline->source->prefetch(records->reader, record);
}

void records_prefetch(const Records *records, int64_t record, int64_t epoch) {
    int last = records_last_section(records);
    if (!points(records, last)) {
        if (last == 0) prefetch_source(records, record, epoch);
        return;
    }
    for (int i = 0; i < records_section_at(records, last)->field_count; i++) {
        const void *value;
        point_each(records, last, i, &record, 1, &value, 1);
        shard_prefetch(value, records->sections[last].field_sizes[i]);
    }
}

bool records_make(const Records *records, int64_t record, int64_t epoch, int bucket, char *scratch,
                  void *const *outputs, FlowStatus *failure) {
    Maker maker = {records, epoch, scratch, failure, records_sizes(records, bucket)};
    return make(&maker, records_last_section(records), record, outputs);
}

/* Several at a time. */

/* Of each record those of its fields, its seed and the epoch. */
typedef struct Row {
    const void *values[FIELD_LIMIT + 2];
} Row;

/* One call of the record function for the first `count` of the list, which asks for those known
 * behind them. */
static int compute_rows(const Maker *maker, const RecordList *list, int count, int known, Row *rows,
                        void *const *outputs) {
    enum { MOST = RECORDS_AT_ONCE + FLOW_ROWS_AHEAD };
    int last = records_last_section(maker->records);
    int64_t seeds[MOST];
    for (int i = 0; i < known; i++)
        point_beside(maker, last, list->records[i], rows[i].values, &seeds[i]);
    const FlowRows given = {.count = count,
                            .ahead = known - count,
                            .fields = rows->values,
                            .stride = sizeof *rows / sizeof *rows->values,
                            .outputs = outputs};
    const Computation computation = computation_of(maker, last);
    return (int)compute_each(maker, last, &computation, list->records, &given);
}

/* Of what the source holds. */
static int make_pointed(const Maker *maker, const RecordList *list, void *const *outputs) {
    Row rows[RECORDS_AT_ONCE + FLOW_ROWS_AHEAD];
    int last = records_last_section(maker->records);
    int known = (int)least(list->known, list->count + FLOW_ROWS_AHEAD);
    for (int i = 0; i < records_section_at(maker->records, last)->field_count; i++)
        point_each(maker->records, last, i, list->records, known, &rows->values[i],
                   sizeof *rows / sizeof *rows->values);
    return compute_rows(maker, list, list->count, known, rows, outputs);
}

/* Of one behind its neighbour the processor itself asks. */
static void ask_ahead(const Maker *maker, const RecordList *list, int asked) {
    if (asked < list->known && list->records[asked] != list->records[asked - 1] + 1)
        records_prefetch(maker->records, list->records[asked], maker->epoch);
}

/* Small records that the source makes lie in a row of so many bytes. */
enum { SMALL_RECORD = 128 };

/* Where each field lies in the row; returns its bytes. */
static size_t place_in_row(const Records *records, size_t *places) {
    enum { BOUNDARY = 8 };
    size_t size = 0;
    for (int i = 0; i < records_section_at(records, 0)->field_count; i++) {
        places[i] = size;
        size += (records->sections[0].field_sizes[i] + BOUNDARY - 1) / BOUNDARY * BOUNDARY;
    }
    return size;
}

/* The source makes those of the list, then all are computed. */
static int make_small(const Maker *maker, const RecordList *list, const size_t *places,
                      void *const *outputs) {
    _Alignas(FLOW_ALIGNMENT) char made[RECORDS_AT_ONCE][SMALL_RECORD];
    Row rows[RECORDS_AT_ONCE];
    int count = 0, fields = records_section_at(maker->records, 0)->field_count;
    CostPart before = cost_enter(COST_source);
    for (; count < list->count; count++) {
        ask_ahead(maker, list, count + FLOW_ROWS_AHEAD);
        for (int i = 0; i < fields; i++) rows[count].values[i] = made[count] + places[i];
        if (!ask_source(maker, list->records[count], rows[count].values)) break;
    }
    cost_enter(before);
    return count ? compute_rows(maker, list, count, count, rows, outputs) : 0;
}

/* Of what is gathered for each, one behind the other. */
static int make_gathered(const Maker *maker, const RecordList *list, void *const *outputs) {
    Row rows[RECORDS_AT_ONCE];
    int last = records_last_section(maker->records), count = 0;
    while (count < list->count &&
           gather(maker, last, list->records[count], count, rows[count].values))
        count++;
    return count ? compute_rows(maker, list, count, count, rows, outputs) : 0;
}

/* On GPUs: as many at a time as they take. */
static int make_by_gpus(const Maker *maker, const RecordList *list, const size_t *sizes,
                        void *const *outputs) {
    const FlowSection *section =
        records_section_at(maker->records, records_last_section(maker->records));
    int made = 0, wanted = 0;
    void *rows[FIELD_LIMIT];
    while (made == wanted && made < list->count) {
        int count = (int)least(section->together, list->count - made);
        const RecordList part = {.records = list->records + made, .count = count, .known = count};
        for (int i = 0; i < section->output_count; i++)
            rows[i] = (char *)outputs[i] + (size_t)made * sizes[i];
        wanted += count;
        made += make_gathered(maker, &part, rows);
    }
    return made;
}

/* sizes: bytes of each output. */
static int make_one_by_one(const Maker *maker, const RecordList *list, const size_t *sizes,
                           void *const *outputs) {
    const Records *records = maker->records;
    int last = records_last_section(records), made = 0;
    void *row[FIELD_LIMIT];
    for (; made < list->count; made++) {
        ask_ahead(maker, list, made + FLOW_ROWS_AHEAD);
        for (int i = 0; i < records_section_at(records, last)->output_count; i++)
            row[i] = (char *)outputs[i] + (size_t)made * sizes[i];
        if (!make(maker, last, list->records[made], row)) break;
    }
    return made;
}

int records_make_each(const Records *records, const RecordList *list, int64_t epoch, int bucket,
                      char *scratch, void *const *outputs, FlowStatus *failure) {
    int last = records_last_section(records);
    Maker maker = {records, epoch, scratch, failure, records_sizes(records, bucket)};
    for (int i = list->asked; i < least(list->known, FLOW_ROWS_AHEAD); i++)
        records_prefetch(records, list->records[i], epoch);
    bool computes = records_section_at(records, last)->record != NULL;
    if (records_section_at(records, last)->together)
        return make_by_gpus(&maker, list, records_output_sizes(records, bucket), outputs);
    if (computes && points(records, last)) return make_pointed(&maker, list, outputs);
    size_t places[FIELD_LIMIT];
    if (computes && last == 0 && !records->joined && place_in_row(records, places) <= SMALL_RECORD)
        return make_small(&maker, list, places, outputs);
    return make_one_by_one(&maker, list, records_output_sizes(records, bucket), outputs);
}

void records_locate(const Records *records, int64_t record, int64_t epoch, char *text,
                    size_t size) {
    Maker maker = {.records = records, .epoch = epoch};
    int last = records_last_section(records);
    const char *path = last ? NULL : records_section_at(records, 0)->fields[0].path;
    locate(&maker, last, record, path ? path : records->pipeline->name, text, size);
}

/* A window over records that stand elsewhere in another epoch is one of them all. */
static int64_t identity_of(const Records *records, int index, int64_t record, int64_t epoch) {
    if (!index) return joined_identity(records->joined, record, epoch);
    const FlowSection *section = records_section_at(records, index);
    int orders = records_section_at(records, index - 1)->order_count;
    uint64_t identity = section->packs ? (uint64_t)record : 0;
    for (int64_t part = 0; part < section->window && !section->packs; part++) {
        int64_t position = record * section->stride + part;
        int64_t before = records_through(records, index - 1, orders, NULL, position);
        identity = mix(identity + (uint64_t)identity_of(records, index - 1, before, epoch));
    }
    return (int64_t)(identity >> 1);
}

int64_t records_identity(const Records *records, int64_t record, int64_t epoch) {
    int last = records_last_section(records);
    return records->joined ? identity_of(records, last, record, epoch) : record;
}
