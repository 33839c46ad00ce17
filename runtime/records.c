/* Records: each section of a pipeline goes back from its record to those it is made of, down to the
 * source. Nothing but the passing records of a filter is stored; so any record can be asked for at
 * any time, and is the same whoever asks. */
#include "runtime/records.h"

#include "runtime/feed.h"
#include "runtime/key.h"
#include "runtime/mix.h"
#include "runtime/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECTION_LIMIT = 8,
    ORDER_LIMIT = 16,
    PLACE_SIZE = 384,      /* bytes of the text that says where a record comes from */
    LINE = 64,             /* bytes that one prefetch brings */
    PREFETCH_LIMIT = 1024, /* bytes; the hardware goes on by itself */
};

typedef struct OrderState {
    Permutation permutation; /* of epoch 0 */
    int64_t *passing;        /* filter: the records that meet its condition */
} OrderState;

typedef struct SectionState {
    FlowSection section; /* with the paths that were found and sizes that are known */
    FlowField fields[FIELD_LIMIT], outputs[FIELD_LIMIT];
    bool direct;                 /* windows of what the source holds: nothing is copied */
    size_t offsets[FIELD_LIMIT]; /* in scratch, of the fields that have to be made */
    OrderState orders[ORDER_LIMIT];
} SectionState;

struct Records {
    const FlowPipeline *pipeline;
    Sizes sizes;
    FlowReader *reader;
    Feed *feed;       /* or NULL */
    Rejects *rejects; /* the same */
    bool points;      /* the source points at its values; else it makes them */
    int64_t seed;
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
} Maker;

static const FlowSection *section_at(const Records *records, int index) {
    return &records->sections[index].section;
}

static int last_section(const Records *records) {
    return records->pipeline->section_count - 1;
}

/* From positions to records. */

/* Through the first `orders` orders of the section. shuffle: that of the epoch. */
static int64_t find(const Records *records, int index, int orders, const Permutation *shuffle,
                    int64_t position) {
    for (int i = orders; i-- > 0;) {
        const FlowOrder *order = &section_at(records, index)->orders[i];
        const OrderState *state = &records->sections[index].orders[i];
        switch (order->kind) {
        case FLOW_ORDER_shuffle:
            position = permutation_at(order->each_epoch ? shuffle : &state->permutation, position);
            break;
        case FLOW_ORDER_take: break;
        case FLOW_ORDER_skip: position += (int64_t)order->number; break;
        case FLOW_ORDER_filter: position = state->passing[position]; break;
        }
    }
    return position;
}

/* From records to values. */

static bool make(const Maker *maker, int index, int64_t record, void *const *outputs);

/* The record at one place of a window, into that place of the arrays. */
static bool make_part(const Maker *maker, int index, int64_t record, int64_t part,
                      const void *const *arrays) {
    const FlowSection *section = section_at(maker->records, index);
    const FlowSection *before = section_at(maker->records, index - 1);
    void *outputs[FIELD_LIMIT];
    for (int i = 0; i < before->output_count; i++)
        outputs[i] = (char *)arrays[i] + (size_t)part * flow_type_size(&before->outputs[i].type);
    int64_t position = record * section->stride + part;
    int64_t found = find(maker->records, index - 1, before->order_count, NULL, position);
    return make(maker, index - 1, found, outputs);
}

static bool make_window(const Maker *maker, int index, int64_t record, const void **values) {
    const Records *records = maker->records;
    const FlowSection *section = section_at(records, index);
    if (records->sections[index].direct) {
        records->pipeline->source->read(records->reader, record * section->stride, values);
        return true;
    }
    for (int64_t part = 0; part < section->window; part++)
        if (!make_part(maker, index, record, part, values)) return false;
    return true;
}

static uint64_t seed_of(const Records *records, int64_t record) {
    return mix(mix((uint64_t)records->seed) + (uint64_t)record);
}

/* Has the source make the record. */
static bool ask(const Maker *maker, int64_t record, void *const *values) {
    key_set(mix(seed_of(maker->records, record) + mix((uint64_t)maker->epoch)));
    return maker->records->pipeline->source->make(maker->records->reader, record, values,
                                                  maker->failure);
}

