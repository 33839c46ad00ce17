#include "runtime/joined.h"

#include "runtime/cache_key.h"
#include "runtime/mix.h"
#include "runtime/mixture.h"
#include "runtime/records_learn.h"
#include "runtime/vocabularies.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t records_limit = (int64_t)1 << 53;

static const char *const names[] = {
    [FLOW_JOIN_concat] = "concat",         [FLOW_JOIN_zip] = "zip",
    [FLOW_JOIN_interleave] = "interleave", [FLOW_JOIN_mix] = "mix",
    [FLOW_JOIN_repeat] = "repeat",         [FLOW_JOIN_cache] = "cache",
};

/* Positions in which the same inputs take turns. */
typedef struct Phase {
    int64_t first; /* position */
    int64_t turns; /* of each that were before */
    int member_count;
    int *members; /* inputs */
} Phase;

struct Joined {
    const FlowPipeline *pipeline;
    const FlowJoin *join;
    const FlowSection *section; /* whose fields the inputs' outputs become */
    Records **inputs;           /* NULL: a cache has all that they would make */
    int64_t *counts;            /* of each input */
    int64_t records;
    size_t scratch;
    Phase *phases; /* interleave: one an input, the last may be empty */
    int *members;  /* of all phases */
    Mixture *mixture;
    Cache *cache;
};

/* Where a record comes from. */
typedef struct Place {
    int input;
    int64_t position, epoch; /* of the input */
} Place;

/* From records to places. */

static Place place_in_concat(const Joined *joined, Place place) {
    while (place.position >= joined->counts[place.input])
        place.position -= joined->counts[place.input++];
    return place;
}

static Place place_in_turn(const Joined *joined, Place place) {
    int number = joined->join->input_count - 1;
    while (place.position < joined->phases[number].first) number--;
    const Phase *phase = &joined->phases[number];
    int64_t behind = place.position - phase->first;
    place.input = phase->members[behind % phase->member_count];
    place.position = phase->turns + behind / phase->member_count;
    return place;
}

static Place place_in_mixture(const Joined *joined, Place place) {
    int64_t rank;
    place.input = mixture_at(joined->mixture, place.position, &rank);
    int64_t count = joined->counts[place.input];
    int64_t passes = (mixture_total(joined->mixture, place.input) + count - 1) / count;
    place.epoch = place.epoch * passes + rank / count;
    place.position = rank % count;
    return place;
}

static Place place_in_passes(const Joined *joined, Place place) {
    place.epoch = place.epoch * (int64_t)joined->join->number + place.position / joined->counts[0];
    place.position %= joined->counts[0];
    return place;
}

/* Of a zip: in the first input. */
static Place find(const Joined *joined, int64_t record, int64_t epoch) {
    const Place place = {.position = record, .epoch = epoch};
    switch (joined->join->kind) {
    case FLOW_JOIN_concat: return place_in_concat(joined, place);
    case FLOW_JOIN_interleave: return place_in_turn(joined, place);
    case FLOW_JOIN_mix: return place_in_mixture(joined, place);
    case FLOW_JOIN_repeat: return place_in_passes(joined, place);
    case FLOW_JOIN_cache: return (Place){.position = record};
    case FLOW_JOIN_zip: break;
    }
    return place;
}

static int64_t record_at(const Joined *joined, const Place *place) {
    const Records *input = joined->inputs[place->input];
    Permutation shuffle = records_shuffle(input, place->epoch, 0);
    return records_find(input, &shuffle, place->position);
}

/* From places to values. */

/* The fields that the outputs of the input become. */
static const int *fields_of(const Joined *joined, int input) {
    const int *places = joined->join->places;
    for (int i = 0; i < input; i++) places += records_section(joined->inputs[i])->output_count;
    return places;
}

static bool make_of(const Joined *joined, const Place *place, char *scratch,
                    const void *const *values, FlowStatus *failure) {
    const Records *input = joined->inputs[place->input];
    const int *fields = fields_of(joined, place->input);
    void *outputs[FIELD_LIMIT];
    for (int i = 0; i < records_section(input)->output_count; i++)
        outputs[i] = (void *)values[fields[i]];
    return records_make(input, record_at(joined, place), place->epoch, 0, scratch, outputs,
                        failure);
}

