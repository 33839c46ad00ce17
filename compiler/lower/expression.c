/* Expressions to values. */
#include "compiler/lower/lowering.h"

#include <string.h>

static bool may_define(const Context *context, const Declaration *declaration, Range range) {
    Lowering *lowering = context->lowering;
    for (const Frame *frame = context->frame; frame; frame = frame->caller)
        if (frame->declaration == declaration) {
            Diagnostic *d =
                report(context, E0210, range, "`%s` is defined by itself", declaration->name.text);
            diagnostic_note(d, declaration->name.range, "declared here");
            return false;
        }
    if (lowering->exhausted) return false;
    bool deep = context->frame && context->frame->depth >= CALL_DEPTH_LIMIT;
    if (++lowering->calls <= CALL_LIMIT && !deep) return true;
    report(context, E0217, range,
           deep ? "constants are defined by others too deeply here"
                : "the program looks up constants more than 2^17 times");
    return !(lowering->exhausted = true);
}

static bool may_bound(const Context *context, const Declaration *declaration, Dim size) {
    const Name *name = &declaration->name;
    int64_t most;
    if (!dim_is_constant(size, &most)) {
        report(context, E0206, declaration->value->range, "the bound of `%s` has to be a number",
               name->text);
        return false;
    }
    if (is_reserved(name->text)) {
        Diagnostic *d =
            report(context, E0202, name->range, "every program has its own `--%s`", name->text);
        diagnostic_help(d, "give the dimension another name");
        return false;
    }
    vector_each(Bound, bound, context->lowering->program->bounds) {
        if (strcmp(bound->name, name->text)) continue;
        Diagnostic *d = report(context, E0202, name->range,
                               "two bounded dimensions are called `%s`", name->text);
        diagnostic_note(d, bound->range, "the other one");
        return false;
    }
    return true;
}

/* A symbol that each run gives a value, with a flag of that name. */
static Value define_bounded(const Context *context, const Declaration *declaration, Dim size) {
    Lowering *lowering = context->lowering;
    const Name *name = &declaration->name;
    if (!may_bound(context, declaration, size)) return value_error;
    Dim symbol = dim_bounded(lowering->dimensions, name->text, dim_bound(size));
    vector_push(lowering->arena, &lowering->program->bounds,
                (Bound){name->text, symbol, name->range});
    return value_size(symbol, name->range);
}

static Value define(const Context *context, const Declaration *declaration) {
    Range range = declaration->value->range;
    Value value = lower_expression(context, declaration->value);
    if (declaration->kind != DECLARATION_dim || value.kind == VALUE_error) return value;
    Dim size = to_size(context, &value, range);
    if (!size || !is_dimension(context, size, range)) return value_error;
    return declaration->bounded ? define_bounded(context, declaration, size)
                                : value_size(size, range);
}

/* What a dim or const means: the same in every place, but for options that a place fixes. */
typedef struct ConstantKey {
    const Declaration *declaration;
    uintptr_t fixing;
} ConstantKey;

static Value lower_declared(const Context *context, const Declaration *declaration,
                            const Unit *unit, Range range) {
    Lowering *lowering = context->lowering;
    ConstantKey key = {declaration, context->fixing || declaration->kind == DECLARATION_dim};
    const Value *known = map_get_bytes(&lowering->constants, &key, sizeof key);
    Value value = known ? *known : value_error;
    if (!known) {
        if (!may_define(context, declaration, range)) return value_error;
        map_put_bytes(&lowering->used, &declaration, sizeof declaration, lowering);
        Frame frame = {.caller = context->frame,
                       .declaration = declaration,
                       .call = range,
                       .path = "",
                       .callees = map_new(lowering->arena),
                       .depth = context->frame ? context->frame->depth + 1 : 1};
        Context inner = *context;
        inner.unit = unit;
        inner.frame = &frame;
        inner.scope = NULL;
        inner.expected = NULL;
        inner.fixing = key.fixing;
        value = define(&inner, declaration);
        if (value.kind != VALUE_tensor && value.kind != VALUE_items) {
            Value *kept = arena_new_item(lowering->arena, Value);
            *kept = value;
            map_put_bytes(&lowering->constants, &key, sizeof key, kept);
        }
    }
    value.range = range;
    return value;
}

static Value lower_option(const Context *context, const Declaration *declaration, Range range) {
    Program *program = context->lowering->program;
    for (size_t i = 0; i < program->options.count; i++) {
        Option *option = &program->options.items[i];
        if (strcmp(option->name, declaration->name.text)) continue;
        if (option->kind == OPTION_string && !context->fixing)
            return (Value){VALUE_string, range, .string = option->string, .index = (int)i + 1};
        if (!context->fixing && !context->entering)
            return (Value){.kind = VALUE_option, .range = range, .index = (int)i};
        option->fixed = true;
        if (option->kind == OPTION_string) return value_string(option->string, range);
        return value_number(option->number, range);
    }
    if (map_get_bytes(&context->lowering->used, &declaration, sizeof declaration))
        return value_error; /* its declaration was reported */
    Diagnostic *d = report(context, E0206, range, "`%s` has no value yet", declaration->name.text);
    diagnostic_note(d, declaration->name.range, "declared here");
    diagnostic_help(d, "an option's default may use the options above it");
    return value_error;
}

