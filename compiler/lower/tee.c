/* Tee: `records |> tee(csv("log.csv"))`: a sink gets the records as they are at that place, and
 * they go on. Of records that are not in batches yet it takes outputs of their section, which
 * carries them beside those of the end; of batches results of their function. */
#include "compiler/lower/sink.h"

#include <string.h>

static bool report_use(const Context *context, Range range, const char *problem) {
    Diagnostic *d = report(context, E0204, range, "`tee` %s", problem);
    diagnostic_help(d, "`|> tee(csv(\"log.csv\"))`");
    return false;
}

static const Expression *sink_of(const Context *context, const Expression *call) {
    const ArgumentList *arguments = &call->arguments;
    const Expression *sink = arguments->count == 1 ? arguments->items[0].value : NULL;
    if (sink && !arguments->items[0].name.text && sink->kind == EXPRESSION_call &&
        is_sink_name(sink->name.text))
        return expect_no_annotations(context, sink) ? sink : NULL;
    report_use(context, sink ? sink->range : call->range, "takes a sink");
    return NULL;
}

/* A value as it goes to the sink, which fixes its type. */
static bool fix_value(const Context *inner, Value *value) {
    Value before = *value;
    if (value->kind == VALUE_error) return false;
    NodeId node = to_node(inner, value, usual_element(value), value->range);
    if (node == NODE_NONE) return false;
    *value = value_tensor(inner->graph, node, before.range);
    value->low = before.low;
    value->high = before.high;
    return true;
}

static void add_field(const Context *context, Tee *tee, const char *name, Type type, int index) {
    Arena *arena = context->lowering->arena;
    vector_push(arena, &tee->sink.fields, (SinkField){.name = name, .type = type, .index = index});
}

/* The fields are nodes until it is known which output or result each is. */
static bool take_values(const Context *inner, Items *record, Tee *tee, bool batched) {
    for (size_t i = 0; i < record->count; i++) {
        if (!fix_value(inner, &record->values[i])) return false;
        Value *value = &record->values[i];
        Type type = *value_type(value);
        if (batched && !is_of_records(inner, record->names[i], value)) return false;
        add_field(inner, tee, record->names[i], batched ? type_without(type, 0) : type,
                  (int)value->node);
    }
    return true;
}

/* What the pipeline's batches have already. */
static void take_outputs(const Context *context, const Stream *stream, Tee *tee) {
    for (size_t i = 0; i < stream->record.count; i++) {
        const Field *field = &stream->pipeline->section->outputs.items[i];
        add_field(context, tee, field->name, field->type, (int)i);
    }
    tee->placed = true;
}

static void take_results(const Context *context, const Stream *stream, Tee *tee) {
    for (size_t i = 0; i < stream->results.count; i++)
        add_field(context, tee, stream->results.names[i], stream->function->results.items[i],
                  (int)i);
    tee->sink.of_results = tee->placed = true;
}

static bool take_fields(const Context *context, Stream *stream, bool batched, Tee *tee) {
    if (stream->unbatched && stream->function) {
        take_results(context, stream, tee);
    } else if (batched && stream->results.names) {
        Context inner = batch_context(context, stream);
        tee->sink.of_results = true;
        return take_values(&inner, &stream->results, tee, true);
    } else if (batched || stream->unbatched) {
        take_outputs(context, stream, tee);
    } else {
        Context inner = record_context(context, stream);
        return has_fields(context, stream) && take_values(&inner, &stream->record, tee, false);
    }
    return true;
}

Value lower_tee(const Context *context, const Expression *call, const Value *piped) {
    Stream *stream = piped->stream;
    const Expression *sink = sink_of(context, call);
    Tee tee = {.range = call->range};
    if (!sink || !take_fields(context, stream, piped->kind == VALUE_batch, &tee) ||
        !read_sink(context, sink, &tee.sink) ||
        !suits_sink(context, stream, &tee.sink, sink->range) ||
        !has_own_target(context, stream, &tee.sink, sink->range))
        return value_error;
    vector_push(context->lowering->arena, &stream->tees, tee);
    return *piped;
}

bool report_tees(const Context *context, const Stream *stream, Range range) {
    if (!stream->tees.count) return false;
    Diagnostic *d = report(context, E0214, range,
                           "these records pass a `tee`, which only a pipeline has that runs by "
                           "itself");
    diagnostic_note(d, stream->tees.items[0].range, "it is here");
    diagnostic_help(d, "elsewhere records are made ahead, and again after `--resume`; leave `tee` "
                       "out, or write them by `pipeline seen { return … |> csv(\"seen.csv\") }`");
    return true;
}

/* Placing. */

/* The number of the result that is this node, or -1. */
static int find_result(const Graph *graph, NodeId node) {
    int index = 0;
    vector_each(Output, output, graph->outputs) {
        if (output->kind != OUTPUT_result) continue;
        if (output->value == node) return index;
        index++;
    }
    return -1;
}

static int add_result(const Context *inner, const SinkField *field, Section *section) {
    Arena *arena = inner->lowering->arena;
    Function *function = inner->function;
    const char *name = arena_format(arena, "%s of tee", field->name);
    graph_output(inner->graph, OUTPUT_result, name, field->index, NODE_NONE);
    vector_push(arena, &function->results, field->type);
    if (function == &section->record)
        vector_push(arena, &section->outputs, (Field){.name = name, .type = field->type});
    return (int)function->results.count - 1;
}

void place_tees(const Context *inner, Stream *stream) {
    Section *section = stream->pipeline->section;
    vector_each(Tee, tee, stream->tees) {
        if (tee->placed) continue;
        if (tee->sink.of_results != (inner->function != &section->record)) continue;
        tee->placed = true;
        vector_each(SinkField, field, tee->sink.fields) {
            int found = find_result(inner->graph, field->index);
            field->index = found < 0 ? add_result(inner, field, section) : found;
        }
    }
}