/* Points at what the record is made of. */
static bool gather(const Maker *maker, int index, int64_t record, const void **values) {
    const Records *records = maker->records;
    const FlowSource *source = records->pipeline->source;
    const FlowSection *section = section_at(records, index);
    if (index == 0 && records->points) {
        source->read(records->reader, record, values);
        return true;
    }
    for (int i = 0; i < section->field_count && !records->sections[index].direct; i++)
        values[i] = maker->scratch + records->sections[index].offsets[i];
    if (index) return make_window(maker, index, record, values);
    return ask(maker, record, (void *const *)values);
}

static FlowStatus check_failure(const Records *records, int index, const FlowCheck *check,
                                int64_t record) {
    const FlowSource *source = records->pipeline->source;
    const FlowField *fields = section_at(records, index)->fields;
    const FlowField *field = check->field < 0 ? NULL : &fields[check->field];
    const char *where = !field ? records->pipeline->name : field->path ? field->path : field->name;
    char place[PLACE_SIZE];
    if (index == 0 && source->locate) source->locate(records->reader, record, place, sizeof place);
    else snprintf(place, sizeof place, "%s: record %lld", where, (long long)record);
    return flow_failure(FLOW_EXIT_data, "%s: %s (%s)", place, check->text, check->line);
}

/* Runs a record function of the section. */
static bool compute(const Maker *maker, int index, int64_t record, FlowRecordFunction function,
                    const FlowCheck *checks, void *const *outputs) {
    const void *values[FIELD_LIMIT + 2];
    int count = section_at(maker->records, index)->field_count;
    int64_t seed = (int64_t)seed_of(maker->records, record);
    if (!gather(maker, index, record, values)) return false;
    values[count] = &seed;
    values[count + 1] = &maker->epoch;
    int failed = function(maker->scratch, maker->records->sizes.values, values, outputs);
    if (!failed) return true;
    if (maker->failure)
        *maker->failure = check_failure(maker->records, index, &checks[failed - 1], record);
    return false;
}

static bool copy(const Maker *maker, int index, int64_t record, void *const *outputs) {
    const FlowSection *section = section_at(maker->records, index);
    const void *values[FIELD_LIMIT];
    if (index == 0 && !maker->records->points) return ask(maker, record, outputs);
    if (!gather(maker, index, record, values)) return false;
    for (int i = 0; i < section->output_count; i++)
        memcpy(outputs[i], values[i], flow_type_size(&section->outputs[i].type));
    return true;
}

static bool make(const Maker *maker, int index, int64_t record, void *const *outputs) {
    const FlowSection *section = section_at(maker->records, index);
    return section->record
               ? compute(maker, index, record, section->record, section->checks, outputs)
               : copy(maker, index, record, outputs);
}

/* Opening: how many records each order leaves. */

static const char *const order_names[] = {"shuffle", "take", "skip", "filter"};

static FlowStatus no_memory(const Records *records) {
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", records->pipeline->name);
}

/* Fills state->passing from the `count` records that stand before the filter. */
static FlowStatus run_filter(Records *records, int index, int number, char *scratch,
                             int64_t *count) {
    const FlowOrder *order = &section_at(records, index)->orders[number];
    OrderState *state = &records->sections[index].orders[number];
    FlowStatus failure = flow_ok;
    Maker maker = {.records = records, .scratch = scratch, .failure = &failure};
    int64_t passing = 0;
    state->passing = calloc((size_t)*count + 1, sizeof *state->passing);
    if (!state->passing) return no_memory(records);
    for (int64_t position = 0; position < *count; position++) {
        bool passes = false;
        int64_t record = find(records, index, number, NULL, position);
        bool asked = compute(&maker, index, record, order->condition, order->checks,
                             (void *const[]){&passes});
        if (!asked && !records->rejects) return failure;
        FlowStatus status = asked ? flow_ok : rejects_add(records->rejects, record, &failure);
        if (status.exit) return status;
        if (asked && passes) state->passing[passing++] = position;
    }
    *count = passing;
    return flow_ok;
}

