/* Fit: states that are found in the data before training begins. `fit { … }` in a model runs over
 * all batches of the training data, once; what it assigns is kept as any state is.
 *
 * A fit that sees what another one found has to wait for it: so there are as many passes over the
 * data as fits that build on one another, each a function of its own. The states of one call are
 * fitted together, so what was fitted is known by the call's path. */
#include "compiler/lower/training.h"

#include <string.h>

static bool is_model(const Context *context) {
    const Frame *frame = context->frame;
    return context->graph && frame && frame->declaration &&
           frame->declaration->kind == DECLARATION_model;
}

/* What is wrong with the place of the block, or NULL. */
static const char *misplaced(const Context *context) {
    if (!is_model(context)) return "only a model can `fit` states";
    if (context->scan) return "a scan can't hold `fit`, which runs before it";
    if (context->frame->block) return "`fit` can't stand in another one";
    if (context->optimizing) return "an optimizer can't `fit`, which runs before it";
    return NULL;
}

static bool assigns(const StatementList *body) {
    for (size_t i = 0; i < body->count; i++) {
        const Statement *statement = body->items[i];
        if (statement->kind == STATEMENT_assign || assigns(&statement->body) ||
            assigns(&statement->otherwise))
            return true;
    }
    return false;
}

static bool may_fit(const Context *context, const Statement *statement) {
    const char *problem = misplaced(context);
    if (problem) report(context, E0214, statement->range, "%s", problem);
    if (problem || assigns(&statement->body)) return !problem;
    Diagnostic *d = report(context, E0214, statement->range,
                           "this `fit` assigns no state, so it keeps nothing");
    diagnostic_help(d, "`fit { most = maximum(most, max(x, axis = 0)) }` behind "
                       "`state most: f32[E] = zeros()`");
    return false;
}

/* Does the name belong to the block itself? */
static bool is_of_block(const Context *context, const Name *name) {
    const Scope *scope = context->scope;
    while (scope != context->frame->block && !scope_find_here(scope, name->text))
        scope = scope->parent;
    return scope_find_here(scope, name->text);
}

bool may_change(const Context *context, const Name *name, const Binding *binding) {
    if (!context->frame->block || binding->state || is_of_block(context, name)) return true;
    Diagnostic *d =
        report(context, E0214, name->range, "`fit` keeps states, and `%s` is none", name->text);
    if (binding->value.range.source)
        diagnostic_note(d, binding->value.range, "its value comes from here");
    diagnostic_help(d, "`state %s: … = zeros()`", name->text);
    return false;
}

/* What is fitted when the program is trained has to have been so, or it would be zero in an
 * export. */
static void check_fitted(const Context *context, const Statement *statement) {
    const Lowering *lowering = context->lowering;
    const Frame *frame = context->frame;
    while (frame->caller) frame = frame->caller;
    bool exported = frame->declaration && frame->declaration->kind == DECLARATION_export;
    if (!exported || !lowering->program->trains.count || lowering->diagnostics->list.count) return;
    vector_each(Storage, storage, lowering->program->storage)
        if (storage->fitted && !strcmp(storage->fitted, context->frame->path)) return;
    Diagnostic *d = report(context, E0308, statement->range,
                           "no train block fits the states of `%s`", context->frame->path);
    diagnostic_help(d, "states are the same where their names are: a train block has to call this "
                       "model; a second call of one has states of its own");
}

/* The block's statements. */

typedef struct Kept {
    Binding *binding;
    Value value;
} Kept;
typedef Vector(Kept) KeptList;

/* In the block, states go on from batch to batch, and from call to call of an instance. */
static KeptList enter(const Context *context) {
    KeptList kept = {0};
    for (Scope *scope = context->scope; scope; scope = scope->parent)
        for (size_t i = 0; i < scope->bindings.count; i++) {
            Binding *binding = &scope->bindings.items[i];
            if (!binding->state || binding->value.kind != VALUE_tensor) continue;
            vector_push(context->lowering->arena, &kept, ((Kept){binding, binding->value}));
            const Output *updated = graph_update(context->graph, binding->target);
            binding->value.node = updated ? updated->value : binding->target;
        }
    return kept;
}

static void keep(const Context *context, const Binding *binding) {
    Output *before = graph_update(context->graph, binding->target);
    if (binding->value.kind != VALUE_tensor || binding->value.node == binding->target) return;
    if (before) before->value = binding->value.node;
    else
        graph_output(context->graph, OUTPUT_update, binding->state, binding->value.node,
                     binding->target);
    find_storage(context, binding->state)->fitted = context->frame->path;
}

/* What stands behind the block sees what was fitted, not what is being fitted. */
static void leave(const Context *context, const KeptList *kept) {
    vector_each(const Kept, state, *kept) {
        if (context->fitted && !context->checking) keep(context, state->binding);
        state->binding->value = state->value;
    }
}

/* What the block calls has names of its own: those outside are the same when it is not run. */
static Frame *block_frame(const Context *context) {
    Frame *frame = context->frame;
    Arena *arena = context->lowering->arena;
    if (frame->fitting) return frame->fitting;
    frame->fitting = arena_new_item(arena, Frame);
    *frame->fitting = *frame;
    frame->fitting->path = arena_format(arena, "%s/fit", frame->path);
    frame->fitting->callees = map_new(arena);
    return frame->fitting;
}

