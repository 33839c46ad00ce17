/* Joined: several streams become one (`concat`, `zip`, `interleave`, `mix`), or one is gone through
 * again (`repeat`). What is joined is finished as if batches were made of it; its outputs are the
 * fields of the new pipeline, whose stages know nothing of where they come from. */
#include "compiler/lower/given.h"
#include "compiler/lower/stream.h"

#include <string.h>

enum { INPUT_LIMIT = 64, JOIN_DEPTH_LIMIT = 32, PASSES_LIMIT = 1 << 30 };

typedef struct Joining {
    const Context *context;
    const Expression *call;
    JoinKind kind;
    const Value *streams; /* one an input */
    size_t count;
} Joining;

/* The inputs. */

bool holds_streams(const Value *list) {
    if (list->kind != VALUE_items) return false;
    for (size_t i = 0; i < list->items.count; i++)
        if (list->items.values[i].kind == VALUE_stream) return true;
    return false;
}

static bool is_stream(const Joining *joining, const Value *value, Range range) {
    if (value->kind == VALUE_error) return false;
    if (value->kind == VALUE_stream) return use_stream(joining->context, range, value);
    Diagnostic *d =
        report(joining->context, E0203, range, "`%s` takes streams of records, not %s",
               joining->call->name.text, value_text(joining->context->lowering->arena, value));
    if (value->kind == VALUE_batch) diagnostic_help(d, "`batch` stands behind what is joined");
    if (holds_streams(value)) diagnostic_help(d, "`%s(a, b)`", joining->call->name.text);
    return false;
}

/* The shortest of a `zip` ends it. */
static bool is_finite(const Joining *joining, const Pipeline *pipeline) {
    const Context *context = joining->context;
    const char *asker = arena_format(context->lowering->arena, "`%s`", joining->call->name.text);
    return can_look_up(context, joining->call->range, asker, pipeline) &&
           (joining->kind == JOIN_zip || has_end(context, joining->call->range, asker, pipeline));
}

static bool are_streams(const Joining *joining) {
    bool good = true;
    if (joining->count > INPUT_LIMIT) {
        report(joining->context, E0217, joining->call->range, "`%s` joins at most %d streams",
               joining->call->name.text, INPUT_LIMIT);
        return false;
    }
    for (size_t i = 0; i < joining->count && good; i++)
        good = is_stream(joining, &joining->streams[i], joining->streams[i].range) &&
               is_finite(joining, joining->streams[i].stream->pipeline) &&
               finish_section(joining->context, joining->streams[i].stream);
    return good;
}

static const Section *section_of(const Joining *joining, size_t input) {
    return joining->streams[input].stream->pipeline->section;
}

/* The field of an input as it was made. */
static const Value *value_of(const Joining *joining, size_t input, size_t field) {
    return &joining->streams[input].stream->record.values[field];
}

static bool is_same_log(const Pipeline *a, const Pipeline *b) {
    if (a->on_error != ON_ERROR_log) return true;
    return a->log_option == b->log_option && !strcmp(a->log, b->log);
}

/* A batch does without a record whatever input it is from. */
static bool agree_on_errors(const Joining *joining, Pipeline *joined) {
    const Pipeline *first = joining->streams[0].stream->pipeline;
    joined->on_error = first->on_error;
    joined->log = first->log;
    joined->log_option = first->log_option;
    for (size_t i = 1; i < joining->count; i++) {
        const Pipeline *other = joining->streams[i].stream->pipeline;
        if (other->on_error == first->on_error && is_same_log(first, other)) continue;
        Diagnostic *d =
            report(joining->context, E0214, other->range,
                   "`%s` needs the same `on_error` of all that it joins", joining->call->name.text);
        diagnostic_note(d, first->range, "this says something else");
        diagnostic_help(d, "`on_error` is an argument of each source: `range(9, on_error = skip)`");
        return false;
    }
    return true;
}

static Wish larger_wish(Wish a, Wish b) {
    return a.value >= b.value ? a : b;
}

static bool is_deep(const Joining *joining, const Pipeline *joined) {
    if (joined->join.depth <= JOIN_DEPTH_LIMIT) return false;
    report(joining->context, E0217, joining->call->range,
           "streams are joined at most %d times, one join upon the other", JOIN_DEPTH_LIMIT);
    return true;
}

