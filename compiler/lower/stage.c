/* Stage: pipelines. A stream is put together stage by stage; its records are computed by one
 * graph, into which every map is lowered. */
#include "compiler/lower/lowering.h"

#include <math.h>
#include <string.h>

enum { BATCH_LIMIT = 1 << 20, FIELD_LIMIT = 32, CHECK_LIMIT = 1000 };

static const char *const source_names[] = {
#define SOURCE(name) #name,
#include "runtime/source/sources.def"
#undef SOURCE
};

static const char *find_source(const char *name) {
    for (size_t i = 0; i < sizeof source_names / sizeof *source_names; i++)
        if (!strcmp(source_names[i], name)) return source_names[i];
    return NULL;
}

static Context record_context(const Context *context, const Stream *stream) {
    Context inner = *context;
    inner.graph = stream->pipeline->record.graph;
    inner.function = &stream->pipeline->record;
    inner.entering = true;
    inner.initialise = NULL;
    place_nodes(&inner);
    return inner;
}

static const char *pipeline_name(const Context *context) {
    for (const Frame *frame = context->frame; frame; frame = frame->caller)
        if (frame->declaration && frame->declaration->kind == DECLARATION_pipeline)
            return frame->declaration->name.text;
    return "data";
}

static void note_stage(const Context *context, Pipeline *pipeline, const Expression *call) {
    vector_push(context->lowering->arena, &pipeline->stages,
                (Stage){call->name.text, call->range, context->placement});
}

/* name(field: path, …) */
static Value open_source(const Context *context, const Expression *call, const char *source,
                         const Value *piped) {
    Lowering *lowering = context->lowering;
    Arena *arena = lowering->arena;
    Pipeline *pipeline = arena_new_item(arena, Pipeline);
    Stream *stream = arena_new_item(arena, Stream);
    *pipeline = (Pipeline){.name = pipeline_name(context), .range = call->range, .source = source};
    *stream = (Stream){.pipeline = pipeline, .record = items_new(arena, call->arguments.count)};
    pipeline->record.name = arena_format(arena, "%s.record", pipeline->name);
    pipeline->record.graph = graph_new(arena, lowering->dimensions, pipeline->record.name);
    if (piped || !call->arguments.count) {
        Diagnostic *d =
            report(context, E0204, call->range, "`%s` starts a pipeline from named files", source);
        diagnostic_help(d, "`%s(image: images, label: labels)`", source);
        return value_error;
    }
    for (size_t i = 0; i < call->arguments.count; i++) {
        const Argument *argument = &call->arguments.items[i];
        Value path = lower_expression(context, argument->value);
        if (path.kind == VALUE_error) return value_error;
        if (path.kind != VALUE_string || !argument->name.text) {
            Diagnostic *d = report(context, E0204, argument->value->range,
                                   "`%s` takes the name and the file of each field", source);
            diagnostic_help(d, "`%s(image: \"file\")`", source);
            return value_error;
        }
        for (size_t j = 0; j < i; j++)
            if (!strcmp(call->arguments.items[j].name.text, argument->name.text)) {
                report(context, E0202, argument->name.range, "field `%s` is given twice",
                       argument->name.text);
                return value_error;
            }
        vector_push(
            arena, &pipeline->fields,
            (Field){.name = argument->name.text, .path = path.string, .path_option = path.index});
        stream->record.names[i] = argument->name.text;
        stream->record.values[i] = (Value){
            .kind = VALUE_field, .range = argument->name.range, .index = (int)i, .stream = stream};
    }
    note_stage(context, pipeline, call);
    return (Value){.kind = VALUE_stream, .range = call->range, .stream = stream};
}

static const Expression *only_argument(const Context *context, const Expression *call,
                                       const char *name) {
    if (call->arguments.count == 1) {
        const Name *given = &call->arguments.items[0].name;
        if (!given->text || !strcmp(given->text, name)) return call->arguments.items[0].value;
    }
    Diagnostic *d =
        report(context, E0204, call->range, "`%s` takes one argument, `%s`", call->name.text, name);
    diagnostic_help(d, "`%s(%s = %d)`", call->name.text, name, strcmp(name, "size") ? 1 : 64);
    return NULL;
}

static bool whole_argument(const Context *context, const Expression *call, const char *name,
                           double least, double most, double *number) {
    const Expression *argument = only_argument(context, call, name);
    Context fixing = *context;
    fixing.fixing = true;
    if (!argument) return false;
    Value value = lower_expression(&fixing, argument);
    if (!is_count(&fixing, &value, argument->range) ||
        !to_number(&fixing, &value, argument->range, number))
        return false;
    if (*number == floor(*number) && *number >= least && *number <= most) return true;
    report(context, E0211, argument->range, "`%s` is a whole number from %.15g to %.15g, not %.15g",
           name, least, most, *number);
    return false;
}