static void run_block(const Context *context, const Statement *statement) {
    Context inner = *context;
    Value result = {.kind = VALUE_error};
    Frame *frame = inner.frame = block_frame(context);
    inner.scope = scope_new(context->lowering->arena, context->scope);
    frame->block = inner.scope;
    frame->returned = false;
    lower_block(&inner, &statement->body, &result);
    context->frame->undecided |= frame->undecided;
    if (frame->returned)
        report(context, E0214, statement->range, "a model returns behind `fit`, not in it");
}

void lower_fit(const Context *context, const Statement *statement) {
    if (!may_fit(context, statement)) return;
    bool wanted = context->fitted && !map_get(context->fitted, context->frame->path);
    context->lowering->fits = true;
    if (!wanted && !context->checking) {
        check_fitted(context, statement);
        return;
    }
    KeptList kept = enter(context);
    run_block(context, statement);
    leave(context, &kept);
}

/* A pass. */

/* What the new value of a state is made of. */
typedef struct Origin {
    const Storage *trained; /* a weight, or a state that training changes; or NULL */
    const char *awaited;    /* the path of another call whose states are not fitted yet; or NULL */
} Origin;

static void look_at(const Context *context, const Node *node, const char *path, Origin *origin) {
    const Storage *storage = find_storage(context, node->name);
    if (!storage->fitted) origin->trained = storage;
    else if (strcmp(storage->fitted, path) && !map_get(context->fitted, storage->fitted))
        origin->awaited = storage->fitted;
}

static Origin origin_of(const Context *context, const Output *update) {
    const Graph *graph = context->graph;
    bool *needed = arena_new_array(context->lowering->arena, bool, graph->nodes.count + 1);
    Origin origin = {0};
    needed[update->value] = true;
    for (NodeId id = update->value + 1; id-- > 0;) {
        const Node *node = graph_node(graph, id);
        if (!needed[id]) continue;
        if (node->op == OP_weight)
            look_at(context, node, find_storage(context, update->name)->fitted, &origin);
        for (int i = 0; i < node->input_count; i++) needed[node->inputs[i]] = true;
    }
    return origin;
}

static void report_trained(const Context *context, const Output *update, const Origin *origin) {
    Diagnostic *d =
        report(context, E0309, graph_node(context->graph, update->value)->range,
               "`%s` would be fitted to what `%s` makes of the data, which changes as it "
               "is trained",
               update->name, origin->trained->name);
    diagnostic_note(d, origin->trained->range, "it is declared here");
    diagnostic_help(d, "fit what comes from the data; batch_norm follows what changes");
}

/* Is any state of the call not to be had in this pass? */
static bool waits(const Context *context, const char *path) {
    vector_each(Output, output, context->graph->outputs) {
        if (output->kind != OUTPUT_update) continue;
        if (strcmp(find_storage(context, output->name)->fitted, path)) continue;
        if (origin_of(context, output).awaited) return true;
    }
    return false;
}

/* Leaves the updates that this pass makes. Returns how many others there are; -1 after an error. */
static int choose_updates(const Context *context) {
    Graph *graph = context->graph;
    Vector(Output) chosen = {0};
    int left = 0;
    vector_each(Output, output, graph->outputs) {
        if (output->kind != OUTPUT_update) continue;
        Origin origin = origin_of(context, output);
        if (origin.trained) {
            report_trained(context, output, &origin);
            return -1;
        }
        if (waits(context, find_storage(context, output->name)->fitted)) left++;
        else vector_push(context->lowering->arena, &chosen, *output);
    }
    graph_forget_outputs(graph);
    vector_each(Output, output, chosen)
        vector_push(context->lowering->arena, &graph->outputs, *output);
    return left;
}

/* Calls whose states fit one another can't begin. */
static void report_circle(const Context *context, const Declaration *declaration) {
    report(context, E0309, declaration->name.range,
           "what is fitted in `%s` goes round in a circle: each fit waits for another one",
           declaration->name.text);
}

void lower_fits(const Context *context, const Declaration *declaration, Train *train, Value data) {
    Arena *arena = context->lowering->arena;
    Map fitted = map_new(arena);
    for (int left = 1; left > 0;) {
        Function *function = arena_new_item(arena, Function);
        const char *name = arena_format(arena, "fit%zu", train->fits.count + 1);
        Context inner = step_context(context, declaration, train, function, name);
        inner.updates = false;
        inner.measures = NULL;
        inner.fitted = &fitted;
        lower_measures(&inner, declaration, data);
        function->results.count = function->totals.count = 0;
        left = choose_updates(&inner);
        if (left > 0 && !function->graph->outputs.count) report_circle(context, declaration);
        if (left < 0 || !function->graph->outputs.count) return;
        vector_push(arena, &train->fits, function);
        vector_each(Output, output, function->graph->outputs)
            map_put(&fitted, find_storage(&inner, output->name)->fitted, function);
    }
}
