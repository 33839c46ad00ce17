/* tfrecord: files of tf.train.Example, as TensorFlow writes them. Files are indexed when they are
 * opened, by the lengths alone; a record's sum is checked, and the record parsed, when it is asked
 * for. Plain files are mapped; compressed ones are unpacked into memory. */
#include "runtime/format/tfrecord.h"

#include "runtime/blob.h"
#include "runtime/format/example.h"
#include "runtime/holdings.h"
#include "runtime/interrupt.h"
#include "runtime/numbers.h"
#include "runtime/shards.h"
#include "runtime/spans.h"
#include "runtime/type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_RECORDS = 1024, PIECE = 256 /* numbers converted at a time */, SHOWN = 200 };

struct FlowReader {
    const FlowField *fields;
    int count;
    const char **names; /* of the fields */
    Shards shards;
    Spans spans; /* of the shards */
    int64_t records, capacity;
    uint64_t *frames; /* of each record, where its frame begins in its shard */
};

/* A record's bytes, and where it is. */
typedef struct Place {
    const Shard *shard;
    int64_t record; /* of the shard */
    const char *frame;
    uint64_t length;
} Place;

static FlowStatus no_memory(const FlowReader *reader) {
    return flow_failure(FLOW_EXIT_resource, "%s: no memory to read it", reader->fields[0].path);
}

static FlowStatus failure_at(const Shard *shard, int64_t record, const char *why) {
    return flow_failure(FLOW_EXIT_data, "%s: record %lld: %s", shard->path, (long long)record, why);
}

/* The index. */

static FlowStatus add_record(FlowReader *reader, uint64_t frame) {
    if (reader->records == reader->capacity) {
        int64_t capacity = reader->capacity ? 2 * reader->capacity : FIRST_RECORDS;
        uint64_t *frames = held_resize(reader->frames, (size_t)reader->capacity * sizeof *frames,
                                       (size_t)capacity * sizeof *frames);
        if (!frames) return no_memory(reader);
        reader->frames = frames;
        reader->capacity = capacity;
    }
    reader->frames[reader->records++] = frame;
    return flow_ok;
}

static FlowStatus index_shard(FlowReader *reader, int number) {
    const Shard *shard = &reader->shards.items[number];
    FlowStatus status = flow_ok;
    int64_t first = reader->spans.firsts[number] = reader->records;
    uint64_t length;
    for (uint64_t at = 0; at < shard->size && !status.exit;) {
        if (interrupted()) return interrupt_reading(shard->path);
        const char *wrong = tfrecord_measure(shard->bytes, shard->size, at, &length);
        if (wrong) return failure_at(shard, reader->records - first, wrong);
        status = add_record(reader, at);
        at += TFRECORD_BEFORE + length + TFRECORD_AFTER;
    }
    reader->spans.firsts[number + 1] = reader->records;
    return status;
}

static FlowStatus index_all(FlowReader *reader) {
    FlowStatus status = flow_ok;
    if (!spans_new(reader->shards.count, &reader->spans)) return no_memory(reader);
    for (int i = 0; i < reader->shards.count && !status.exit; i++) status = index_shard(reader, i);
    if (status.exit) return status;
    if (!reader->records)
        return flow_failure(FLOW_EXIT_data, "%s: has no records", reader->fields[0].path);
    return spans_index(&reader->spans, reader->shards.count) ? flow_ok : no_memory(reader);
}

static void tfrecord_close(FlowReader *reader) {
    shards_close(&reader->shards);
    free(reader->names);
    spans_close(&reader->spans);
    free(reader->frames);
    free(reader);
}

static FlowStatus open_all(FlowReader *reader) {
    reader->names = calloc((size_t)reader->count + 1, sizeof *reader->names);
    if (!reader->names) return no_memory(reader);
    for (int i = 0; i < reader->count; i++) reader->names[i] = reader->fields[i].name;
    FlowStatus status = shards_open(reader->fields[0].path, SHARD_by_content, &reader->shards);
    return status.exit ? status : index_all(reader);
}