static FlowStatus nothing_left(const Records *records, const char *after) {
    return flow_failure(FLOW_EXIT_data, "pipeline `%s` (%s): no record is left after `%s`",
                        records->pipeline->name, records->pipeline->line, after);
}

static FlowStatus open_order(Records *records, int index, int number, char *scratch,
                             int64_t *count) {
    const FlowOrder *order = &section_at(records, index)->orders[number];
    OrderState *state = &records->sections[index].orders[number];
    FlowStatus status = flow_ok;
    int64_t wanted = (int64_t)order->number;
    switch (order->kind) {
    case FLOW_ORDER_shuffle: state->permutation = permutation_new(*count, order->number, 0); break;
    case FLOW_ORDER_take: *count = *count < wanted ? *count : wanted; break;
    case FLOW_ORDER_skip: *count -= *count < wanted ? *count : wanted; break;
    case FLOW_ORDER_filter: status = run_filter(records, index, number, scratch, count); break;
    }
    return status.exit || *count ? status : nothing_left(records, order_names[order->kind]);
}

/* Of a feed nobody knows how many there are, nor where one will stand. */
static FlowStatus check_orders(const Records *records, int index) {
    const FlowSection *section = section_at(records, index);
    for (int i = 0; i < section->order_count; i++) {
        FlowOrderKind kind = section->orders[i].kind;
        if (kind == FLOW_ORDER_shuffle || kind == FLOW_ORDER_filter)
            return flow_failure(FLOW_EXIT_usage,
                                "pipeline `%s` (%s): `%s` asks for all records, and those of "
                                "standard input come one after the other",
                                records->pipeline->name, records->pipeline->line,
                                order_names[kind]);
    }
    return flow_ok;
}

/* Does a window of the section only point at what the source holds? */
static bool is_direct(const Records *records, int index) {
    const FlowSection *before = section_at(records, 0);
    return index == 1 && !before->record && !before->order_count && records->points;
}

static size_t aligned(size_t size) {
    return (size + FLOW_ALIGNMENT - 1) / FLOW_ALIGNMENT * FLOW_ALIGNMENT;
}

/* Where the section's fields are made, behind those of the sections before. */
static void place_fields(Records *records, int index) {
    const FlowSection *section = section_at(records, index);
    for (int i = 0; i < section->field_count; i++) {
        size_t size = flow_type_size(&section->fields[i].type);
        records->sections[index].offsets[i] = records->scratch;
        records->scratch += aligned(size);
    }
}

static FlowStatus check_window(const Records *records, const FlowSection *section) {
    if (section->window >= 1 && section->stride >= 1) return flow_ok;
    return flow_failure(FLOW_EXIT_usage,
                        "pipeline `%s` (%s): with these sizes a window has %lld records, and its "
                        "stride is %lld",
                        records->pipeline->name, records->pipeline->line,
                        (long long)section->window, (long long)section->stride);
}

static int64_t windows_in(const FlowSection *section, int64_t count) {
    return count < section->window ? 0 : (count - section->window) / section->stride + 1;
}

static FlowStatus open_section(Records *records, int index, int64_t *count) {
    const FlowSection *section = section_at(records, index);
    FlowStatus status = check_window(records, section);
    if (status.exit) return status;
    records->sections[index].direct = is_direct(records, index);
    place_fields(records, index);
    if (records->feed) return check_orders(records, index);
    if (index) *count = windows_in(section, *count);
    if (!*count) return nothing_left(records, "window");
    char *scratch = aligned_alloc(FLOW_ALIGNMENT, records->scratch + FLOW_ALIGNMENT);
    status = scratch ? flow_ok : no_memory(records);
    for (int i = 0; i < section->order_count && !status.exit; i++)
        status = open_order(records, index, i, scratch, count);
    free(scratch);
    return status;
}

static void copy_fields(const Records *records, const FlowField *from, int count, FlowField *to) {
    for (int i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].type = type_at(&from[i].type, records->sizes);
        to[i].path = NULL;
    }
}

