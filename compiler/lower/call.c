/* Call: running the body of what is called, in the scope of its signature. */
#include "compiler/lower/lowering.h"

#include <string.h>

/* A call whose arguments are being matched. */
typedef struct Call {
    const Context *caller;
    const Expression *expression;
    const Declaration *declaration;
    Instance *instance; /* that is called, or NULL */
    Context inside;     /* of the body */
    Frame frame;
    bool *filled;   /* of each parameter */
    size_t implied; /* arguments that are not between the parentheses: piped, or the trainer's */
    bool lifted;    /* an argument was a record where a batch is asked for */
    bool broken;
} Call;

static bool is_recursive(const Context *context, const Declaration *declaration, Range range) {
    for (const Frame *frame = context->frame; frame; frame = frame->caller)
        if (frame->declaration == declaration) {
            Diagnostic *d =
                report(context, E0210, range, "`%s` calls itself%s", declaration->name.text,
                       frame == context->frame ? "" : " by way of others");
            diagnostic_note(d, declaration->name.range, "declared here");
            diagnostic_help(d,
                            "a program is laid out before it runs; `repeat` does a thing n times");
            return true;
        }
    return false;
}

/* Instances can be nested in one another, so that only their depth is limited.
 * loaded: with weights from a file. */
static bool may_call(const Context *context, const Declaration *declaration,
                     const Instance *instance, bool loaded, Range range) {
    Lowering *lowering = context->lowering;
    int depth = context->frame ? context->frame->depth : 0;
    if (lowering->exhausted) return false;
    if (!instance && is_recursive(context, declaration, range)) return false;
    if (++lowering->calls > CALL_LIMIT || depth >= CALL_DEPTH_LIMIT) {
        report(context, E0217, range,
               depth >= CALL_DEPTH_LIMIT
                   ? "more than 200 calls are open here, each inside the other"
                   : "the program makes more than 2^17 calls and turns of `repeat`");
        return !(lowering->exhausted = true);
    }
    bool from_fn = context->frame && context->frame->declaration &&
                   context->frame->declaration->kind == DECLARATION_fn;
    bool in_pipeline = context->frame && context->frame->declaration &&
                       context->frame->declaration->kind == DECLARATION_pipeline;
    if (declaration->kind == DECLARATION_model && in_pipeline && !context->checking) {
        if (loaded && !context->entering) return true;
        Diagnostic *d = report(context, E0214, range,
                               loaded ? "a model runs on batches, not on single records"
                                      : "a model in a pipeline needs weights from a file");
        diagnostic_help(d,
                        loaded ? "`|> batch(64) |> map(…) |> unbatch()`"
                               : "`let net = load(%s, \"weights.safetensors\")`",
                        declaration->name.text);
        return false;
    }
    bool owned = declaration->kind == DECLARATION_model && !instance;
    if (owned && (from_fn || context->entering)) {
        Diagnostic *d =
            report(context, E0214, range, "a model can't be called from a fn or a pipeline");
        diagnostic_help(d, "only models, train blocks and exports own weights");
        return false;
    }
    return true;
}

const char *callee_path(const Context *context, const char *name) {
    Arena *arena = context->lowering->arena;
    Frame *frame = context->frame;
    uintptr_t count = (uintptr_t)map_get(&frame->callees, name) + 1;
    map_put(&frame->callees, name, (void *)count);
    if (*frame->path)
        return arena_format(arena, "%s/%s.%lu", frame->path, name, (unsigned long)count);
    if (count == 1) return name;
    return arena_format(arena, "%s.%lu", name, (unsigned long)count);
}

static int find_parameter(const Declaration *declaration, const char *name) {
    for (size_t i = 0; i < declaration->parameters.count; i++)
        if (!strcmp(declaration->parameters.items[i].name.text, name)) return (int)i;
    return -1;
}

static void bind_parameter(Call *call, size_t index, Value value, Range range) {
    const Parameter *parameter = &call->declaration->parameters.items[index];
    Arena *arena = call->inside.lowering->arena;
    if (value.kind == VALUE_error) call->broken = true;
    else if (parameter->type)
        value = match_type(&call->inside, parameter->type, value, range,
                           arena_format(arena, "`%s`", parameter->name.text), &call->lifted);
    if (value.kind == VALUE_error) call->broken = true;
    scope_put(arena, call->inside.scope, parameter->name.text, value);
    call->filled[index] = true;
}