/* What is kept is made in its place. */
static bool make_kept(Joined *joined, const Place *place, char *scratch, const void **values,
                      FlowStatus *failure) {
    const void *there[FIELD_LIMIT];
    if (cache_find(joined->cache, place->position, values)) return true;
    if (!cache_claim(joined->cache, place->position, there))
        return make_of(joined, place, scratch, values, failure);
    bool made = make_of(joined, place, scratch, there, failure);
    cache_settle(joined->cache, place->position, made);
    for (int i = 0; made && i < joined->section->field_count; i++) values[i] = there[i];
    return made;
}

bool joined_make(Joined *joined, int64_t record, int64_t epoch, char *scratch, const void **values,
                 FlowStatus *failure) {
    Place place = find(joined, record, epoch);
    bool zip = joined->join->kind == FLOW_JOIN_zip;
    if (joined->cache) return make_kept(joined, &place, scratch, values, failure);
    bool made = make_of(joined, &place, scratch, values, failure);
    for (place.input = 1; zip && made && place.input < joined->join->input_count; place.input++)
        made = make_of(joined, &place, scratch, values, failure);
    return made;
}

void joined_prefetch(const Joined *joined, int64_t record, int64_t epoch) {
    const void *values[FIELD_LIMIT];
    if (joined->cache && cache_find(joined->cache, record, values)) return;
    Place place = find(joined, record, epoch);
    records_prefetch(joined->inputs[place.input], record_at(joined, &place), place.epoch);
}

void joined_locate(const Joined *joined, int64_t record, int64_t epoch, char *text, size_t size) {
    if (!joined->inputs) {
        snprintf(text, size, "%s: record %lld", joined->pipeline->name, (long long)record);
        return;
    }
    Place place = find(joined, record, epoch);
    records_locate(joined->inputs[place.input], record_at(joined, &place), place.epoch, text, size);
}

int64_t joined_identity(const Joined *joined, int64_t record, int64_t epoch) {
    Place place = find(joined, record, epoch);
    int end = joined->join->kind == FLOW_JOIN_zip ? joined->join->input_count : place.input + 1;
    uint64_t identity = 0;
    if (!joined->inputs) return record;
    for (; place.input < end; place.input++)
        identity = mix(identity + mix((uint64_t)place.input + 1) +
                       (uint64_t)records_identity(joined->inputs[place.input],
                                                  record_at(joined, &place), place.epoch));
    return (int64_t)(identity >> 1);
}

/* Learning. */

static bool learn_at(const Joined *joined, const Place *place, char *scratch, FlowStatus *failure) {
    return records_learn_one(joined->inputs[place->input], record_at(joined, place), scratch,
                             failure);
}

/* What stands behind the last record of a zip comes in other epochs, if the input is dealt anew. */
static int64_t end_of_zip(const Joined *joined, const Place *place) {
    bool last = place->position == joined->records - 1;
    return last && records_are_dealt(joined->inputs[place->input]) ? joined->counts[place->input]
                                                                   : place->position + 1;
}

static bool learn_from_zip(const Joined *joined, int64_t record, char *scratch,
                           FlowStatus *failure) {
    bool good = true;
    for (Place place = {.input = 0}; place.input < joined->join->input_count; place.input++) {
        place.position = record;
        int64_t end = end_of_zip(joined, &place);
        for (; place.position < end && good; place.position++)
            good = learn_at(joined, &place, scratch, failure);
    }
    return good;
}

bool joined_learn(const Joined *joined, int64_t record, char *scratch, FlowStatus *failure) {
    Place place = find(joined, record, 0);
    return joined->join->kind == FLOW_JOIN_zip ? learn_from_zip(joined, record, scratch, failure)
                                               : learn_at(joined, &place, scratch, failure);
}

bool joined_is_dealt(const Joined *joined) {
    bool dealt = false;
    for (int i = 0; i < joined->join->input_count; i++)
        dealt |= records_are_dealt(joined->inputs[i]);
    return dealt;
}

/* How many there are. */

static FlowStatus no_memory(const Joined *joined) {
    return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", joined->pipeline->name);
}