static bool take_inputs(const Joining *joining, Pipeline *joined) {
    joined->join.depth = 1;
    for (size_t i = 0; i < joining->count; i++) {
        Pipeline *input = joining->streams[i].stream->pipeline;
        vector_push(joining->context->lowering->arena, &joined->join.inputs, input);
        if (input->join.depth >= joined->join.depth) joined->join.depth = input->join.depth + 1;
        joined->threads = larger_wish(joined->threads, input->threads);
        joined->queue = larger_wish(joined->queue, input->queue);
    }
    return !is_deep(joining, joined) && agree_on_errors(joining, joined);
}

/* Their fields. */

static size_t field_count(const Joining *joining) {
    size_t count = 0;
    for (size_t i = 0; i < joining->count; i++) count += section_of(joining, i)->outputs.count;
    return count;
}

static int find_field(const Section *section, const char *name) {
    for (size_t i = 0; i < section->outputs.count; i++)
        if (!strcmp(section->outputs.items[i].name, name)) return (int)i;
    return -1;
}

/* The field of an input as a field of the stream, and what is known of its values. */
static void add_field(const Joining *joining, Stream *stream, size_t input, size_t field) {
    const Field *output = &section_of(joining, input)->outputs.items[field];
    const Value *from = value_of(joining, input, field);
    Value *value = add_typed_field(joining->context, stream, output->name, NULL, output->type,
                                   joining->call->range);
    value->low = from->low;
    value->high = from->high;
    vector_each(Field, added, stream->pipeline->section->fields)
        if (!strcmp(added->name, output->name)) {
            added->varies = output->varies;
            added->learned = output->learned;
        }
}

static bool add_fields(const Joining *joining, Stream *stream, size_t input) {
    const Section *section = section_of(joining, input), *joined = stream->pipeline->section;
    for (size_t i = 0; i < section->outputs.count; i++) {
        const char *name = section->outputs.items[i].name;
        for (size_t j = 0; j < joined->fields.count; j++) {
            if (strcmp(joined->fields.items[j].name, name)) continue;
            size_t first = 0;
            while (find_field(section_of(joining, first), name) < 0) first++;
            const Section *other = section_of(joining, first);
            Diagnostic *d = report(joining->context, E0202, joining->streams[input].range,
                                   "`%s` joins two streams that both have a field `%s`",
                                   joining->call->name.text, name);
            diagnostic_note(d, value_of(joining, input, i)->range, "this one has it from here");
            diagnostic_note(d, value_of(joining, first, (size_t)find_field(other, name))->range,
                            "and the other from here");
            diagnostic_help(d, "rename it in one of them: `|> map(other: %s)`", name);
            return false;
        }
        vector_push(joining->context->lowering->arena, &stream->pipeline->join.places,
                    (int)joined->fields.count);
        add_field(joining, stream, input, i);
    }
    return true;
}

static void report_missing(const Joining *joining, size_t input, size_t other, const char *name) {
    const Section *has = section_of(joining, other), *lacks = section_of(joining, input);
    Diagnostic *d = report(joining->context, E0212, joining->streams[input].range,
                           "`%s` joins streams of the same fields, and this one has no `%s`",
                           joining->call->name.text, name);
    diagnostic_note(d, value_of(joining, other, (size_t)find_field(has, name))->range,
                    "the other has it from here");
    const char **names =
        arena_new_array(joining->context->lowering->arena, const char *, lacks->outputs.count + 1);
    for (size_t i = 0; i < lacks->outputs.count; i++) names[i] = lacks->outputs.items[i].name;
    diagnostic_help(d, "its fields are %s",
                    names_text(joining->context->lowering->arena, names, lacks->outputs.count));
}

static bool is_same_type(const Type *a, const Type *b) {
    bool same = a->element == b->element && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    return same;
}

static void report_types(const Joining *joining, size_t input, size_t field, size_t first) {
    Arena *arena = joining->context->lowering->arena;
    const Field *here = &section_of(joining, input)->outputs.items[field];
    const Field *there = &section_of(joining, 0)->outputs.items[first];
    bool element = here->type.element != there->type.element;
    Diagnostic *d = report(joining->context, element ? E0203 : E0207, joining->streams[input].range,
                           "`%s` of this stream is %s, `%s` joins it to %s", here->name,
                           type_text(arena, &here->type), joining->call->name.text,
                           type_text(arena, &there->type));
    diagnostic_note(d, value_of(joining, input, field)->range, "it is made here");
    diagnostic_note(d, value_of(joining, 0, first)->range, "and that of the first here");
}

static Dim smaller(Dim a, Dim b) {
    int64_t x, y;
    if (a == b || !a || !b || !dim_is_constant(a, &x) || !dim_is_constant(b, &y))
        return a == b ? a : NULL;
    return x < y ? a : b;
}