static void help_parameters(Call *call, Diagnostic *d, const char *name) {
    const Declaration *declaration = call->declaration;
    size_t count = 0;
    const char **names = arena_new_array(call->inside.lowering->arena, const char *,
                                         declaration->parameters.count + 1);
    for (size_t i = call->implied; i < declaration->parameters.count; i++)
        names[count++] = declaration->parameters.items[i].name.text;
    const char *nearest = nearest_name(name, names, count);
    help_nearest(d, nearest);
    if (!nearest && count)
        diagnostic_help(d, "its parameters are %s",
                        names_text(call->inside.lowering->arena, names, count));
}

static void help_implied(const Call *call, Diagnostic *d) {
    if (call->implied == 1) diagnostic_help(d, "what stands left of `|>` is the first argument");
    if (call->implied == 2)
        diagnostic_help(d, "the weight and its gradient are the first two; an optimizer is written "
                           "without them");
}

static void note_declared(Diagnostic *d, const Declaration *declaration) {
    diagnostic_note(d, declaration->name.range, "`%s` is declared here", declaration->name.text);
}

static void bind_position(Call *call, size_t index, Value value, Range range) {
    const Declaration *declaration = call->declaration;
    if (index < declaration->parameters.count) {
        bind_parameter(call, index, value, range);
        return;
    }
    Diagnostic *d =
        report(call->caller, E0204, range, "`%s` takes %zu argument%s, this is one more",
               declaration->name.text, declaration->parameters.count,
               declaration->parameters.count == 1 ? "" : "s");
    note_declared(d, declaration);
    help_implied(call, d);
    call->broken = true;
}

static void bind_name(Call *call, const Argument *argument, Value value) {
    const Declaration *declaration = call->declaration;
    int index = find_parameter(declaration, argument->name.text);
    if (index >= 0 && !call->filled[index]) {
        bind_parameter(call, (size_t)index, value, argument->value->range);
        return;
    }
    Diagnostic *d = report(call->caller, E0204, argument->name.range,
                           index < 0 ? "`%s` has no parameter `%s`" : "`%s` is given `%s` twice",
                           declaration->name.text, argument->name.text);
    note_declared(d, declaration);
    if (index < 0) help_parameters(call, d, argument->name.text);
    call->broken = true;
}

static void bind_defaults(Call *call) {
    const Declaration *declaration = call->declaration;
    for (size_t i = 0; i < declaration->parameters.count; i++) {
        const Parameter *parameter = &declaration->parameters.items[i];
        if (call->filled[i]) continue;
        if (parameter->value) {
            bind_parameter(call, i, lower_expression(&call->inside, parameter->value),
                           parameter->value->range);
            continue;
        }
        if (call->broken) continue;
        Diagnostic *d = report(call->caller, E0204, call->expression->range, "`%s` needs `%s`",
                               declaration->name.text, parameter->name.text);
        diagnostic_note(d, parameter->name.range, "declared here");
        call->broken = true;
    }
}

/* What was given to `new` stands behind what is given to the call. */
static void bind_made(Call *call, size_t position) {
    const ArgumentList *arguments = &call->instance->made->arguments;
    for (size_t i = 0; i < arguments->count; i++) {
        const Argument *argument = &arguments->items[i];
        Value value = inside_scan(call->caller, call->instance->given[i]);
        if (argument->name.text) bind_name(call, argument, value);
        else bind_position(call, position++, value, argument->value->range);
    }
}

/* Values first, then what the call writes. The caller's names mean nothing inside. */
static void bind_arguments(Call *call, const Value *first, size_t count) {
    Context outside = *call->caller;
    outside.expected = NULL;
    outside.nesting += CALL_NESTING;
    size_t position = 0;
    call->implied = count;
    for (; position < count; position++)
        bind_position(call, position, first[position],
                      first[position].range.source ? first[position].range
                                                   : call->expression->range);
    vector_each(Argument, argument, call->expression->arguments) {
        Value value = lower_expression(&outside, argument->value);
        if (argument->name.text) bind_name(call, argument, value);
        else bind_position(call, position++, value, argument->value->range);
    }
    if (call->instance) bind_made(call, position);
    bind_defaults(call);
}

static Value unlift(const Context *context, Value value);

static Value unlift_items(const Context *context, Value value) {
    Items items = items_new(context->lowering->arena, value.items.count);
    items.names = value.items.names;
    for (size_t i = 0; i < items.count; i++)
        items.values[i] = unlift(context, value.items.values[i]);
    value.items = items;
    return value;
}

