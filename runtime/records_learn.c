#include "runtime/records_learn.h"

#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/least.h"
#include "runtime/memory.h"
#include "runtime/records_state.h"
#include "runtime/watchdog.h"

#include <stdio.h>
#include <stdlib.h>

enum { TURN = 64 /* records that a thread takes at once */ };

/* What the threads that go over the records share. */
typedef struct Search {
    const Records *records;
    char name[128];
    atomic_llong next;
    atomic_llong failed; /* the first position known to fail; INT64_MAX */
    bool stops;          /* whatever is wrong with it; else what is no fault of the data */
    atomic_bool starved;
} Search;

/* One record. */

static bool is_first_time(const Records *records, int64_t record) {
    unsigned char bit = (unsigned char)(1 << record % 8);
    return !(atomic_fetch_or(&records->learned[record / 8], bit) & bit);
}

static bool learn_from_source(const Records *records, int64_t record, char *scratch,
                              FlowStatus *failure) {
    const FlowSection *section = records_section_at(records, 0);
    void *values[FIELD_LIMIT];
    if (!records->learned) return true;
    bool first = is_first_time(records, record);
    if (!first && !failure) return true;
    for (int i = 0; i < section->field_count; i++)
        values[i] = scratch + records->sections[0].offsets[i];
    if (!records->pipeline->source->make(records->reader, record, values, failure)) return false;
    for (int i = 0; i < section->field_count; i++) {
        TextSeer *seer = section->fields[i].seer;
        if (seer && first) seer->count(seer, *(const int32_t *)values[i]);
    }
    return true;
}

/* All that a window of the section, or its only record, is made of. */
static bool learn_from(const Records *records, int index, int64_t record, char *scratch,
                       FlowStatus *failure) {
    const FlowSection *section = records_section_at(records, index);
    if (!index && records->joined) return joined_learn(records->joined, record, scratch, failure);
    if (!index) return learn_from_source(records, record, scratch, failure);
    if (section->packs) return true; /* of tokens alone */
    int orders = records_section_at(records, index - 1)->order_count;
    bool good = true;
    for (int64_t part = 0; part < section->window && good; part++) {
        int64_t position = record * section->stride + part;
        int64_t found = records_through(records, index - 1, orders, NULL, position);
        good = learn_from(records, index - 1, found, scratch, failure);
    }
    return good;
}

bool records_learn_one(const Records *records, int64_t record, char *scratch, FlowStatus *failure) {
    return learn_from(records, records_last_section(records), record, scratch, failure);
}

/* All of them. */

/* Why the search ends at the record, if it does. */
static FlowStatus why_it_stops(const Search *search, int64_t record, char *scratch) {
    FlowStatus failure = flow_ok;
    records_learn_one(search->records, record, scratch, &failure);
    return search->stops || failure.exit != FLOW_EXIT_data ? failure : flow_ok;
}

/* Those from a position on, as many as a thread takes at once. */
static void take_turn(Search *search, int64_t first, char *scratch, Beat *beat) {
    Permutation shuffle = records_shuffle(search->records, 0, -1);
    int64_t count = records_count(search->records), end = first + TURN;
    for (int64_t i = first; i < end && i < count && i < search->failed; i++) {
        int64_t record = records_find(search->records, &shuffle, i);
        beat_at(beat, record);
        bool made = records_learn_one(search->records, record, scratch, NULL);
        if (!made && why_it_stops(search, record, scratch).exit) least_note(&search->failed, i);
    }
}

static void take_turns(void *argument, int thread, int threads) {
    Search *search = argument;
    size_t size = records_scratch(search->records);
    char *scratch = held_new(size);
    Beat beat = {.name = search->name,
                 .place = records_section_at(search->records, 0)->fields->path};
    int64_t count = records_count(search->records);
    (void)thread, (void)threads;
    if (!scratch) {
        search->starved = true;
        return;
    }
    beat_add(&beat);
    beat_begin(&beat, "looks for texts");
    for (int64_t first; (first = atomic_fetch_add(&search->next, TURN)) < count && !interrupted();)
        take_turn(search, first, scratch, &beat);
    beat_remove(&beat);
    free(scratch);
    held_give(size);
}

static FlowStatus no_memory(const Search *search) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory", search->name);
}

/* Which record is the first that fails does not depend on who made one before. */
static FlowStatus first_failure(const Search *search) {
    FlowStatus failure = flow_ok;
    Permutation shuffle = records_shuffle(search->records, 0, -1);
    char *scratch = memory_new(records_scratch(search->records));
    for (int64_t i = 0; scratch && i <= search->failed && !failure.exit && !interrupted(); i++)
        failure = why_it_stops(search, records_find(search->records, &shuffle, i), scratch);
    free(scratch);
    return failure.exit ? failure : no_memory(search);
}

FlowStatus records_learn(const Records *records, bool stops, Team *team) {
    Search search = {.records = records, .failed = INT64_MAX, .stops = stops};
    snprintf(search.name, sizeof search.name, "pipeline `%.64s`", records->pipeline->name);
    team_run(team, take_turns, &search);
    if (search.starved) return no_memory(&search);
    return search.failed < INT64_MAX && !interrupted() ? first_failure(&search) : flow_ok;
}
