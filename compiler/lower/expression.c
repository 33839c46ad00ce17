/* Expressions to values. */
#include "compiler/lower/lowering.h"

#include <string.h>

static Value lower_declared(const Context *context, const Declaration *declaration,
                            const Unit *unit, Range range) {
    for (const Frame *frame = context->frame; frame; frame = frame->caller)
        if (frame->declaration == declaration) {
            report(context, E0210, range, "`%s` is defined by itself", declaration->name.text);
            return value_error;
        }
    Frame frame = {.caller = context->frame, .declaration = declaration, .call = range,
                   .path = "", .callees = map_new(context->lowering->arena)};
    Context inner = *context;
    inner.unit = unit;
    inner.frame = &frame;
    inner.scope = NULL;
    inner.expected = NULL;
    inner.fixing = declaration->kind == DECLARATION_dim;
    Value value = lower_expression(&inner, declaration->value);
    if (declaration->kind == DECLARATION_dim && value.kind != VALUE_error) {
        Dim size = to_size(&inner, &value, declaration->value->range);
        if (size && declaration->bounded) {
            report(context, E0214, range, "bounded dimensions can't be used yet");
            size = NULL;
        }
        return size ? value_size(size, range) : value_error;
    }
    value.range = range;
    return value;
}

static Value lower_option(const Context *context, const Declaration *declaration, Range range) {
    Program *program = context->lowering->program;
    for (size_t i = 0; i < program->options.count; i++) {
        Option *option = &program->options.items[i];
        if (strcmp(option->name, declaration->name.text)) continue;
        if (option->kind == OPTION_string) return value_string(option->string, range);
        if (!context->fixing) return (Value){.kind = VALUE_option, .range = range, .index = (int)i};
        option->fixed = true;
        return value_number(option->number, range);
    }
    return value_error; /* its declaration was reported */
}

/* Names that are neither bound nor declared: element types, true, false, step. */
static bool lower_builtin_name(const Context *context, const Name *name, Value *value) {
    Element element;
    *value = (Value){.kind = VALUE_truth, .range = name->range};
    if (element_by_name(name->text, &element)) {
        value->kind = VALUE_element;
        value->element = element;
        return true;
    }
    if (!strcmp(name->text, "false")) return true;
    value->number = 1;
    if (!strcmp(name->text, "true")) return true;
    if (strcmp(name->text, "step") || !context->function) return false;
    *value = (Value){.kind = VALUE_option, .range = name->range, .index = STEP_INDEX};
    return true;
}

static Value unknown_name(const Context *context, const Name *name) {
    Diagnostic *d = report(context, E0201, name->range, "`%s` is not declared", name->text);
    const char *nearest = NULL;
    for (const Scope *scope = context->scope; scope && !nearest; scope = scope->parent)
        for (size_t i = 0; i < scope->bindings.count && !nearest; i++)
            nearest = nearest_name(name->text, &scope->bindings.items[i].name, 1);
    if (!nearest) nearest = module_nearest(context->lowering->module, context->unit, name->text);
    if (nearest) diagnostic_help(d, "did you mean `%s`?", nearest);
    return value_error;
}

Value lower_name(const Context *context, const Name *name) {
    const Binding *binding = scope_find(context->scope, name->text);
    if (binding) {
        Value value = binding->value;
        if (value.kind != VALUE_field) value.range = name->range;
        return value;
    }
    Value value;
    const Unit *unit;
    const Declaration *found =
        module_find(context->lowering->module, context->unit, name->text, &unit);
    if (!found) return lower_builtin_name(context, name, &value) ? value : unknown_name(context, name);
    switch (found->kind) {
    case DECLARATION_option: return lower_option(context, found, name->range);
    case DECLARATION_dim:
    case DECLARATION_const: return lower_declared(context, found, unit, name->range);
    default: break;
    }
    Diagnostic *d = report(context, E0214, name->range, "`%s` is a function, not a value", name->text);
    diagnostic_help(d, "call it: `%s(…)`", name->text);
    return value_error;
}