static void copy_sections(Records *records) {
    for (int i = 0; i < records->pipeline->section_count; i++) {
        const FlowSection *from = &records->pipeline->sections[i];
        SectionState *state = &records->sections[i];
        copy_fields(records, from->fields, from->field_count, state->fields);
        copy_fields(records, from->outputs, from->output_count, state->outputs);
        state->section = *from;
        state->section.window = size_at(from->window, records->sizes);
        state->section.stride = size_at(from->stride, records->sizes);
        state->section.fields = state->fields;
        state->section.outputs = state->outputs;
    }
}

static FlowStatus check_standard_input(const Records *records, const char *path) {
    const FlowSource *source = records->pipeline->source;
    if (!path_is_standard_input(path) || source->feed) return flow_ok;
    return flow_failure(FLOW_EXIT_usage,
                        "pipeline `%s` (%s): `%s` looks up any record, which standard input does "
                        "not let it; `lines` reads it",
                        records->pipeline->name, records->pipeline->line, source->name);
}

static FlowStatus find_files(Records *records, const Places *places) {
    const FlowPipeline *pipeline = records->pipeline;
    FlowStatus status = flow_ok;
    for (int i = 0; i < pipeline->sections[0].field_count && !status.exit; i++) {
        const FlowField *field = &pipeline->sections[0].fields[i];
        const char *path = path_said(places, field->path, field->option);
        char *found = NULL;
        if (path) status = check_standard_input(records, path);
        if (path && !status.exit)
            status = pipeline->source->finds_many ? path_find_many(path, places->folder, &found)
                                                  : path_find(path, places->folder, &found);
        records->sections[0].fields[i].path = found;
    }
    return status;
}

static bool can_point(const FlowSource *source, const FlowReader *reader) {
    return source->read && (!source->points || source->points(reader));
}

static FlowStatus open_all(Records *records, const Places *places) {
    const FlowPipeline *pipeline = records->pipeline;
    FlowStatus status = find_files(records, places);
    if (!status.exit)
        status =
            pipeline->source->open(records->sections[0].fields, section_at(records, 0)->field_count,
                                   &pipeline->arguments, &records->reader);
    if (status.exit) return status;
    records->points = can_point(pipeline->source, records->reader);
    if (pipeline->source->feed) records->feed = pipeline->source->feed(records->reader);
    int64_t count = records->feed ? -1 : pipeline->source->records(records->reader);
    for (int i = 0; i < pipeline->section_count && !status.exit; i++) {
        status = open_section(records, i, &count);
        records->count = count;
    }
    return status;
}

static bool is_within_limits(const FlowPipeline *pipeline) {
    bool good = pipeline->section_count >= 1 && pipeline->section_count <= SECTION_LIMIT;
    for (int i = 0; good && i < pipeline->section_count; i++) {
        const FlowSection *section = &pipeline->sections[i];
        good = section->field_count <= FIELD_LIMIT && section->output_count <= FIELD_LIMIT &&
               section->order_count <= ORDER_LIMIT;
    }
    return good;
}

FlowStatus records_open(const FlowPipeline *pipeline, Places places, Sizes sizes, int64_t seed,
                        Rejects *rejects, Records **out) {
    *out = NULL;
    if (!is_within_limits(pipeline))
        return flow_failure(FLOW_EXIT_internal, "pipeline `%s` (%s) is too large for the runtime",
                            pipeline->name, pipeline->line);
    size_t count = (size_t)pipeline->section_count;
    Records *records = calloc(1, sizeof *records + count * sizeof *records->sections);
    if (!records)
        return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", pipeline->name);
    records->pipeline = pipeline;
    records->sizes = sizes;
    records->seed = seed;
    records->rejects = rejects;
    records->scratch = aligned(pipeline->memory);
    copy_sections(records);
    FlowStatus status = open_all(records, &places);
    if (status.exit) records_close(records);
    else *out = records;
    return status;
}

