/* Match, records: their fields by name or place, each against its own type. */
#include "compiler/lower/signature.h"

#include <string.h>

/* A field that is there, is not declared and looks alike. */
static void help_field(Diagnostic *d, const Items *items, const TypeTree *declared,
                       const char *name) {
    for (size_t i = 0; items->names && i < items->count; i++) {
        bool wanted = !items->names[i];
        for (size_t j = 0; j < declared->fields.count && !wanted; j++) {
            const char *other = declared->fields.items[j].name.text;
            wanted = other && !strcmp(other, items->names[i]);
        }
        if (!wanted && nearest_name(name, &items->names[i], 1))
            diagnostic_help(d, "it has `%s`; is one of the two misspelt?", items->names[i]);
    }
}

static bool is_declared_field(const TypeTree *declared, const char *name) {
    for (size_t i = 0; i < declared->fields.count; i++) {
        const char *field = declared->fields.items[i].name.text;
        if (!field || !name || !strcmp(field, name)) return true;
    }
    return false;
}

/* Fields that are too many; those that are too few are found when they are matched. */
static bool has_extra_field(const Match *match, const Items *items) {
    const TypeTree *declared = match->declared;
    if (items->count <= declared->fields.count) return false;
    for (size_t i = 0; i < items->count; i++) {
        const char *name = items->names ? items->names[i] : NULL;
        if (is_declared_field(declared, name) && i + 1 < items->count) continue;
        Diagnostic *d =
            report(match->context, E0212, match->range, "%s has a field `%s` that is not declared",
                   match->what, name ? name : "?");
        diagnostic_note(d, declared->range, "declared here");
        return true;
    }
    return false;
}

/* Stages and batches know fields of records by name alone. */
static bool are_named(const Match *match) {
    for (size_t i = 0; i < match->declared->fields.count; i++) {
        const FieldType *field = &match->declared->fields.items[i];
        if (field->name.text) continue;
        Range range = field->type->range;
        report(match->context, E0204, range, "a field of records needs a name: `(x: f32[2])`");
        return false;
    }
    return true;
}

static Items match_items(const Match *match, Items *items) {
    const TypeTree *declared = match->declared;
    Arena *arena = match->context->lowering->arena;
    Items result = items_new(arena, declared->fields.count);
    for (size_t i = 0; i < result.count; i++) {
        const FieldType *field = &declared->fields.items[i];
        bool named = field->name.text && items->names &&
                     (match->context->stream || (items->count && items->names[0]));
        const Value *found = named              ? items_find(items, field->name.text)
                             : i < items->count ? &items->values[i]
                                                : NULL;
        const char *name = field->name.text ? field->name.text : "?";
        Value opened;
        if (!found && named && match->context->stream) {
            opened = open_field(match->context, name, match->range);
            found = &opened;
        }
        if (!found) {
            Diagnostic *d = report(match->context, E0212, match->range, "%s has no field `%s`",
                                   match->what, name);
            diagnostic_note(d, declared->range, "declared here");
            help_field(d, items, declared, name);
            return (Items){0};
        }
        result.names[i] = field->name.text;
        result.values[i] = match_type(match->context, field->type, *found, match->range,
                                      arena_format(arena, "`%s`", name), match->lifted);
    }
    return result;
}

Value match_record(const Match *match, Value value) {
    if (value.kind != VALUE_items && value.kind != VALUE_stream) {
        report_mismatch(match, E0203, &value);
        return value_error;
    }
    Items *items = value.kind == VALUE_stream ? &value.stream->record : &value.items;
    if (value.kind == VALUE_stream && !are_named(match)) return value_error;
    if (has_extra_field(match, items)) return value_error;
    Match inner = *match;
    Context record = *match->context;
    if (value.kind == VALUE_stream) {
        record.graph = value.stream->pipeline->section->record.graph;
        record.function = &value.stream->pipeline->section->record;
        record.entering = true;
        record.stream = value.stream->open ? value.stream : NULL;
        inner.context = &record;
    }
    Items matched = match_items(&inner, items);
    if (!matched.names) return value_error;
    if (value.kind == VALUE_stream) value.stream->record = matched;
    else value.items = matched;
    return value;
}
