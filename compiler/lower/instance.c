/* Instance: `new dense(64)`, a model made at one place and called at others. Its weights are named
 * by the binding it is made for and get their shapes from the first call. */
#include "compiler/lower/lowering.h"

#include <string.h>

/* Where weights can be owned: in the body of a model, a train block or an export. */
static bool may_make(const Context *context, Range range) {
    const Declaration *inside = context->frame ? context->frame->declaration : NULL;
    bool owns = inside && (inside->kind == DECLARATION_model || inside->kind == DECLARATION_train ||
                           inside->kind == DECLARATION_export);
    if (owns && context->graph && !context->entering) return true;
    Diagnostic *d = report(context, E0214, range, "an instance of a model can't be made here");
    diagnostic_help(d, "only models, train blocks and exports own weights; make it there and hand "
                       "it over as an argument");
    return false;
}

static const Declaration *find_model(const Context *context, const Name *name, const Unit **unit) {
    const Lowering *lowering = context->lowering;
    const Declaration *found = module_find(lowering->module, context->unit, name->text, unit);
    if (found && found->kind == DECLARATION_model) return found;
    if (found) {
        Diagnostic *d = report(context, E0213, name->range, "`%s` is no model", name->text);
        diagnostic_note(d, found->name.range, "declared here");
        diagnostic_help(d, "only a model has weights to share; call `%s(…)` itself", name->text);
        return NULL;
    }
    Diagnostic *d = report(context, E0201, name->range, "there is no model `%s`", name->text);
    help_nearest(d, module_nearest(lowering->module, context->unit, name->text));
    return NULL;
}

static bool has_parameter(const Context *context, const Declaration *model, const Name *name) {
    const ParameterList *parameters = &model->parameters;
    const char **names =
        arena_new_array(context->lowering->arena, const char *, parameters->count + 1);
    for (size_t i = 0; i < parameters->count; i++) {
        names[i] = parameters->items[i].name.text;
        if (!strcmp(names[i], name->text)) return true;
    }
    Diagnostic *d = report(context, E0204, name->range, "`%s` has no parameter `%s`",
                           model->name.text, name->text);
    diagnostic_note(d, model->name.range, "`%s` is declared here", model->name.text);
    help_nearest(d, nearest_name(name->text, names, parameters->count));
    return false;
}

/* "classifier/e" for the first of a name, "classifier/e.2" for the next. */
static const char *instance_path(const Context *context, const char *name) {
    Frame *frame = context->frame;
    if (!*frame->path || map_get(&frame->callees, name)) return callee_path(context, name);
    map_put(&frame->callees, name, (void *)(uintptr_t)1);
    return arena_format(context->lowering->arena, "%s/%s", frame->path, name);
}

Value lower_new(const Context *context, const Expression *expression, const char *name) {
    const Expression *made = expression->left;
    Arena *arena = context->lowering->arena;
    Context outside = *context;
    outside.expected = NULL;
    outside.nesting++;
    if (made->kind != EXPRESSION_call || !may_make(context, expression->range)) return value_error;
    Instance *instance = arena_new_item(arena, Instance);
    instance->made = made;
    instance->declaration = find_model(context, &made->name, &instance->unit);
    if (!instance->declaration) return value_error;
    instance->given = arena_new_array(arena, Value, made->arguments.count + 1);
    bool sound = true;
    for (size_t i = 0; i < made->arguments.count; i++) {
        const Argument *argument = &made->arguments.items[i];
        instance->given[i] = lower_expression(&outside, argument->value);
        sound &= instance->given[i].kind != VALUE_error;
        if (argument->name.text)
            sound &= has_parameter(context, instance->declaration, &argument->name);
    }
    if (!sound) return value_error;
    instance->path = instance_path(context, name ? name : made->name.text);
    return (Value){.kind = VALUE_instance, .range = expression->range, .instance = instance};
}