static int64_t sum_of_counts(const Joined *joined) {
    int64_t sum = 0;
    for (int i = 0; i < joined->join->input_count; i++)
        if (__builtin_add_overflow(sum, joined->counts[i], &sum)) return -1;
    return sum;
}

static int64_t least_count(const Joined *joined) {
    int64_t least = joined->counts[0];
    for (int i = 1; i < joined->join->input_count; i++)
        if (joined->counts[i] < least) least = joined->counts[i];
    return least;
}

/* The inputs with more than `turns` records take turns until the shortest of them is through. */
static int64_t begin_phase(Joined *joined, int number, int64_t turns) {
    Phase *phase = &joined->phases[number];
    int64_t next = INT64_MAX;
    phase->turns = turns;
    phase->members = joined->members + number * joined->join->input_count;
    for (int i = 0; i < joined->join->input_count; i++) {
        if (joined->counts[i] <= turns) continue;
        phase->members[phase->member_count++] = i;
        if (joined->counts[i] < next) next = joined->counts[i];
    }
    return phase->member_count ? next : turns;
}

static FlowStatus open_turns(Joined *joined) {
    size_t inputs = (size_t)joined->join->input_count;
    int64_t turns = 0, first = 0;
    joined->phases = calloc(inputs, sizeof *joined->phases);
    joined->members = calloc(inputs * inputs, sizeof *joined->members);
    joined->records = sum_of_counts(joined);
    if (!joined->phases || !joined->members) return no_memory(joined);
    for (int i = 0; i < joined->join->input_count && joined->records >= 0; i++) {
        int64_t next = begin_phase(joined, i, turns);
        joined->phases[i].first = joined->phases[i].member_count ? first : INT64_MAX;
        first += (next - turns) * joined->phases[i].member_count;
        turns = next;
    }
    return flow_ok;
}

static FlowStatus open_mixture(Joined *joined) {
    const FlowJoin *join = joined->join;
    FlowStatus status = mixture_new(join->weights, joined->counts, join->input_count, join->number,
                                    &joined->mixture);
    if (status.exit)
        return flow_failure(status.exit, "pipeline `%s` (%s): `mix`: %s", joined->pipeline->name,
                            joined->pipeline->line, status.text);
    joined->records = mixture_size(joined->mixture);
    return flow_ok;
}

static FlowStatus count(Joined *joined) {
    FlowStatus status = flow_ok;
    switch (joined->join->kind) {
    case FLOW_JOIN_concat: joined->records = sum_of_counts(joined); break;
    case FLOW_JOIN_zip:
    case FLOW_JOIN_cache: joined->records = least_count(joined); break;
    case FLOW_JOIN_interleave: status = open_turns(joined); break;
    case FLOW_JOIN_mix: status = open_mixture(joined); break;
    case FLOW_JOIN_repeat:
        if (__builtin_mul_overflow(joined->counts[0], (int64_t)joined->join->number,
                                   &joined->records))
            joined->records = -1;
        break;
    }
    if (status.exit || (joined->records >= 0 && joined->records <= records_limit)) return status;
    return flow_failure(FLOW_EXIT_data, "pipeline `%s` (%s): `%s` makes more than 2^53 records",
                        joined->pipeline->name, joined->pipeline->line, names[joined->join->kind]);
}

/* Open and close. */

/* Random numbers of inputs that stand side by side have nothing to do with each other. */
static int64_t seed_of(const FlowJoin *join, int input, int64_t seed) {
    if (join->input_count == 1) return seed;
    return (int64_t)mix((uint64_t)seed + mix((uint64_t)input + 1));
}

static FlowStatus check_counted(const Joined *joined, int input) {
    const FlowPipeline *fed = joined->join->inputs[input];
    if (joined->counts[input] >= 0) return flow_ok;
    return flow_failure(FLOW_EXIT_usage,
                        "pipeline `%s` (%s): `%s` asks for any record at any time, and those of "
                        "this come one after the other; put them into a file",
                        fed->name, fed->line, names[joined->join->kind]);
}

