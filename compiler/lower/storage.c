/* Storage: weights and states, which all functions of a program share by name. */
#include "compiler/lower/lowering.h"

#include <string.h>

Storage *find_storage(const Context *context, const char *path) {
    Lowering *lowering = context->lowering;
    uintptr_t index = (uintptr_t)map_get(&lowering->stored, path);
    return index ? &lowering->program->storage.items[index - 1] : NULL;
}

/* The innermost call of an instance that was called before, or NULL. */
static const Frame *instance_call(const Context *context) {
    const Frame *frame = context->frame;
    while (frame && !(frame->instance && frame->instance->first_call.source)) frame = frame->caller;
    return frame;
}

/* The calls of an instance share its weights, so that they have to fit the first. */
static void report_reshaped(const Context *context, const Frame *call, const char *path,
                            const Type *type, const Type *known) {
    Arena *arena = context->lowering->arena;
    const Instance *instance = call->instance;
    Diagnostic *d = report(context, E0207, call->call,
                           "this call would make `%s` %s, the first call made it %s", path,
                           type_text(arena, type), type_text(arena, known));
    diagnostic_note(d, instance->first_call, "the first call");
    diagnostic_note(d, instance->made->range, "the instance is made here");
    diagnostic_help(d, "`new %s(…)` once more makes one with weights of its own",
                    instance->declaration->name.text);
}

/* Each train block gives every weight it uses its first value, once. */
static bool begin(const Context *context, const char *path) {
    Map *begun = &context->lowering->begun;
    if (!context->initialise) return false;
    if (map_get(begun, path) == context->initialise->graph) return false;
    map_put(begun, path, context->initialise->graph);
    return true;
}

/* The call in the body of an export that leads here; NULL elsewhere. */
static const Frame *call_of_export(const Context *context) {
    const Frame *frame = context->frame;
    while (frame && frame->caller && frame->caller->caller) frame = frame->caller;
    const Frame *body = frame ? frame->caller : NULL;
    bool exported = body && body->declaration && body->declaration->kind == DECLARATION_export;
    return exported ? frame : NULL;
}

/* A new weight of an export, where others are trained, would stay zero. Said once, where nothing
 * else is wrong. */
static void report_untrained(const Context *context, const char *path) {
    const Lowering *lowering = context->lowering;
    const Frame *frame = call_of_export(context);
    if (!frame || !lowering->program->trains.count || lowering->diagnostics->list.count) return;
    Diagnostic *d = diagnostic_add(lowering->diagnostics, E0308, frame->call,
                                   "no train block trains `%s`, a weight of this call", path);
    diagnostic_help(
        d, "weights are the same where their names are: a train block has to call this "
           "model; a second call of one has weights of its own: give both records to one call");
}

bool store(const Context *context, const char *path, const Type *type, bool trained, Range range,
           bool *begins) {
    Lowering *lowering = context->lowering;
    uintptr_t index = (uintptr_t)map_get(&lowering->stored, path);
    *begins = begin(context, path);
    if (!index) {
        if (trained) report_untrained(context, path);
        vector_push(lowering->arena, &lowering->program->storage,
                    (Storage){.name = path,
                              .type = *type,
                              .trained = trained,
                              .of_run = !strncmp(path, "optimizer/", 10),
                              .range = range});
        map_put(&lowering->stored, path, (void *)(uintptr_t)lowering->program->storage.count);
        return true;
    }
    const Storage *known = &lowering->program->storage.items[index - 1];
    if (type_equal(&known->type, type)) return true;
    const Frame *call = instance_call(context);
    if (call) {
        report_reshaped(context, call, path, type, &known->type);
        return false;
    }
    Diagnostic *d =
        report(context, E0207, range, "`%s` is %s here and %s elsewhere", path,
               type_text(lowering->arena, type), type_text(lowering->arena, &known->type));
    diagnostic_note(d, known->range, "it is declared here");
    return false;
}

/* What the weight node begins as, in the graph that sets first values. */
static NodeId first_value(const Context *context, NodeId like) {
    const char *name = graph_node(context->graph, like)->name;
    vector_each(Output, output, context->initialise->graph->outputs)
        if (!strcmp(output->name, name)) return output->value;
    return NODE_NONE;
}

static void initialise_state(const Context *context, const char *path, Type type, NodeId like,
                             Range range) {
    Problem problem;
    Graph *graph = context->initialise->graph;
    NodeId first = like == NODE_NONE ? graph_constant(graph, type.element, 0, range)
                                     : first_value(context, like);
    if (first == NODE_NONE) return; /* the weight is broken, and that was reported */
    first = graph_declared(graph, OP_broadcast, first, type, range);
    NodeId target = graph_add(
        graph, (Node){.op = OP_weight, .name = path, .type = type, .range = range}, &problem);
    graph_output(graph, OUTPUT_update, path, first, target);
}

NodeId keep_state(const Context *context, const char *path, Type type, NodeId like, Range range) {
    bool begins;
    Problem problem;
    if (!store(context, path, &type, false, range, &begins)) return NODE_NONE;
    find_storage(context, path)->of_run = true;
    if (begins) initialise_state(context, path, type, like, range);
    return graph_add(context->graph,
                     (Node){.op = OP_weight, .name = path, .type = type, .range = range}, &problem);
}