static FlowStatus tfrecord_open(const FlowField *fields, int count,
                                const FlowSourceArguments *arguments, FlowReader **out) {
    (void)arguments;
    FlowReader *reader = *out = calloc(1, sizeof *reader);
    if (!reader) return flow_failure(FLOW_EXIT_resource, "%s: no memory", fields[0].path);
    reader->fields = fields;
    reader->count = count;
    FlowStatus status = open_all(reader);
    if (!status.exit) return status;
    tfrecord_close(reader);
    *out = NULL;
    return status;
}

static Place find_record(const FlowReader *reader, int64_t record) {
    int number = spans_find(&reader->spans, record);
    const Shard *shard = &reader->shards.items[number];
    uint64_t begin = reader->frames[record];
    bool last = record + 1 == reader->spans.firsts[number + 1];
    uint64_t end = last ? shard->size : reader->frames[record + 1];
    return (Place){.shard = shard,
                   .record = record - reader->spans.firsts[number],
                   .frame = shard->bytes + begin,
                   .length = end - begin - TFRECORD_BEFORE - TFRECORD_AFTER};
}

/* Features to values. Each says what is wrong, without the place. */

static FlowStatus damaged(void) {
    return flow_failure(FLOW_EXIT_data, "its values are damaged");
}

static FlowStatus other_count(uint64_t count, const FlowType *type) {
    return flow_failure(FLOW_EXIT_data, "has %llu number%s, the program expects %s",
                        (unsigned long long)count, count == 1 ? "" : "s", type_name(type).text);
}

static bool is_broken(const Feature *feature) {
    return feature->list.broken || feature->run.broken;
}

/* A piece of numbers, of one kind or the other. */
typedef union Piece {
    int64_t integers[PIECE];
    float floats[PIECE];
} Piece;

static size_t take(Feature *feature, Piece *piece, size_t room) {
    return feature->kind == FEATURE_floats ? feature_floats(feature, piece->floats, room)
                                           : feature_integers(feature, piece->integers, room);
}

static size_t store(const Feature *feature, const Piece *piece, size_t count, FlowElement element,
                    void *values) {
    return feature->kind == FEATURE_floats
               ? store_floats(piece->floats, count, element, values)
               : store_integers(piece->integers, count, element, values);
}

static FlowStatus wrong_number(const Feature *feature, const Piece *piece, size_t index,
                               const FlowType *type) {
    FlowType element = {.element = type->element};
    if (feature->kind == FEATURE_floats)
        return flow_failure(FLOW_EXIT_data, "%.9g is no %s", (double)piece->floats[index],
                            type_name(&element).text);
    return flow_failure(FLOW_EXIT_data, "%lld is no %s", (long long)piece->integers[index],
                        type_name(&element).text);
}

static FlowStatus make_numbers(Feature *feature, const FlowType *type, char *values) {
    size_t size = flow_element_size(type->element), wanted = flow_type_size(type) / size, count = 0;
    Piece piece;
    for (size_t taken = PIECE; taken == PIECE; count += taken) {
        taken = take(feature, &piece, PIECE);
        if (count + taken > wanted) continue;
        size_t stored = store(feature, &piece, taken, type->element, values + count * size);
        if (stored < taken) return wrong_number(feature, &piece, stored, type);
    }
    if (is_broken(feature)) return damaged();
    return count == wanted ? flow_ok : other_count(count, type);
}

static FlowStatus make_blob(Feature *feature, const FlowField *field, void *value) {
    Wire values[2];
    size_t count = feature_bytes(feature, values, 2);
    if (feature->list.broken) return damaged();
    if (count != 1)
        return flow_failure(FLOW_EXIT_data, "is %s, the program takes one",
                            count ? "several texts" : "no text");
    return blob_value((const char *)values[0].at, wire_left(&values[0]), field, value);
}

