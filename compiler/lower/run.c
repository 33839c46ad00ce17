/* Run: pipelines that end in a sink. Such a pipeline needs no train block: it runs by itself. */
#include "compiler/lower/stream.h"

static bool has_defaults(const Declaration *declaration) {
    for (size_t i = 0; i < declaration->parameters.count; i++)
        if (!declaration->parameters.items[i].value) return false;
    return true;
}

static SinkList all_sinks(Arena *arena, const Stream *stream) {
    SinkList sinks = {0};
    vector_each(Tee, tee, stream->tees) vector_push(arena, &sinks, tee->sink);
    vector_push(arena, &sinks, stream->sink);
    return sinks;
}

static void add_run(const Context *context, const Declaration *declaration, const Stream *stream) {
    Run run = {.name = declaration->name.text,
               .range = declaration->name.range,
               .pipeline = stream->pipeline,
               .function = stream->function,
               .sinks = all_sinks(context->lowering->arena, stream)};
    run.loads = context->lowering->loads;
    if (context->unit != context->lowering->module->program) return; /* an import's */
    vector_push(context->lowering->arena, &context->lowering->program->runs, run);
}

bool lower_run(const Context *context, const Declaration *declaration) {
    if (!has_defaults(declaration)) return false;
    Expression call = {
        .kind = EXPRESSION_call, .range = declaration->name.range, .name = declaration->name};
    Program *program = context->lowering->program;
    size_t before = program->pipelines.count, vocabularies = program->vocabularies.count;
    context->lowering->vocabularies.count = 0;
    Context inner = *context;
    Frame frame = {.path = "", .callees = map_new(context->lowering->arena)};
    inner.frame = &frame;
    inner.scope = scope_new(context->lowering->arena, NULL);
    context->lowering->loads = (LoadList){0};
    Value result = call_with(&inner, &call, NULL, 0, NULL);
    if (result.kind == VALUE_sink) {
        add_run(context, declaration, result.stream);
        load_vocabularies(context, declaration, context->lowering->loads.count);
        return true;
    }
    program->pipelines.count = before;
    program->vocabularies.count = vocabularies;
    return true;
}