/* Takes the batch of one record off again. */
static Value unlift(const Context *context, Value value) {
    if (value.kind == VALUE_items) return unlift_items(context, value);
    if (value.kind != VALUE_tensor) return value;
    Type type = *value_type(&value);
    if (!type.rank || type.dims[0] != context->lowering->single) return value;
    memmove(type.dims, type.dims + 1, sizeof(Dim) * (size_t)--type.rank);
    type.dims[type.rank] = NULL;
    value.node = graph_declared(value.graph, OP_reshape, value.node, type, value.range);
    return value;
}

static Value run(Call *call) {
    const Declaration *declaration = call->declaration;
    const Context *caller = call->caller;
    if (caller->expected && !bind_expected(&call->inside, declaration->result, caller->expected)) {
        Diagnostic *d =
            report(caller, E0208, call->expression->range, "`%s` makes %s, %s is expected here",
                   declaration->name.text, range_text(caller, declaration->result->range),
                   type_text(caller->lowering->arena, caller->expected));
        note_declared(d, declaration);
        return value_error;
    }
    Type expected;
    bool known = declaration->result && declaration->result->element.text && caller->expected &&
                 resolve_type(&call->inside, declaration->result, &expected);
    call->inside.expected = known ? &expected : NULL;
    Value result = declaration->external ? lower_external(&call->inside, declaration)
                                         : lower_body(&call->inside, &declaration->body);
    if (declaration->result && result.kind != VALUE_error)
        result = match_type(&call->inside, declaration->result, result, result.range, "the result",
                            NULL);
    return call->lifted ? unlift(caller, result) : result;
}

/* What is called: a declaration, by itself or as an instance. */
typedef struct Callee {
    const Declaration *declaration;
    const Unit *unit;
    Instance *instance; /* or NULL */
    const char *path;   /* NULL: the next of the declaration's name here */
} Callee;

static Frame new_frame(const Context *context, const Callee *callee, Range range) {
    const Frame *caller = context->frame;
    Frame frame = {.caller = context->frame,
                   .declaration = callee->declaration,
                   .call = range,
                   .callees = map_new(context->lowering->arena),
                   .depth = caller ? caller->depth + 1 : 1,
                   .instance = callee->instance,
                   .repetition = caller ? caller->repetition : 0};
    if (callee->instance) frame.repetition = frame.repetition * 31 + callee->instance->calls++;
    frame.path = callee->path ? callee->path : callee_path(context, callee->declaration->name.text);
    return frame;
}

static Value call_declaration(const Context *context, const Expression *expression, Callee callee,
                              const Value *first, size_t count) {
    Lowering *lowering = context->lowering;
    const Declaration *declaration = callee.declaration;
    if (!may_call(context, declaration, callee.instance, callee.path != NULL, expression->range))
        return value_error;
    map_put_bytes(&lowering->used, &declaration, sizeof declaration, lowering);
    Call call = {.caller = context,
                 .expression = expression,
                 .declaration = declaration,
                 .instance = callee.instance,
                 .inside = *context};
    call.frame = new_frame(context, &callee, expression->range);
    call.inside.unit = callee.unit;
    call.inside.frame = &call.frame;
    call.inside.scope = scope_new(lowering->arena, NULL);
    call.inside.fixing = false;
    call.inside.stream = NULL;
    call.inside.notation = NULL;
    call.inside.nesting += CALL_NESTING;
    call.inside.expected = NULL;
    call.filled = arena_new_array(lowering->arena, bool, declaration->parameters.count + 1);
    bind_arguments(&call, first, count);
    if (call.broken) return value_error;
    size_t layer = layer_begin(context, &call.frame);
    Value result = run(&call);
    if (callee.instance && !callee.instance->first_call.source)
        callee.instance->first_call = expression->range;
    layer_end(context, layer, &result);
    result.range = expression->range;
    return result;
}

static bool is_callable(const Declaration *declaration) {
    return declaration->kind == DECLARATION_fn || declaration->kind == DECLARATION_model ||
           declaration->kind == DECLARATION_pipeline;
}

static Value not_callable(const Context *context, const Expression *call,
                          const Declaration *declaration) {
    static const char *const kinds[] = {[DECLARATION_option] = "an option",
                                        [DECLARATION_dim] = "a dimension",
                                        [DECLARATION_const] = "a constant",
                                        [DECLARATION_train] = "a train block",
                                        [DECLARATION_export] = "an export"};
    Diagnostic *d = report(context, E0213, call->name.range, "`%s` is %s and can't be called",
                           call->name.text, kinds[declaration->kind]);
    diagnostic_note(d, declaration->name.range, "declared here");
    if (declaration->kind == DECLARATION_export)
        diagnostic_help(d, "move what both need into a fn or model");
    return value_error;
}