/* `step` and `epoch` count where a step runs: not on the records of a pipeline, not in an
 * export. */
static bool has_step(const Context *context) {
    const Frame *frame = context->frame;
    while (frame && frame->caller) frame = frame->caller;
    bool exported = frame && frame->declaration && frame->declaration->kind == DECLARATION_export;
    return context->function && !context->entering && !exported;
}

/* `step`, `epoch` or `plateau`. */
static Value lower_run_number(const Context *context, const Name *name, int index) {
    if (!has_step(context)) {
        report(context, E0214, name->range, "`%s` is known only in training", name->text);
        return value_error;
    }
    return (Value){.kind = VALUE_option, .range = name->range, .index = index};
}

/* Names that are neither bound nor declared: element types, true, false, training (as against
 * evaluation and deployment), all, and those. */
static bool lower_builtin_name(const Context *context, const Name *name, Value *value) {
    Element element;
    *value = (Value){.kind = VALUE_truth, .range = name->range};
    if (element_by_name(name->text, &element)) {
        value->kind = VALUE_element;
        value->element = element;
        return true;
    }
    if (!strcmp(name->text, "false")) return true;
    if (!strcmp(name->text, "training")) {
        value->number = context->updates || context->checking;
        return true;
    }
    if (!strcmp(name->text, "all")) {
        value->kind = VALUE_all;
        return true;
    }
    value->number = 1;
    if (!strcmp(name->text, "true")) return true;
    if (!strcmp(name->text, "stdout")) {
        value->kind = VALUE_stdout;
        return true;
    }
    if (!strcmp(name->text, "stdin")) {
        *value = (Value){.kind = VALUE_string, .range = name->range, .string = "-"};
        return true;
    }
    if (!strcmp(name->text, "epoch") && context->entering) {
        *value = (Value){.kind = VALUE_option, .range = name->range, .index = PASS_INDEX};
        return true;
    }
    int index = !strcmp(name->text, "step")      ? STEP_INDEX
                : !strcmp(name->text, "epoch")   ? EPOCH_INDEX
                : !strcmp(name->text, "plateau") ? PLATEAU_INDEX
                                                 : 0;
    if (index) *value = lower_run_number(context, name, index);
    return index != 0;
}

const char *nearest_value(const Context *context, const char *name) {
    if (context->lowering->diagnostics->list.count > DIAGNOSTIC_LIMIT) return NULL;
    for (const Scope *scope = context->scope; scope; scope = scope->parent)
        for (size_t i = 0; i < scope->bindings.count; i++) {
            const char *nearest = nearest_name(name, &scope->bindings.items[i].name, 1);
            if (nearest) return nearest;
        }
    return module_nearest(context->lowering->module, context->unit, name);
}

static Value function_as_value(const Context *context, const Name *name) {
    Diagnostic *d =
        report(context, E0214, name->range, "`%s` is a function, not a value", name->text);
    if (context->stream)
        diagnostic_help(d, "the source's field of that name is `column(\"%s\")`", name->text);
    else diagnostic_help(d, "call it: `%s(…)`", name->text);
    return value_error;
}

/* `csv(train.csv)` */
static bool names_file(const Name *name) {
    static const char *const ends[] = {".csv",      ".txt", ".gz", ".zst",  ".tar",
                                       ".tfrecord", ".bin", ".db", ".flow", ".safetensors"};
    const char *behind = name->range.source->text + name->range.end;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strncmp(behind, ends[i], strlen(ends[i]))) return true;
    return false;
}

static Value unknown_name(const Context *context, const Name *name) {
    if (name->text[0] == '?') {
        report(context, E0214, name->range, "`%s` stands for a size only in a type", name->text);
        return value_error;
    }
    if (is_operation_name(name->text) || is_stage_name(name->text))
        return function_as_value(context, name);
    Diagnostic *d = report(context, E0201, name->range, "`%s` is not declared", name->text);
    if (names_file(name)) diagnostic_help(d, "the name of a file stands in quotes");
    else if (!help_habit(d, name->text)) help_nearest(d, nearest_value(context, name->text));
    if (context->notation && !d->help)
        diagnostic_help(d, "`sum(%s)` in front of a product goes through an index", name->text);
    help_elsewhere(context, d, name);
    return value_error;
}

