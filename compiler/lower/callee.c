/* Callee: what a name means that is called: a declaration, an instance, a stage, an op. */
#include "compiler/lower/callee.h"
#include "compiler/lower/stream.h"

#include <string.h>

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

static bool is_column(const char *name) {
    return !strcmp(name, "column") || !strcmp(name, "columns");
}

/* What only parts of a pipeline may call. False: it is nothing of the kind. */
static bool report_elsewhere(const Context *context, const Expression *call) {
    const char *name = call->name.text, *example = origin_example(name);
    bool column = is_column(name);
    if (!example && !column && !is_field_function(name)) return false;
    Diagnostic *d =
        report(context, E0214, call->name.range,
               example  ? "`%s` stands in the place of a source's file"
               : column ? "`%s` stands in the first `map` behind a source with columns"
                        : "`%s` makes something of a source's field, in the first `map` behind it",
               name);
    if (example) diagnostic_help(d, "`lines(%s)`", example);
    else if (column) diagnostic_help(d, "`csv(\"table.csv\") |> map(x: column(\"total rooms\"))`");
    else diagnostic_help(d, "`lines(\"file\") |> map(x: %s(…))`", name);
    return true;
}

static Value unknown_function(const Context *context, const Expression *call) {
    if (report_elsewhere(context, call)) return value_error;
    Diagnostic *d =
        report(context, E0201, call->name.range, "there is no function `%s`", call->name.text);
    if (help_habit(d, call->name.text)) return value_error;
    if (context->lowering->diagnostics->list.count > DIAGNOSTIC_LIMIT) return value_error;
    const char *nearest = module_nearest(context->lowering->module, context->unit, call->name.text);
    if (!nearest) nearest = nearest_operation(call->name.text);
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
    if (lower_field_call(context, call, piped, &result))
        return may_be_placed(context, call, wanted) ? result : value_error;
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
