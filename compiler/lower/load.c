/* Load: a model with weights from a file, for pipelines that run by themselves:
 * `let net = load(classifier, "digits.safetensors")`. Its weights have the names that the model's
 * first call in a train block gives them. */
#include "compiler/lower/lowering.h"

#include <string.h>

static const Declaration *find_model(const Context *context, const Expression *argument,
                                     const Unit **unit) {
    if (argument->kind != EXPRESSION_name) return NULL;
    const Declaration *found =
        module_find(context->lowering->module, context->unit, argument->name.text, unit);
    return found && found->kind == DECLARATION_model ? found : NULL;
}

static Value report_use(const Context *context, Range range, const char *what) {
    Diagnostic *d = report(context, E0204, range, "%s", what);
    diagnostic_help(d, "`let net = load(classifier, \"classifier.safetensors\")`");
    return value_error;
}

bool lower_load(const Context *context, const Expression *call, Value *result) {
    if (strcmp(call->name.text, "load")) return false;
    const ArgumentList *arguments = &call->arguments;
    const Unit *unit;
    *result = value_error;
    if (arguments->count != 2) {
        report_use(context, call->range, "`load` takes a model and the file with its weights");
        return true;
    }
    const Declaration *model = find_model(context, arguments->items[0].value, &unit);
    Context fixing = *context;
    fixing.fixing = true;
    Value path = lower_expression(&fixing, arguments->items[1].value);
    if (!model) {
        report_use(context, arguments->items[0].value->range, "`load` takes the name of a model");
    } else if (path.kind == VALUE_string) {
        Arena *arena = context->lowering->arena;
        const char *prefix = arena_format(arena, "%s/", model->name.text);
        vector_push(arena, &context->lowering->loads, (Load){prefix, fixed_string(context, &path)});
        *result =
            (Value){.kind = VALUE_model, .range = call->range, .model = model, .model_unit = unit};
    } else if (path.kind != VALUE_error) {
        report_use(context, arguments->items[1].value->range, "`load` takes the name of a file");
    }
    return true;
}