static Value shuffle(const Context *context, const Expression *call, const Value *stream) {
    double seed;
    if (!whole_argument(context, call, "seed", 0, 9007199254740992.0, &seed)) return value_error;
    Pipeline *pipeline = stream->stream->pipeline;
    if (pipeline->shuffled) {
        report(context, E0214, call->range, "this pipeline is shuffled already");
        return value_error;
    }
    pipeline->shuffled = true;
    pipeline->shuffle_seed = (uint64_t)seed;
    return *stream;
}

static Value map(const Context *context, const Expression *call, const Value *stream) {
    Lowering *lowering = context->lowering;
    Context inner = record_context(context, stream->stream);
    inner.scope = scope_new(lowering->arena, context->scope);
    Items *record = &stream->stream->record;
    for (size_t i = 0; i < record->count; i++)
        scope_put(lowering->arena, inner.scope, record->names[i], record->values[i]);
    Items mapped = items_new(lowering->arena, call->arguments.count);
    bool broken = !call->arguments.count;
    if (broken) report(context, E0204, call->range, "`map` makes at least one field: `map(x: …)`");
    for (size_t i = 0; i < call->arguments.count; i++) {
        const Argument *argument = &call->arguments.items[i];
        const Expression *value = argument->value;
        bool named = value->kind == EXPRESSION_name || value->kind == EXPRESSION_field;
        mapped.names[i] = argument->name.text ? argument->name.text
                          : named             ? value->name.text
                                              : NULL;
        mapped.values[i] = lower_expression(&inner, value);
        broken |= mapped.values[i].kind == VALUE_error;
        for (size_t j = 0; j < i && mapped.names[i]; j++)
            if (mapped.names[j] && !strcmp(mapped.names[j], mapped.names[i])) {
                report(context, E0202, argument->name.text ? argument->name.range : value->range,
                       "field `%s` is given twice", mapped.names[i]);
                broken = true;
            }
        if (mapped.names[i]) continue;
        report(context, E0204, value->range, "this field needs a name: `map(x: …)`");
        broken = true;
    }
    if (broken) return value_error;
    *record = mapped;
    return *stream;
}

/* What the runtime holds of one record. */
static bool is_within_limits(const Context *context, const Stream *stream) {
    const Pipeline *pipeline = stream->pipeline;
    size_t checks = 0;
    vector_each(Node, node, pipeline->record.graph->nodes) checks += node->op == OP_check;
    if (pipeline->fields.count <= FIELD_LIMIT && stream->record.count <= FIELD_LIMIT &&
        checks <= CHECK_LIMIT)
        return true;
    report(context, E0217, pipeline->range, "a record has at most %d fields and %d checks",
           FIELD_LIMIT, CHECK_LIMIT);
    return false;
}

/* The record's fields become the outputs of its graph. */
static bool finish_record(const Context *context, Stream *stream) {
    if (!is_within_limits(context, stream)) return false;
    Context inner = record_context(context, stream);
    Arena *arena = context->lowering->arena;
    Pipeline *pipeline = stream->pipeline;
    for (size_t i = 0; i < stream->record.count; i++) {
        const Value *value = &stream->record.values[i];
        if (value->kind == VALUE_error) return false;
        Element element = value->kind == VALUE_tensor ? value_type(value)->element : TYPE_f32;
        NodeId node = to_node(&inner, value, element, value->range);
        if (node == NODE_NONE) return false;
        Type type = graph_node(inner.graph, node)->type;
        graph_output(inner.graph, OUTPUT_result, stream->record.names[i], node, NODE_NONE);
        vector_push(arena, &pipeline->record.results, type);
        vector_push(arena, &pipeline->outputs,
                    (Field){.name = stream->record.names[i], .type = type});
    }
    for (size_t i = 0; i < pipeline->fields.count; i++) {
        const Field *field = &pipeline->fields.items[i];
        bool used = false;
        vector_each(Input, input, pipeline->record.inputs)
            used |= input->kind == INPUT_field && input->index == (int)i;
        if (used) continue;
        Diagnostic *d = report(context, E0205, pipeline->range,
                               "nothing uses the field `%s`, so its "
                               "type is not known",
                               field->name);
        diagnostic_help(d, "leave it out, or use it in a `map`");
        return false;
    }
    return true;
}