void records_close(Records *records) {
    if (!records) return;
    if (records->reader) records->pipeline->source->close(records->reader);
    for (int i = 0; i < records->pipeline->section_count; i++)
        for (int j = 0; j < ORDER_LIMIT; j++) free(records->sections[i].orders[j].passing);
    for (int i = 0; i < section_at(records, 0)->field_count; i++)
        free((char *)records->sections[0].fields[i].path);
    free(records);
}

int64_t records_count(const Records *records) {
    return records->count;
}

/* Feeds. */

/* How many records the orders leave of `count`. */
static int64_t left_of(const FlowSection *section, int64_t count) {
    for (int i = 0; i < section->order_count; i++) {
        int64_t number = (int64_t)section->orders[i].number;
        bool take = section->orders[i].kind == FLOW_ORDER_take;
        int64_t most = count < number ? count : number;
        count = take ? most : count - most;
    }
    return count;
}

/* How many they need for `count`; fewer, where there will never be so many. */
static int64_t needed_for(const FlowSection *section, int64_t count) {
    for (int i = section->order_count; i-- > 0;) {
        int64_t number = (int64_t)section->orders[i].number;
        if (section->orders[i].kind == FLOW_ORDER_skip) count += number;
        else if (count > number) count = number;
    }
    return count;
}

int64_t records_wait(const Records *records, int64_t end, int64_t deadline) {
    int64_t count = end;
    for (int i = last_section(records); i >= 0; i--) {
        const FlowSection *section = section_at(records, i);
        count = needed_for(section, count);
        if (i && count) count = (count - 1) * section->stride + section->window;
    }
    count = feed_wait(records->feed, count, deadline);
    for (int i = 0; i < records->pipeline->section_count; i++) {
        const FlowSection *section = section_at(records, i);
        count = left_of(section, i ? windows_in(section, count) : count);
    }
    return count < end ? count : end;
}

FlowStatus records_ended(const Records *records) {
    FlowStatus status;
    feed_has_ended(records->feed, &status);
    return status;
}

void records_stop(const Records *records) {
    feed_stop(records->feed);
}

void records_forget(const Records *records, int64_t position) {
    for (int i = last_section(records); i >= 0; i--) {
        const FlowSection *section = section_at(records, i);
        for (int j = section->order_count; j-- > 0;)
            if (section->orders[j].kind == FLOW_ORDER_skip)
                position += (int64_t)section->orders[j].number;
        position *= section->stride;
    }
    feed_forget(records->feed, position);
}

const FlowSection *records_section(const Records *records) {
    return section_at(records, last_section(records));
}

size_t records_scratch(const Records *records) {
    return records->scratch;
}

Permutation records_shuffle(const Records *records, int64_t epoch) {
    const FlowSection *section = section_at(records, last_section(records));
    for (int i = 0; i < section->order_count; i++)
        if (section->orders[i].each_epoch)
            return permutation_new(
                (int64_t)records->sections[last_section(records)].orders[i].permutation.size,
                section->orders[i].number, epoch);
    return (Permutation){0};
}

int64_t records_find(const Records *records, const Permutation *shuffle, int64_t position) {
    int last = last_section(records);
    return find(records, last, section_at(records, last)->order_count, shuffle, position);
}

void records_prefetch(const Records *records, int64_t record) {
    int last = last_section(records);
    bool points = last == 0 ? records->points : records->sections[last].direct;
    const void *values[FIELD_LIMIT];
    Maker maker = {.records = records};
    if (last == 0 && records->pipeline->source->prefetch)
        records->pipeline->source->prefetch(records->reader, record);
    if (!points) return;
    gather(&maker, last, record, values);
    for (int i = 0; i < section_at(records, last)->field_count; i++) {
        size_t size = flow_type_size(&section_at(records, last)->fields[i].type);
        size_t length = size < PREFETCH_LIMIT ? size : PREFETCH_LIMIT;
        for (size_t at = 0; at < length; at += LINE)
            __builtin_prefetch((const char *)values[i] + at);
    }
}

bool records_make(const Records *records, int64_t record, int64_t epoch, char *scratch,
                  void *const *outputs, FlowStatus *failure) {
    Maker maker = {records, epoch, scratch, failure};
    return make(&maker, last_section(records), record, outputs);
}