static Value lower_list(const Context *context, const Expression *expression) {
    Arena *arena = context->lowering->arena;
    Vector(Value) values = {0};
    vector_each(Expression *, item, expression->items) {
        if ((*item)->kind != EXPRESSION_ellipsis) {
            vector_push(arena, &values, lower_expression(context, *item));
            continue;
        }
        const Binding *rest = scope_find(context->scope, "...");
        if (!rest) {
            report(context, E0214, (*item)->range, "`...` stands for dimensions of the signature, "
                                                   "which has none");
            return value_error;
        }
        for (size_t i = 0; i < rest->value.items.count; i++)
            vector_push(arena, &values, rest->value.items.values[i]);
    }
    Items items = {values.count, NULL, values.items};
    return (Value){.kind = VALUE_items, .range = expression->range, .items = items};
}

static Value lower_record(const Context *context, const Expression *expression) {
    Items items = items_new(context->lowering->arena, expression->arguments.count);
    for (size_t i = 0; i < items.count; i++) {
        const Argument *field = &expression->arguments.items[i];
        items.names[i] = field->name.text;
        items.values[i] = lower_expression(context, field->value);
        for (size_t j = 0; j < i && field->name.text; j++)
            if (items.names[j] && !strcmp(items.names[j], field->name.text))
                report(context, E0202, field->name.range, "field `%s` is given twice",
                       field->name.text);
    }
    return (Value){.kind = VALUE_items, .range = expression->range, .items = items};
}

static Value lower_field(const Context *context, const Expression *expression) {
    Value left = lower_expression(context, expression->left);
    const Name *name = &expression->name;
    if (left.kind == VALUE_error) return value_error;
    if (left.kind == VALUE_batch) return batch_field(context, &left, name);
    const Value *found = left.kind == VALUE_items ? items_find(&left.items, name->text) : NULL;
    if (found) return *found;
    Diagnostic *d = report(context, E0212, name->range, "there is no field `%s` here", name->text);
    diagnostic_note(d, expression->left->range, "this is %s",
                    value_text(context->lowering->arena, &left));
    if (left.kind == VALUE_items && left.items.names) {
        const char *nearest = nearest_name(name->text, left.items.names, left.items.count);
        if (nearest) diagnostic_help(d, "did you mean `%s`?", nearest);
    }
    return value_error;
}

static Value not_yet(const Context *context, const Expression *expression, const char *what) {
    report(context, E0214, expression->range, "%s can't be used yet", what);
    return value_error;
}

Value lower_expression(const Context *context, const Expression *expression) {
    Range range = expression->range;
    Context inner = *context; /* what is expected of the whole is not expected of its parts */
    inner.expected = NULL;
    switch (expression->kind) {
    case EXPRESSION_error: return value_error;
    case EXPRESSION_number: return value_number(expression->number, range);
    case EXPRESSION_string: return value_string(expression->string, range);
    case EXPRESSION_name: return lower_name(&inner, &expression->name);
    case EXPRESSION_list: return lower_list(&inner, expression);
    case EXPRESSION_record: return lower_record(&inner, expression);
    case EXPRESSION_call: return lower_call(context, expression, NULL);
    case EXPRESSION_field: return lower_field(&inner, expression);
    case EXPRESSION_pipe: {
        Value left = lower_expression(&inner, expression->left);
        return lower_call(context, expression->right, &left);
    }
    case EXPRESSION_assert: {
        Value left = lower_expression(&inner, expression->left);
        return match_type(&inner, expression->type, left, expression->left->range, "this", NULL);
    }
    case EXPRESSION_unary: {
        Value a = lower_expression(&inner, expression->left);
        return lower_unary(&inner, expression->operator, &a, range);
    }
    case EXPRESSION_binary: {
        Value a = lower_expression(&inner, expression->left);
        Value b = lower_expression(&inner, expression->right);
        return lower_binary(&inner, expression->operator, &a, &b, range);
    }
    case EXPRESSION_ellipsis: return not_yet(context, expression, "`...` outside a list of sizes");
    case EXPRESSION_index:
    case EXPRESSION_slice: return not_yet(context, expression, "an index");
    case EXPRESSION_new: return not_yet(context, expression, "`new`");
    }
    return value_error;
}