static Value batch(const Context *context, const Expression *call, const Value *stream) {
    double size;
    if (!whole_argument(context, call, "size", 1, BATCH_LIMIT, &size)) return value_error;
    if (!finish_record(context, stream->stream)) return value_error;
    Pipeline *pipeline = stream->stream->pipeline;
    pipeline->batch = (int64_t)size;
    vector_push(context->lowering->arena, &context->lowering->program->pipelines, pipeline);
    return (Value){.kind = VALUE_batch, .range = call->range, .stream = stream->stream};
}

typedef Value RunStage(const Context *context, const Expression *call, const Value *stream);

static const struct {
    const char *name;
    RunStage *run;
    bool computes;
} stages[] = {{"shuffle", shuffle, false}, {"map", map, true}, {"batch", batch, false}};

/* A stream flows on once: what it was before a stage is gone. */
static Value run_stage(const Context *context, const Expression *call, const Value *piped,
                       RunStage *run) {
    Stream *stream = piped->stream;
    if (piped->index != stream->stages) {
        Diagnostic *d =
            report(context, E0214, call->range, "this stream has gone on elsewhere already");
        diagnostic_note(d, stream->reader, "it went on here");
        diagnostic_help(d, "a stream has one reader; open its files a second time for another");
        return value_error;
    }
    Value result = run(context, call, piped);
    note_stage(context, stream->pipeline, call);
    result.index = ++stream->stages;
    stream->reader = call->range;
    return result;
}

bool is_stage_name(const char *name) {
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (!strcmp(stages[i].name, name)) return true;
    return find_source(name) != NULL;
}

bool is_computing_stage(const char *name) {
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (!strcmp(stages[i].name, name)) return stages[i].computes;
    return false;
}

const char *nearest_stage(const char *name) {
    enum { SOURCES = sizeof source_names / sizeof *source_names };
    const char *nearest = nearest_name(name, source_names, SOURCES);
    for (size_t i = 0; i < sizeof stages / sizeof *stages && !nearest; i++)
        nearest = nearest_name(name, &stages[i].name, 1);
    return nearest;
}

bool lower_stage(const Context *context, const Expression *call, const Value *piped,
                 Value *result) {
    const char *source = find_source(call->name.text);
    if (source) {
        *result = open_source(context, call, source, piped);
        return true;
    }
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (strcmp(stages[i].name, call->name.text)) continue;
        *result = value_error;
        if (piped && piped->kind == VALUE_stream) {
            *result = run_stage(context, call, piped, stages[i].run);
        } else if (piped && piped->kind == VALUE_batch) {
            report(context, E0214, call->range, "nothing can follow `batch` yet");
        } else {
            Diagnostic *d = report(context, E0203, call->range,
                                   "`%s` takes a stream of records, not %s", call->name.text,
                                   piped ? value_text(context->lowering->arena, piped) : "nothing");
            diagnostic_help(d, "`idx(…) |> %s(…)`", call->name.text);
        }
        return true;
    }
    return false;
}

Value batch_field(const Context *context, const Value *batch, const Name *name) {
    const Pipeline *pipeline = batch->stream->pipeline;
    Arena *arena = context->lowering->arena;
    const char **names = arena_new_array(arena, const char *, pipeline->outputs.count + 1);
    for (size_t i = 0; i < pipeline->outputs.count; i++) {
        const Field *field = &pipeline->outputs.items[i];
        names[i] = field->name;
        if (strcmp(field->name, name->text)) continue;
        Type type = field->type;
        if (type.rank == RANK_LIMIT) {
            report(context, E0208, name->range, "`%s` has too many dimensions for a batch",
                   name->text);
            return value_error;
        }
        memmove(type.dims + 1, type.dims, sizeof(Dim) * (size_t)type.rank++);
        type.dims[0] = context->graph->batch;
        const char *label = arena_format(arena, "%s.%s", pipeline->name, name->text);
        NodeId node =
            input_node(context, label, INPUT_field, (int)i, type, field->type, name->range);
        Value value = value_tensor(context->graph, node, name->range);
        value.low = batch->stream->record.values[i].low;
        value.high = batch->stream->record.values[i].high;
        return value;
    }
    Diagnostic *d =
        report(context, E0212, name->range, "the records have no field `%s`", name->text);
    const char *nearest = nearest_name(name->text, names, pipeline->outputs.count);
    help_nearest(d, nearest);
    if (!nearest)
        diagnostic_help(d, "their fields are %s",
                        names_text(arena, names, pipeline->outputs.count));
    diagnostic_note(d, pipeline->range, "they come from here");
    return value_error;
}