static Dim larger(Dim a, Dim b) {
    Dim less = smaller(a, b);
    return !less ? NULL : less == a ? b : a;
}

/* What holds of the values of both. */
static void widen_range(Value *value, const Value *other) {
    value->low = smaller(value->low, other->low);
    value->high = larger(value->high, other->high);
    if (!value->low || !value->high) value->low = value->high = NULL;
}

/* The fields of the first input are those of all; another has them in any order. */
static bool match_fields(const Joining *joining, Stream *stream, size_t input) {
    const Section *section = section_of(joining, input), *first = section_of(joining, 0);
    vector_each(Field, output, first->outputs)
        if (find_field(section, output->name) < 0)
            return report_missing(joining, input, 0, output->name), false;
    for (size_t i = 0; i < section->outputs.count; i++) {
        const Field *output = &section->outputs.items[i];
        int place = find_field(first, output->name);
        if (place < 0) return report_missing(joining, 0, input, output->name), false;
        if (!is_same_type(&output->type, &first->outputs.items[place].type))
            return report_types(joining, input, i, (size_t)place), false;
        vector_push(joining->context->lowering->arena, &stream->pipeline->join.places, place);
        widen_range(&stream->record.values[place], value_of(joining, input, i));
        stream->pipeline->section->fields.items[place].varies |= output->varies;
        stream->pipeline->section->fields.items[place].learned |= output->learned;
    }
    return true;
}

/* The joined stream. */

static Stream *new_stream(const Joining *joining) {
    Arena *arena = joining->context->lowering->arena;
    Pipeline *pipeline = arena_new_item(arena, Pipeline);
    Stream *stream = arena_new_item(arena, Stream);
    *pipeline = (Pipeline){.name = joining->streams[0].stream->pipeline->name,
                           .range = joining->call->range,
                           .join = {.kind = joining->kind}};
    *stream = (Stream){.pipeline = pipeline, .record = items_new(arena, field_count(joining))};
    stream->record.count = 0;
    add_section(joining->context, pipeline);
    return stream;
}

/* NULL after reporting. */
static Stream *join(const Joining *joining) {
    if (!are_streams(joining)) return NULL;
    Stream *stream = new_stream(joining);
    bool zip = joining->kind == JOIN_zip;
    bool good = take_inputs(joining, stream->pipeline) && add_fields(joining, stream, 0);
    for (size_t i = 1; i < joining->count && good; i++)
        good = zip ? add_fields(joining, stream, i) : match_fields(joining, stream, i);
    return good ? stream : NULL;
}

static Value stream_value(const Joining *joining, Stream *stream) {
    if (!stream) return value_error;
    return (Value){.kind = VALUE_stream, .range = joining->call->range, .stream = stream};
}

/* Calls. */

/* Joins the streams and notes the call. */
static Value join_noted(const Joining *joining, Stream **stream) {
    *stream = join(joining);
    if (*stream) note_stage(joining->context, (*stream)->pipeline, joining->call, STAGE_join);
    return stream_value(joining, *stream);
}

Value join_list(const Context *context, const Expression *call, const Value *list) {
    Joining joining = {.context = context,
                       .call = call,
                       .kind = !strcmp(call->name.text, "concat") ? JOIN_concat : JOIN_interleave,
                       .streams = list->items.values,
                       .count = list->items.count};
    Stream *stream;
    return join_noted(&joining, &stream);
}

static Value lower_list_of_streams(const Context *context, const Expression *argument,
                                   const char *name, const char *example) {
    Value list = lower_expression(context, argument);
    bool good = list.kind == VALUE_items && list.items.count && !list.items.names;
    if (good || list.kind == VALUE_error) return list;
    diagnostic_help(report(context, E0203, argument->range, "`%s` takes a list of streams", name),
                    "%s", example);
    return value_error;
}

static Value lower_interleave(const Context *context, const Expression *call) {
    const Expression *argument = only_argument(context, call, "streams", "interleave([a, b])");
    if (!argument) return value_error;
    Value list = lower_list_of_streams(context, argument, "interleave", "`interleave([a, b])`");
    return list.kind == VALUE_error ? list : join_list(context, call, &list);
}