static FlowStatus open_input(Joined *joined, int input, Places places, Sizes sizes, int64_t seed,
                             Rejects *rejects) {
    const FlowJoin *join = joined->join;
    FlowStatus status = records_open(join->inputs[input], places, sizes, seed_of(join, input, seed),
                                     rejects, &joined->inputs[input]);
    if (status.exit) return status;
    size_t scratch = records_scratch(joined->inputs[input]);
    if (scratch > joined->scratch) joined->scratch = scratch;
    joined->counts[input] = records_count(joined->inputs[input]);
    return check_counted(joined, input);
}

static FlowStatus open_inputs(Joined *joined, Places places, Sizes sizes, int64_t seed,
                              Rejects *rejects) {
    size_t inputs = (size_t)joined->join->input_count;
    FlowStatus status = flow_ok;
    joined->inputs = calloc(inputs, sizeof *joined->inputs);
    joined->counts = calloc(inputs, sizeof *joined->counts);
    if (!joined->inputs || !joined->counts) return no_memory(joined);
    for (int i = 0; i < joined->join->input_count && !status.exit; i++)
        status = open_input(joined, i, places, sizes, seed, rejects);
    return status.exit ? status : count(joined);
}

/* The cache of the form, if it is in a file; else *cache is NULL. */
static FlowStatus load_cache(Joined *joined, const Places *places, Sizes sizes, int64_t seed,
                             CacheForm *form) {
    const FlowJoin *join = joined->join;
    FlowStatus status = path_to_write(places, join->path, join->option,
                                      pipeline_owner(joined->pipeline), &form->path);
    if (!status.exit && form->path) status = cache_key(join, places, sizes, seed, &form->key);
    if (status.exit || !form->path) return status;
    return cache_load(form, &joined->cache);
}

/* Inputs are opened unless the file has every record. */
static FlowStatus open_cache(Joined *joined, Places places, Sizes sizes, int64_t seed,
                             Rejects *rejects) {
    CacheForm form = {.name = joined->pipeline->name,
                      .line = joined->pipeline->line,
                      .fields = joined->section->fields,
                      .field_count = joined->section->field_count};
    bool fed = cache_may_be_fed(joined->pipeline);
    FlowStatus status = fed ? open_inputs(joined, places, sizes, seed, rejects) : flow_ok;
    if (!status.exit) status = load_cache(joined, &places, sizes, seed, &form);
    if (status.exit) return status;
    bool whole = joined->cache && !cache_has_failures(joined->cache);
    if (whole) joined->records = cache_records(joined->cache);
    else if (!fed) status = open_inputs(joined, places, sizes, seed, rejects);
    form.records = joined->records;
    return status.exit || joined->cache ? status : cache_new(&form, &joined->cache);
}

static FlowStatus open_all(Joined *joined, Places places, Sizes sizes, int64_t seed,
                           Rejects *rejects) {
    /* While vocabularies are found, what they stand for is not known yet. */
    bool keeps =
        joined->join->kind == FLOW_JOIN_cache && !vocabularies_are_learned(places.vocabularies);
    return keeps ? open_cache(joined, places, sizes, seed, rejects)
                 : open_inputs(joined, places, sizes, seed, rejects);
}

FlowStatus joined_open(const FlowPipeline *pipeline, const FlowSection *section, Places places,
                       Sizes sizes, int64_t seed, Rejects *rejects, Joined **out) {
    Joined *joined = *out = calloc(1, sizeof *joined);
    if (!joined)
        return flow_failure(FLOW_EXIT_resource, "pipeline `%s`: no memory", pipeline->name);
    joined->pipeline = pipeline;
    joined->join = pipeline->join;
    joined->section = section;
    FlowStatus status = open_all(joined, places, sizes, seed, rejects);
    if (!status.exit) return flow_ok;
    joined_close(joined);
    *out = NULL;
    return status;
}

void joined_close(Joined *joined) {
    if (!joined) return;
    cache_close(joined->cache);
    for (int i = 0; joined->inputs && i < joined->join->input_count; i++)
        records_close(joined->inputs[i]);
    free(joined->inputs);
    free(joined->counts);
    free(joined->phases);
    free(joined->members);
    mixture_free(joined->mixture);
    free(joined);
}

int64_t joined_records(const Joined *joined) {
    return joined->records;
}

size_t joined_scratch(const Joined *joined) {
    return joined->scratch;
}