static bool is_empty(Feature feature) {
    Piece piece;
    Wire value;
    if (feature.kind == FEATURE_none) return true;
    size_t count = feature.kind == FEATURE_bytes ? feature_bytes(&feature, &value, 1)
                                                 : take(&feature, &piece, 1);
    return !count && !is_broken(&feature);
}

static FlowStatus make_field(Feature *feature, const FlowField *field, void *value) {
    bool wants_bytes = field->decoder || field->digits || field->texts || field->tokens;
    if (field->fills && is_empty(*feature)) return store_filling(field, value);
    if (feature->kind == FEATURE_none)
        return flow_failure(FLOW_EXIT_data, "there is no such feature");
    if (feature->kind == FEATURE_bytes && !wants_bytes && !field->type.rank)
        return flow_failure(FLOW_EXIT_data, "holds bytes, the program expects %s",
                            type_name(&field->type).text);
    if (feature->kind == FEATURE_bytes) return make_blob(feature, field, value);
    if (wants_bytes) return flow_failure(FLOW_EXIT_data, "holds numbers, the program takes bytes");
    return make_numbers(feature, &field->type, value);
}

/* Records. */

/* "; its features are image, label" */
static void list_names(const Place *place, char *text, size_t room) {
    const char *example = place->frame + TFRECORD_BEFORE;
    size_t used = 0;
    Wire name;
    for (int i = 0; used < room && example_name(example, place->length, i, &name); i++)
        used += (size_t)snprintf(
            text + used, room - used, "%s%.*s", i ? ", " : "; its features are ",
            wire_left(&name) < SHOWN ? (int)wire_left(&name) : SHOWN, (const char *)name.at);
    if (used >= room) memcpy(text + room - sizeof "…", "…", sizeof "…");
}

static FlowStatus field_failure(const Place *place, const FlowField *field, const Feature *feature,
                                const FlowStatus *status) {
    char names[SHOWN] = "";
    if (feature->kind == FEATURE_none) list_names(place, names, sizeof names);
    return flow_failure(status->exit, "%s: record %lld: %s: %s%s", place->shard->path,
                        (long long)place->record, field->name, status->text, names);
}

static FlowStatus make_record(const FlowReader *reader, const Place *place, void *const *values) {
    Feature features[reader->count + 1];
    if (!tfrecord_is_whole(place->frame, place->length))
        return failure_at(place->shard, place->record, "its sum is wrong: the file is damaged");
    if (!example_find(place->frame + TFRECORD_BEFORE, place->length, reader->names, reader->count,
                      features))
        return failure_at(place->shard, place->record, "is no tf.train.Example");
    for (int i = 0; i < reader->count; i++) {
        FlowStatus status = make_field(&features[i], &reader->fields[i], values[i]);
        if (status.exit) return field_failure(place, &reader->fields[i], &features[i], &status);
    }
    return flow_ok;
}

static int64_t tfrecord_records(const FlowReader *reader) {
    return reader->records;
}

static bool tfrecord_make(const FlowReader *reader, int64_t record, void *const *values,
                          FlowStatus *failure) {
    Place place = find_record(reader, record);
    FlowStatus status = make_record(reader, &place, values);
    if (status.exit && failure) *failure = status;
    return !status.exit;
}

static void tfrecord_prefetch(const FlowReader *reader, int64_t record) {
    Place place = find_record(reader, record);
    shard_prefetch(place.frame, place.length);
}

static void tfrecord_locate(const FlowReader *reader, int64_t record, char *text, size_t size) {
    Place place = find_record(reader, record);
    snprintf(text, size, "%s: record %lld", place.shard->path, (long long)place.record);
}

const FlowSource flow_source_tfrecord = {
    .name = "tfrecord",
    .open = tfrecord_open,
    .records = tfrecord_records,
    .make = tfrecord_make,
    .prefetch = tfrecord_prefetch,
    .locate = tfrecord_locate,
    .close = tfrecord_close,
    .finds_many = true,
};
