#include "runtime/format/example.h"

#include <string.h>

/* The next field of the message that has that number and holds bytes. */
static bool next_part(Wire *message, uint32_t number, Wire *part) {
    WireField field;
    while (wire_next(message, &field)) {
        if (field.number != number || field.kind != WIRE_bytes) continue;
        *part = field.bytes;
        return true;
    }
    return false;
}

/* An entry of the map: { string key = 1; Feature value = 2; }. */
static bool read_entry(Wire entry, Wire *name, Wire *value) {
    WireField field;
    *name = *value = wire_new("", 0);
    while (wire_next(&entry, &field)) {
        if (field.kind != WIRE_bytes) continue;
        if (field.number == 1) *name = field.bytes;
        if (field.number == 2) *value = field.bytes;
    }
    return !entry.broken;
}

static bool read_feature(Wire message, Feature *feature) {
    WireField field;
    *feature = (Feature){0};
    while (wire_next(&message, &field)) {
        bool known = field.kind == WIRE_bytes && field.number >= FEATURE_bytes &&
                     field.number <= FEATURE_integers;
        if (known) *feature = (Feature){.kind = (FeatureKind)field.number, .list = field.bytes};
    }
    return !message.broken;
}

static bool is_name(const Wire *name, const char *wanted) {
    return wire_left(name) == strlen(wanted) && !memcmp(name->at, wanted, wire_left(name));
}

static bool find_in(Wire entry, const char *const *names, int count, Feature *features) {
    Wire name, value;
    if (!read_entry(entry, &name, &value)) return false;
    for (int i = 0; i < count; i++)
        if (is_name(&name, names[i]) && !read_feature(value, &features[i])) return false;
    return true;
}

bool example_find(const void *bytes, size_t size, const char *const *names, int count,
                  Feature *features) {
    Wire example = wire_new(bytes, size), part, entry;
    for (int i = 0; i < count; i++) features[i] = (Feature){0};
    while (next_part(&example, 1, &part)) {
        while (next_part(&part, 1, &entry))
            if (!find_in(entry, names, count, features)) return false;
        if (part.broken) return false;
    }
    return !example.broken;
}

bool example_name(const void *bytes, size_t size, int index, Wire *name) {
    Wire example = wire_new(bytes, size), part, entry, value;
    while (next_part(&example, 1, &part))
        while (next_part(&part, 1, &entry))
            if (index-- == 0) return read_entry(entry, name, &value);
    return false;
}

size_t feature_bytes(Feature *feature, Wire *values, size_t room) {
    size_t count = 0;
    while (count < room && next_part(&feature->list, 1, &values[count])) count++;
    return count;
}

/* Goes on to the next of the list's values, which lie in `run`, one or many. */
static bool next_run(Feature *feature, WireKind alone, WireField *field) {
    if (feature->run.broken) return false;
    while (wire_next(&feature->list, field))
        if (field->number == 1 && (field->kind == WIRE_bytes || field->kind == alone)) {
            feature->run = field->bytes;
            return true;
        }
    return false;
}

/* As many of the run as there is room for. */
static size_t take_floats(Feature *feature, float *values, size_t room) {
    size_t count = wire_left(&feature->run) / sizeof *values;
    if (count > room) count = room;
    if (!count && !wire_left(&feature->run)) return 0;
    memcpy(values, feature->run.at, count * sizeof *values);
    feature->run.at += count * sizeof *values;
    size_t left = wire_left(&feature->run);
    if (left && left < sizeof *values) feature->run.broken = true;
    return count;
}

size_t feature_floats(Feature *feature, float *values, size_t room) {
    WireField field;
    size_t count = take_floats(feature, values, room);
    while (count < room && next_run(feature, WIRE_fixed32, &field))
        if (field.kind == WIRE_bytes) count += take_floats(feature, values + count, room - count);
        else memcpy(&values[count++], &(uint32_t){(uint32_t)field.value}, sizeof *values);
    return count;
}

static size_t take_integers(Wire *run, int64_t *values, size_t room) {
    size_t count = 0;
    uint64_t value;
    while (count < room && wire_varint(run, &value)) values[count++] = (int64_t)value;
    return count;
}

size_t feature_integers(Feature *feature, int64_t *values, size_t room) {
    WireField field;
    size_t count = take_integers(&feature->run, values, room);
    while (count < room && next_run(feature, WIRE_varint, &field))
        if (field.kind == WIRE_bytes)
            count += take_integers(&feature->run, values + count, room - count);
        else values[count++] = (int64_t)field.value;
    return count;
}
