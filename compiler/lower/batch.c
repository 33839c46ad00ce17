/* Batch: where records become batches, and the function that a pipeline runs on each. */
#include "compiler/lower/given.h"
#include "compiler/lower/stream.h"

#include <string.h>

enum { BATCH_LIMIT = 1 << 20, LONGEST_TIME = 24 * 3600 /* seconds */ };

/* Inputs stand before those who read them. */
static void add_pipeline(const Context *context, Pipeline *pipeline) {
    vector_each(Pipeline *, input, pipeline->join.inputs) add_pipeline(context, *input);
    vector_push(context->lowering->arena, &context->lowering->program->pipelines, pipeline);
}

bool finish_pipeline(const Context *context, Stream *stream, int64_t size) {
    if (!finish_section(context, stream)) return false;
    stream->pipeline->batch = size;
    add_pipeline(context, stream->pipeline);
    return true;
}

static bool is_time(const Value *value) {
    static const char *const units[] = {"ms", "s", "min", "h"};
    for (size_t i = 0; value->unit && i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i], value->unit)) return true;
    return false;
}

/* Seconds; false after reporting. */
static bool to_time(const Context *context, const Expression *argument, double *seconds) {
    Value value = lower_expression(context, argument);
    if (value.kind == VALUE_error) return false;
    *seconds = value.number;
    if (value.kind == VALUE_number && is_time(&value) && *seconds > 0 && *seconds <= LONGEST_TIME)
        return true;
    Diagnostic *d = report(context, E0203, argument->range, "`timeout` is a time, not %s",
                           value_text(context->lowering->arena, &value));
    diagnostic_help(d, "`timeout = 5ms`; the units are ms, s, min and h");
    return false;
}

Value lower_batch(const Context *context, const Expression *call, const Value *piped) {
    static const char *const parameters[] = {"size", "timeout", "ordered", NULL};
    Pipeline *pipeline = piped->stream->pipeline;
    Given given =
        given_arguments(context, call, parameters, 1,
                        "batch(64)`, `batch(64, timeout = 5ms)`, `batch(64, ordered = false)");
    double size = given_number(&given, 0, 1, 1, BATCH_LIMIT);
    bool ordered = given_truth(&given, 2, true);
    if (given.broken ||
        (given.values[1] && !to_time(context, given.values[1], &pipeline->patience)))
        return value_error;
    pipeline->unordered = !ordered;
    if (!finish_pipeline(context, piped->stream, (int64_t)size)) return value_error;
    return (Value){.kind = VALUE_batch, .range = call->range, .stream = piped->stream};
}

/* The function of the stream's batches, made when first asked for. */
static Function *batch_function(const Context *context, Stream *stream) {
    Lowering *lowering = context->lowering;
    if (stream->function) return stream->function;
    Function *function = stream->function = arena_new_item(lowering->arena, Function);
    function->name = arena_format(lowering->arena, "%s.batch", stream->pipeline->name);
    function->graph = graph_new(lowering->arena, lowering->dimensions, function->name);
    function->graph->batch = dim_symbol(lowering->dimensions, "B", stream->pipeline->batch, true);
    return function;
}

Context batch_context(const Context *context, Stream *stream) {
    Context inner = *context;
    inner.function = batch_function(context, stream);
    inner.graph = inner.function->graph;
    inner.scope = scope_new(context->lowering->arena, context->scope);
    place_nodes(&inner);
    return inner;
}

/* The batch's fields, or what the `map` before made of them. */
static Items batch_record(const Context *inner, const Value *batch) {
    const Stream *stream = batch->stream;
    if (stream->results.names) return stream->results;
    Items record = items_new(inner->lowering->arena, stream->record.count);
    for (size_t i = 0; i < record.count; i++) {
        Name name = {stream->record.names[i], batch->range};
        record.names[i] = name.text;
        record.values[i] = batch_field(inner, batch, &name);
    }
    return record;
}

Value lower_batch_map(const Context *context, const Expression *call, const Value *batch) {
    Context inner = batch_context(context, batch->stream);
    Items record = batch_record(&inner, batch);
    put_record(context, inner.scope, &record);
    Items mapped = lower_fields(context, &inner, call);
    if (!mapped.names) return value_error;
    batch->stream->results = mapped;
    return *batch;
}

bool is_of_records(const Context *inner, const char *name, const Value *value) {
    const Type *type = value_type(value);
    if (type->rank && type->dims[0] == inner->graph->batch) return true;
    Diagnostic *d = report(inner, E0207, value->range, "`%s` is %s, not one value a record", name,
                           type_text(inner->lowering->arena, type));
    diagnostic_help(d, "the first dimension of what leaves a batch is the batch");
    return false;
}

/* A batch of values becomes a result of each record. */
static bool add_result(const Context *inner, const char *name, const Value *value) {
    NodeId node = to_node(inner, value, usual_element(value), value->range);
    if (node == NODE_NONE) return false;
    Value result = value_tensor(inner->graph, node, value->range);
    if (!is_of_records(inner, name, &result)) return false;
    Type type = *value_type(&result);
    graph_output(inner->graph, OUTPUT_result, name, node, NODE_NONE);
    vector_push(inner->lowering->arena, &inner->function->results, type_without(type, 0));
    return true;
}

Value lower_unbatch(const Context *context, const Expression *call, const Value *batch) {
    Stream *stream = batch->stream;
    if (call->arguments.count) {
        report(context, E0204, call->range, "`unbatch` takes no arguments");
        return value_error;
    }
    Context inner = batch_context(context, stream);
    stream->unbatched = true;
    if (!stream->results.names) stream->function = NULL;
    for (size_t i = 0; stream->results.names && i < stream->results.count; i++)
        if (!add_result(&inner, stream->results.names[i], &stream->results.values[i]))
            return value_error;
    place_tees(&inner, stream);
    return (Value){.kind = VALUE_stream, .range = call->range, .stream = stream};
}
