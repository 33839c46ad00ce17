/* Weight: `weight` and `state` statements, with their first values. */
#include "compiler/lower/lowering.h"

/* The first value, in the graph that runs before training. */
static void initialise(const Context *context, const Statement *statement, const char *path,
                       const Type *type) {
    Context inner = *context;
    Function *function = context->initialise;
    Frame frame = {.caller = context->frame,
                   .path = path,
                   .callees = map_new(context->lowering->arena),
                   .depth = context->frame->depth};
    inner.frame = &frame;
    inner.graph = function->graph;
    inner.scan = NULL;
    inner.function = function;
    inner.initialise = NULL;
    inner.updates = false;
    inner.expected = type;
    place_nodes(&inner);
    Value value = lower_expression(&inner, statement->value);
    NodeId first = to_node(&inner, &value, type->element, statement->value->range);
    if (first == NODE_NONE) return;
    Range range = users_place(context, statement->value->range);
    Node whole = {.op = OP_broadcast, .inputs = {first}, .type = *type};
    Value all = add_node(&inner, whole, statement->value->range);
    if (all.kind == VALUE_error) return;
    Node weight = {.op = OP_weight, .name = path, .type = *type, .range = range};
    graph_output(inner.graph, OUTPUT_update, path, all.node, graph_must_add(inner.graph, weight));
}

static bool may_store(const Context *context, const Statement *statement) {
    const Frame *frame = context->frame;
    if (context->graph && frame && frame->declaration &&
        frame->declaration->kind == DECLARATION_model)
        return true;
    report(context, E0214, statement->range, "only a model can own a %s",
           statement->kind == STATEMENT_state ? "state" : "weight");
    return false;
}

/* What a block of `fit` declares would not be there when it is over. */
static bool may_store_in_fit(const Context *context, const Statement *statement) {
    if (!context->frame->block) return true;
    Diagnostic *d =
        report(context, E0214, statement->names.items[0].range, "a %s can't be declared in `fit`",
               statement->kind == STATEMENT_state ? "state" : "weight");
    diagnostic_help(d, "declare it in front of `fit`");
    return false;
}

/* All turns of a scan share one set of weights; what changes from turn to turn is carried. */
static bool may_store_in_scan(const Context *context, const Statement *statement) {
    if (!context->scan) return true;
    bool state = statement->kind == STATEMENT_state;
    if (!state && context->frame != context->scan->frame) return true;
    Diagnostic *d = report(context, E0214, statement->names.items[0].range,
                           "a %s can't be declared in a scan", state ? "state" : "weight");
    diagnostic_note(d, context->scan->statement->names.items[0].range, "the scan begins here");
    if (state) diagnostic_help(d, "`let` a name before the scan; what it assigns is carried");
    else diagnostic_help(d, "declare it before the scan, whose turns all read it");
    return false;
}

static bool has_known_sizes(const Context *context, const Statement *statement, const Type *type) {
    int64_t size;
    for (int i = 0; i < type->rank; i++)
        if (!dim_is_constant(type->dims[i], &size)) {
            bool bounded = dim_is_bounded(type->dims[i]);
            Diagnostic *d = report(context, E0206, statement->type->range,
                                   bounded ? "the size %s of `%s` differs from run to run"
                                           : "the size %s of `%s` is not known",
                                   dim_text(context->lowering->arena, type->dims[i]),
                                   statement->names.items[0].text);
            if (bounded) diagnostic_help(d, "what is kept has one size: use the bound, a number");
            return false;
        }
    return true;
}

/* The node that holds it, in the graph around all scans; of deployment, its average. NODE_NONE
 * after reporting. */
static NodeId weight_node(const Context *context, const Name *name, const char *path,
                          const Type *type) {
    Problem problem;
    const Storage *storage = context->checking ? NULL : find_storage(context, path);
    bool averaged = context->averaged && storage && storage->average;
    Node weight = {.op = OP_weight,
                   .name = averaged ? storage->average : path,
                   .type = *type,
                   .range = users_place(context, name->range)};
    NodeId node = graph_add(outside_scans(context)->graph, weight, &problem);
    if (node == NODE_NONE) report(context, problem.code, name->range, "%s", problem.text);
    return node;
}

/* Binds the name to the value; of a state, to what an earlier call left. */
static void bind_weight(const Context *context, const Name *name, const char *path, bool trained,
                        NodeId node) {
    Graph *owner = outside_scans(context)->graph;
    introduce(context, name, inside_scan(context, value_tensor(owner, node, name->range)));
    Binding *binding = scope_find(context->scope, name->text);
    binding->weight = true;
    binding->target = node;
    if (trained) return;
    binding->state = path;
    const Output *updated = graph_update(context->graph, node);
    if (updated && context->updates) binding->value.node = updated->value;
}

static void report_no_first_value(const Context *context, const Name *name, bool trained) {
    Diagnostic *d = report(context, E0302, name->range, "`%s` has no first value", name->text);
    diagnostic_help(d, "`%s %s: … = zeros()`", trained ? "weight" : "state", name->text);
}

void lower_weight(const Context *context, const Statement *statement) {
    const Name *name = &statement->names.items[0];
    bool trained = statement->kind == STATEMENT_weight, begins = false;
    Type type;
    const char *path =
        arena_format(context->lowering->arena, "%s/%s", context->frame->path, name->text);
    bool sound = may_store(context, statement) && may_store_in_fit(context, statement) &&
                 may_store_in_scan(context, statement) &&
                 resolve_type(context, statement->type, &type);
    if (sound && !context->checking)
        sound = has_known_sizes(context, statement, &type) &&
                store(context, path, &type, trained, name->range, &begins);
    if (!sound) {
        introduce(context, name, value_error);
        return;
    }
    NodeId node = weight_node(context, name, path, &type);
    if (node == NODE_NONE) return;
    bind_weight(context, name, path, trained, node);
    if (!statement->value) report_no_first_value(context, name, trained);
    else if (context->initialise && (context->checking || begins))
        initialise(context, statement, path, &type);
}

void update_states(const Context *context) {
    if (!context->updates || context->checking) return;
    for (size_t i = 0; i < context->scope->bindings.count; i++) {
        const Binding *binding = &context->scope->bindings.items[i];
        bool changed = binding->state && binding->value.kind == VALUE_tensor &&
                       binding->value.node != binding->target;
        Output *before = changed ? graph_update(context->graph, binding->target) : NULL;
        if (before) before->value = binding->value.node;
        else if (changed)
            graph_output(context->graph, OUTPUT_update, binding->state, binding->value.node,
                         binding->target);
    }
}