Value lower_name(const Context *context, const Name *name) {
    const Binding *binding = scope_find(context->scope, name->text);
    if (binding) {
        Value value = inside_scan(context, binding->value);
        value.range = name->range;
        return value;
    }
    Value value;
    const Unit *unit;
    const Declaration *found =
        module_find(context->lowering->module, context->unit, name->text, &unit);
    if (!found && lower_builtin_name(context, name, &value)) return value;
    if (!found && context->stream) return open_field(context, name->text, name->range);
    if (!found) return unknown_name(context, name);
    switch (found->kind) {
    case DECLARATION_option: return lower_option(context, found, name->range);
    case DECLARATION_dim:
    case DECLARATION_const: return lower_declared(context, found, unit, name->range);
    case DECLARATION_train:
        report(context, E0214, name->range, "`%s` is a train block, not a value", name->text);
        return value_error;
    default: return function_as_value(context, name);
    }
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
            report(context, E0214, (*item)->range,
                   "`...` stands for dimensions of the signature, "
                   "which has none");
            return value_error;
        }
        for (size_t i = 0; i < rest->value.items.count; i++)
            vector_push(arena, &values, rest->value.items.values[i]);
    }
    Items items = {values.count, NULL, values.items};
    Value list = {.kind = VALUE_items, .range = expression->range, .items = items};
    return is_small_list(context, &list) ? list : value_error;
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
    Value record = {.kind = VALUE_items, .range = expression->range, .items = items};
    return is_small_list(context, &record) ? record : value_error;
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
    if (left.kind == VALUE_items && left.items.count && left.items.names && left.items.names[0])
        help_nearest(d, nearest_name(name->text, left.items.names, left.items.count));
    else help_habit(d, name->text);
    return value_error;
}

static Value not_yet(const Context *context, const Expression *expression, const char *what) {
    report(context, E0214, expression->range, "%s can't be used yet", what);
    return value_error;
}

/* Which of the two at compile time; the other is not looked at. */
static Value lower_choice(const Context *context, const Expression *choice) {
    bool holds;
    if (!lower_condition(context, choice->left, "if", &holds)) return value_error;
    return lower_expression(context, choice->items.items[holds ? 0 : 1]);
}

/* `and` and `or` look at the right side only where the left one does not decide. */
static bool is_decided(const Expression *binary, const Value *left) {
    if (left->kind != VALUE_truth) return false;
    return (binary->operator== OPERATOR_and && !left->number) ||
           (binary->operator== OPERATOR_or && left->number);
}

static Value lower_operands(const Context *context, const Expression *binary) {
    Value a = lower_expression(context, binary->left);
    if (is_decided(binary, &a)) return a;
    Value b = lower_expression(context, binary->right);
    return lower_binary(context, binary->operator, & a, &b, binary->range);
}

/* The limits of one compilation; where one is passed, it ends. */
static bool is_too_much(const Context *context, Range range) {
    const Graph *graph = context->graph;
    bool large = graph && graph->nodes.count > OPERATION_LIMIT;
    if (context->lowering->exhausted) return true;
    if (!large && context->nesting < EXPRESSION_DEPTH_LIMIT) return false;
    report(context, E0217, range,
           large ? "the program needs more than 2^18 operations"
                 : "calls and expressions are nested too deeply here");
    return context->lowering->exhausted = true;
}

Value lower_expression(const Context *context, const Expression *expression) {
    Range range = expression->range;
    Context inner = *context; /* what is expected of the whole is not expected of its parts */
    inner.expected = NULL;
    inner.nesting++;
    if (is_too_much(context, range)) return value_error;
    switch (expression->kind) {
    case EXPRESSION_error: return value_error;
    case EXPRESSION_number: {
        Value number = value_number(expression->number, range);
        number.unit = expression->unit;
        return number;
    }
    case EXPRESSION_string: return value_string(expression->string, range);
    case EXPRESSION_name: return lower_name(&inner, &expression->name);
    case EXPRESSION_list: return lower_list(&inner, expression);
    case EXPRESSION_record: return lower_record(&inner, expression);
    case EXPRESSION_call:
        inner.expected = context->expected;
        return lower_call(&inner, expression, NULL);
    case EXPRESSION_field: return lower_field(&inner, expression);
    case EXPRESSION_pipe: {
        Value left = lower_expression(&inner, expression->left);
        inner.expected = context->expected;
        return lower_call(&inner, expression->right, &left);
    }
    case EXPRESSION_assert: {
        Value left = lower_expression(&inner, expression->left);
        return match_type(&inner, expression->type, left, expression->left->range, "this", NULL);
    }
    case EXPRESSION_unary: {
        Value a = lower_expression(&inner, expression->left);
        return lower_unary(&inner, expression->operator, & a, range);
    }
    case EXPRESSION_binary: return lower_operands(&inner, expression);
    case EXPRESSION_choice:
        inner.expected = context->expected;
        return lower_choice(&inner, expression);
    case EXPRESSION_ellipsis: return not_yet(context, expression, "`...` outside a list of sizes");
    case EXPRESSION_reduce: return lower_reduced(&inner, expression);
    case EXPRESSION_index: return lower_index(&inner, expression);
    case EXPRESSION_slice: return not_yet(context, expression, "a slice outside an index");
    case EXPRESSION_new: return lower_new(&inner, expression, NULL);
    }
    return value_error;
}