static Value call_of_value(const Context *context, const Expression *call, const Value *value) {
    if (value->kind == VALUE_error) return value_error;
    Diagnostic *d = report(context, E0213, call->name.range, "`%s` is %s and can't be called",
                           call->name.text, value_text(context->lowering->arena, value));
    diagnostic_note(d, value->range, "its value comes from here");
    return value_error;
}

static Value unknown_function(const Context *context, const Expression *call) {
    Diagnostic *d =
        report(context, E0201, call->name.range, "there is no function `%s`", call->name.text);
    if (context->lowering->diagnostics->list.count > DIAGNOSTIC_LIMIT) return value_error;
    const char *nearest = module_nearest(context->lowering->module, context->unit, call->name.text);
    for (int op = 0; op < OP_COUNT && !nearest; op++)
        if (!op_info[op].hidden) nearest = nearest_name(call->name.text, &op_info[op].name, 1);
    if (!nearest) nearest = nearest_stage(call->name.text);
    help_nearest(d, nearest);
    return value_error;
}

Value call_with(const Context *context, const Expression *call, const Value *first, size_t count,
                const char *path) {
    const Unit *unit;
    const Declaration *declaration =
        module_find(context->lowering->module, context->unit, call->name.text, &unit);
    if (!declaration) return unknown_function(context, call);
    if (!is_callable(declaration)) return not_callable(context, call, declaration);
    return call_declaration(context, call, (Callee){declaration, unit, NULL, path}, first, count);
}

static Value call_instance(const Context *context, const Expression *call, Instance *instance,
                           const Value *piped) {
    Callee callee = {instance->declaration, instance->unit, instance, instance->path};
    return call_declaration(context, call, callee, piped, piped != NULL);
}

static Value call_loaded(const Context *context, const Expression *call, const Value *net,
                         const Value *piped) {
    Callee callee = {net->model, net->model_unit, NULL, net->model->name.text};
    return call_declaration(context, call, callee, piped, piped != NULL);
}

/* A source or a stage that only passes records on. */
static bool may_be_placed(const Context *context, const Expression *call, const Placement *wanted) {
    if (wanted->device != DEVICE_gpu || is_computing_stage(call->name.text)) return true;
    Diagnostic *d = report(context, E0214, wanted->range,
                           "`%s` computes nothing that a GPU could do", call->name.text);
    diagnostic_help(d, "place the `map` that computes");
    return false;
}

static Value call_by_name(const Context *context, const Expression *call, const Value *piped,
                          const Placement *wanted) {
    const Unit *unit;
    Value result;
    if (lower_field_call(context, call, piped, &result)) return result;
    const Binding *local = scope_find(context->scope, call->name.text);
    const Declaration *declaration =
        module_find(context->lowering->module, context->unit, call->name.text, &unit);
    if (local && local->value.kind == VALUE_instance)
        return call_instance(context, call, local->value.instance, piped);
    if (local && local->value.kind == VALUE_model)
        return call_loaded(context, call, &local->value, piped);
    if (declaration && is_callable(declaration))
        return call_declaration(context, call, (Callee){declaration, unit, NULL, NULL}, piped,
                                piped != NULL);
    if (lower_load(context, call, &result)) return result;
    if (is_stage_name(call->name.text) && !may_be_placed(context, call, wanted)) return value_error;
    if (lower_stage(context, call, piped, &result)) return result;
    if (lower_operation(context, call, piped, &result)) return result;
    if (local) return call_of_value(context, call, &local->value);
    if (declaration) return not_callable(context, call, declaration);
    return unknown_function(context, call);
}

Value lower_call(const Context *context, const Expression *call, const Value *piped) {
    Wishes wishes;
    if (call->kind != EXPRESSION_call) return value_error;
    bool sound = read_annotations(context, call, &wishes);
    if (!sound || (piped && piped->kind == VALUE_error)) return value_error;
    Context inner = *context;
    inner.placement = inner_placement(&context->placement, &wishes.placement);
    Placement before = place_nodes(&inner);
    Value result = call_by_name(&inner, call, piped, &wishes.placement);
    restore_placement(&inner, before);
    return grant_wishes(context, &wishes, &result) ? result : value_error;
}