static Value lower_zip(const Context *context, const Expression *call) {
    size_t count = call->arguments.count;
    Value *streams = arena_new_array(context->lowering->arena, Value, count + 1);
    bool good = count > 0;
    for (size_t i = 0; i < count; i++) {
        good &= !call->arguments.items[i].name.text;
        streams[i] = lower_expression(context, call->arguments.items[i].value);
        if (streams[i].kind == VALUE_error) return value_error;
    }
    if (!good) {
        diagnostic_help(report(context, E0204, call->range, "`zip` takes streams"), "`zip(a, b)`");
        return value_error;
    }
    Joining joining = {
        .context = context, .call = call, .kind = JOIN_zip, .streams = streams, .count = count};
    Stream *stream;
    return join_noted(&joining, &stream);
}

/* mix([a, b], weights = [0.7, 0.3], seed = 1) */

static bool is_weight(const Context *context, const Value *value, Range range, double *weight) {
    if (value->kind == VALUE_error || !to_number(context, value, range, weight)) return false;
    if (*weight > 0 && *weight <= 1e9) return true;
    report(context, E0211, range, "a weight is more than 0 and at most 1e9, not %.15g", *weight);
    return false;
}

static bool lower_weights(const Context *context, const Expression *argument, const Value *streams,
                          Join *join) {
    Context fixing = *context;
    fixing.fixing = true;
    Value list = lower_expression(&fixing, argument);
    if (list.kind == VALUE_error) return false;
    if (list.kind != VALUE_items || list.items.count != streams->items.count) {
        Diagnostic *d =
            report(context, E0203, argument->range, "`weights` is a list of %zu numbers, not %s",
                   streams->items.count, value_text(context->lowering->arena, &list));
        diagnostic_note(d, streams->range, "one for each of these");
        return false;
    }
    for (size_t i = 0; i < list.items.count; i++) {
        const Value *value = &list.items.values[i];
        double weight;
        Range range = value->range.source ? value->range : argument->range;
        if (!is_weight(&fixing, value, range, &weight)) return false;
        vector_push(context->lowering->arena, &join->weights, weight);
    }
    return true;
}

static Value lower_mix(const Context *context, const Expression *call) {
    static const char *const parameters[] = {"streams", "weights", "seed", NULL};
    static const char *const example = "mix([a, b], weights = [0.7, 0.3], seed = 1)";
    Given given = given_arguments(context, call, parameters, 3, example);
    double seed = given_number(&given, 2, 0, 0, 0x1p53);
    Join options = {0};
    if (given.broken) return value_error;
    Value list = lower_list_of_streams(context, given.values[0], "mix",
                                       arena_format(context->lowering->arena, "`%s`", example));
    if (list.kind == VALUE_error || !lower_weights(context, given.values[1], &list, &options))
        return value_error;
    Joining joining = {.context = context,
                       .call = call,
                       .kind = JOIN_mix,
                       .streams = list.items.values,
                       .count = list.items.count};
    Stream *stream;
    Value result = join_noted(&joining, &stream);
    if (!stream) return value_error;
    stream->pipeline->join.weights = options.weights;
    stream->pipeline->join.number = (uint64_t)seed;
    return result;
}

Stream *join_one(const Context *context, const Expression *call, const Value *piped,
                 JoinKind kind) {
    Joining joining = {
        .context = context, .call = call, .kind = kind, .streams = piped, .count = 1};
    return join(&joining);
}

Value lower_repeat(const Context *context, const Expression *call, const Value *piped) {
    double passes;
    if (!whole_number(context, only_argument(context, call, "passes", "repeat(3)"), "passes", 1,
                      PASSES_LIMIT, &passes))
        return value_error;
    Stream *stream = join_one(context, call, piped, JOIN_repeat);
    if (!stream) return value_error;
    stream->pipeline->join.number = (uint64_t)passes;
    return (Value){.kind = VALUE_stream, .range = call->range, .stream = stream};
}

static const struct {
    const char *name;
    Value (*lower)(const Context *context, const Expression *call);
} joins[] = {
#define JOIN(name, lowers, what) {#name, lowers},
#include "compiler/lower/stages.def"
};

bool is_join_name(const char *name) {
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        if (joins[i].lower && !strcmp(joins[i].name, name)) return true;
    return false;
}

bool lower_join(const Context *context, const Expression *call, const Value *piped, Value *result) {
    if (!is_join_name(call->name.text)) return false;
    *result = value_error;
    if (piped) {
        Diagnostic *d =
            report(context, E0204, call->range,
                   "`%s` takes its streams as arguments; nothing flows into it", call->name.text);
        diagnostic_help(d, "`zip(a, b)`, `interleave([a, b])`, `concat([a, b])`");
        return true;
    }
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        if (!strcmp(joins[i].name, call->name.text)) *result = joins[i].lower(context, call);
    return true;
}
