/* Run: pipelines that end in a sink. Such a pipeline needs no train block: it runs by itself. */
#include "compiler/lower/stream.h"

#include <string.h>

/* Records made together for a sink that gets them one by one: so many, or as many bytes. */
enum { RUN_BATCH = 1024, RUN_BYTES = 1 << 20 };

static const double run_patience = 0.02; /* seconds: nobody asked for a whole batch of a feed */

static bool finish_run(const Context *context, Stream *stream) {
    int64_t bytes = 1;
    if (!finish_pipeline(context, stream, RUN_BATCH)) return false;
    vector_each(Field, output, stream->pipeline->section->outputs)
        bytes += type_size_bound(&output->type);
    if (bytes > RUN_BYTES / RUN_BATCH)
        stream->pipeline->batch = bytes < RUN_BYTES ? RUN_BYTES / bytes : 1;
    stream->pipeline->patience = run_patience;
    return true;
}

static Value add_sink(const Context *context, const Expression *call, const Value *piped,
                      SinkKind kind, const char *path) {
    Stream *stream = piped->stream;
    if (!stream->unbatched && !finish_run(context, stream)) return value_error;
    stream->sink = kind;
    stream->sink_path = path;
    return (Value){.kind = VALUE_sink, .range = call->range, .stream = stream};
}

Value lower_print(const Context *context, const Expression *call, const Value *piped) {
    if (!call->arguments.count) return add_sink(context, call, piped, SINK_print, NULL);
    report(context, E0204, call->range, "`print` takes no arguments: it prints every field");
    return value_error;
}

Value lower_csv(const Context *context, const Expression *call, const Value *piped) {
    const Expression *argument = call->arguments.count == 1 && !call->arguments.items[0].name.text
                                     ? call->arguments.items[0].value
                                     : NULL;
    Context fixing = *context;
    fixing.fixing = true;
    Value path = argument ? lower_expression(&fixing, argument) : (Value){.kind = VALUE_items};
    if (path.kind == VALUE_error) return value_error;
    if (path.kind == VALUE_stdout) return add_sink(context, call, piped, SINK_csv, NULL);
    if (path.kind == VALUE_string && *path.string)
        return add_sink(context, call, piped, SINK_csv, fixed_string(context, &path));
    Diagnostic *d = report(context, E0204, call->range, "`csv` writes to a file or to `stdout`");
    diagnostic_help(d, "`|> csv(\"results.csv\")`");
    return value_error;
}

static bool has_defaults(const Declaration *declaration) {
    for (size_t i = 0; i < declaration->parameters.count; i++)
        if (!declaration->parameters.items[i].value) return false;
    return true;
}

static void add_run(const Context *context, const Declaration *declaration, const Stream *stream) {
    Run run = {.name = declaration->name.text,
               .range = declaration->name.range,
               .pipeline = stream->pipeline,
               .function = stream->function,
               .sink = stream->sink,
               .path = stream->sink_path};
    run.loads = context->lowering->loads;
    if (context->unit != context->lowering->module->program) return; /* an import's */
    vector_push(context->lowering->arena, &context->lowering->program->runs, run);
}

bool lower_run(const Context *context, const Declaration *declaration) {
    if (!has_defaults(declaration)) return false;
    Expression call = {
        .kind = EXPRESSION_call, .range = declaration->name.range, .name = declaration->name};
    size_t before = context->lowering->program->pipelines.count;
    Context inner = *context;
    Frame frame = {.path = "", .callees = map_new(context->lowering->arena)};
    inner.frame = &frame;
    inner.scope = scope_new(context->lowering->arena, NULL);
    context->lowering->loads = (LoadList){0};
    Value result = call_with(&inner, &call, NULL, 0, NULL);
    if (result.kind == VALUE_sink) add_run(context, declaration, result.stream);
    else context->lowering->program->pipelines.count = before;
    return true;
}
