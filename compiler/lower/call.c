/* Call: running the body of what is called, in the scope of its signature. */
#include "compiler/lower/callee.h"

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

/* Are there not too many calls? */
static bool is_within_limits(const Context *context, Range range) {
    Lowering *lowering = context->lowering;
    bool deep = context->frame && context->frame->depth >= CALL_DEPTH_LIMIT;
    if (lowering->exhausted) return false;
    if (++lowering->calls <= CALL_LIMIT && !deep) return true;
    report(context, E0217, range,
           deep ? "more than 200 calls are open here, each inside the other"
                : "the program makes more than 2^17 calls and turns of `repeat`");
    lowering->exhausted = true;
    return false;
}

static bool is_inside(const Context *context, DeclarationKind kind) {
    const Frame *frame = context->frame;
    return frame && frame->declaration && frame->declaration->kind == kind;
}

/* In a pipeline a model runs on batches, with weights from a file. */
static bool may_run_in_pipeline(const Context *context, const Declaration *model, bool loaded,
                                Range range) {
    if (loaded && !context->entering) return true;
    Diagnostic *d = report(context, E0214, range,
                           loaded ? "a model runs on batches, not on single records"
                                  : "a model in a pipeline needs weights from a file");
    diagnostic_help(d,
                    loaded ? "`|> batch(64) |> map(…) |> unbatch()`"
                           : "`let net = load(%s, \"weights.safetensors\")`",
                    model->name.text);
    return false;
}

/* Instances can be nested in one another, so that only their depth is limited. */
static bool may_call(const Context *context, const Callee *callee, Range range) {
    const Declaration *declaration = callee->declaration;
    if (context->lowering->exhausted) return false;
    if (!callee->instance && is_recursive(context, declaration, range)) return false;
    if (!is_within_limits(context, range)) return false;
    if (declaration->kind != DECLARATION_model) return true;
    bool loaded = callee->path != NULL;
    if (is_inside(context, DECLARATION_pipeline) && (loaded || !context->checking))
        return may_run_in_pipeline(context, declaration, loaded, range);
    if (callee->instance || (!is_inside(context, DECLARATION_fn) && !context->entering))
        return true;
    Diagnostic *d =
        report(context, E0214, range, "a model can't be called from a fn or a pipeline");
    diagnostic_help(d, "only models, train blocks and exports own weights");
    return false;
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

/* `dense(4)` for `x |> dense(4)`: a number, where a tensor's features are asked for. */
static bool lacks_tensor(const Call *call, size_t index, const Value *value) {
    const Declaration *declaration = call->declaration;
    const TypeTree *type = declaration->parameters.items[index].type;
    bool number = value->kind == VALUE_number || value->kind == VALUE_size;
    if (index || call->implied || !number || !type) return false;
    return declaration->kind == DECLARATION_model && type->dimensions.count > 1;
}

static void report_without_tensor(Call *call, Range range) {
    const Declaration *declaration = call->declaration;
    const char *name = declaration->name.text;
    Diagnostic *d =
        report(call->caller, E0204, range, "`%s` needs the tensor `%s` in front of this", name,
               declaration->parameters.items[0].name.text);
    note_declared(d, declaration);
    diagnostic_help(d, "`x |> %s(…)` calls it, `new %s(…)` makes a layer to be called later", name,
                    name);
    call->broken = true;
}

static void bind_position(Call *call, size_t index, Value value, Range range) {
    const Declaration *declaration = call->declaration;
    if (index < declaration->parameters.count && lacks_tensor(call, index, &value)) {
        report_without_tensor(call, range);
        return;
    }
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

static bool is_made_with_too_many(Call *call, size_t position) {
    const ArgumentList *arguments = &call->instance->made->arguments;
    size_t given = 0;
    vector_each(Argument, argument, *arguments) given += !argument->name.text;
    if (position + given <= call->declaration->parameters.count) return false;
    Diagnostic *d =
        report(call->caller, E0204, call->instance->made->range,
               "`%s` takes %zu arguments: `new` gives %zu, and a call %zu",
               call->declaration->name.text, call->declaration->parameters.count, given, position);
    note_declared(d, call->declaration);
    diagnostic_help(d,
                    "`new` is given what stands behind the arguments of the calls: `new dense(4)`");
    return call->broken = true;
}

/* What was given to `new` stands behind what is given to the call. */
static void bind_made(Call *call, size_t position) {
    const ArgumentList *arguments = &call->instance->made->arguments;
    if (is_made_with_too_many(call, position)) return;
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
    value.node =
        graph_declared(value.graph, OP_reshape, value.node, type_without(type, 0), value.range);
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

Value call_declaration(const Context *context, const Expression *expression, Callee callee,
                       const Value *first, size_t count) {
    Lowering *lowering = context->lowering;
    const Declaration *declaration = callee.declaration;
    if (!may_call(context, &callee, expression->range)) return value_error;
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
