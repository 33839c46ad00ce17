/* Lower: the declarations of a program, in the order options, trains, exports, the rest. */
#include "compiler/lower/lower.h"

#include "compiler/lower/lowering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_real_literal(const Expression *expression) {
    for (uint32_t at = expression->range.begin; at < expression->range.end; at++)
        if (strchr(".eE", expression->range.source->text[at])) return true;
    return false;
}

static void override_option(const Context *context, Option *option, const Override *override) {
    char *end;
    option->string = override->value;
    if (option->kind == OPTION_string) return;
    double number = strtod(override->value, &end);
    bool whole = number == floor(number);
    if (*override->value && !*end && isfinite(number) && (whole || option->kind == OPTION_real)) {
        option->number = number;
        return;
    }
    report(context, E0211, option->range, "`--%s` takes a %snumber, not `%s`", option->name,
           option->kind == OPTION_integer ? "whole " : "", override->value);
}

/* Flags that every program has. */
bool is_reserved(const char *name) {
    static const char *const reserved[] = {"help", "progress", "resume",  "save",
                                           "seed", "threads",  "version", "workers"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(reserved[i], name)) return true;
    return false;
}

static void lower_option_declaration(const Context *context, const Declaration *declaration,
                                     const Override *overrides, size_t override_count) {
    Lowering *lowering = context->lowering;
    Option option = {.name = declaration->name.text,
                     .help = declaration->help,
                     .range = declaration->name.range};
    Context fixing = *context;
    fixing.fixing = true;
    if (is_reserved(option.name)) {
        Diagnostic *d =
            report(context, E0202, option.range, "every program has its own `--%s`", option.name);
        diagnostic_help(d, "give the option another name");
    }
    Value value = lower_expression(&fixing, declaration->value);
    map_put_bytes(&lowering->used, &declaration, sizeof declaration, lowering);
    if (value.kind == VALUE_error) return;
    if (value.kind == VALUE_string) {
        option.kind = OPTION_string;
        option.string = value.string;
    } else if (to_number(context, &value, declaration->value->range, &option.number)) {
        bool whole = option.number == floor(option.number) && !is_real_literal(declaration->value);
        option.kind = whole ? OPTION_integer : OPTION_real;
    } else {
        return;
    }
    for (size_t i = 0; i < override_count; i++)
        if (!strcmp(overrides[i].name, option.name))
            override_option(context, &option, &overrides[i]);
    vector_push(lowering->arena, &lowering->program->options, option);
}

/* Checking a declaration that nothing uses. */

static Value symbolic_value(const Context *context, const Name *name, const TypeTree *declared,
                            int *index);

static Value symbolic_record(const Context *context, const Name *name, const TypeTree *declared,
                             int *index) {
    Arena *arena = context->lowering->arena;
    Items items = items_new(arena, declared->fields.count);
    for (size_t i = 0; i < items.count; i++) {
        const FieldType *field = &declared->fields.items[i];
        const char *path = field->name.text
                               ? arena_format(arena, "%s.%s", name->text, field->name.text)
                               : arena_format(arena, "%s.%zu", name->text, i);
        items.names[i] = field->name.text;
        items.values[i] = symbolic_value(context, &(Name){path, name->range}, field->type, index);
    }
    return (Value){.kind = VALUE_items, .range = name->range, .items = items};
}

/* index: of the next input. */
static Value symbolic_value(const Context *context, const Name *name, const TypeTree *declared,
                            int *index) {
    Lowering *lowering = context->lowering;
    Range range = name->range;
    Type type;
    if (!declared->element.text) return symbolic_record(context, name, declared, index);
    const char *element = declared->element.text;
    bool text = !strcmp(element, "string") || !strcmp(element, "path");
    if (text) return context->graph ? value_error : value_string(any_string, range);
    if (!strcmp(element, "number")) return value_number(1, range);
    if (!strcmp(element, "int"))
        return value_size(dim_symbol(lowering->dimensions, name->text, SIZE_UNKNOWN, false), range);
    if (!resolve_type(context, declared, &type)) return value_error;
    if (!context->graph && !type.rank) return value_number(1, range);
    if (!context->graph) {
        report(context, E0214, declared->range,
               "a pipeline takes files and numbers; its tensors come "
               "from the files");
        return value_error;
    }
    NodeId node = input_node(context, name->text, INPUT_field, (*index)++, type, type, range);
    Value value = value_tensor(context->graph, node, range);
    return match_type(context, declared, value, range, name->text, NULL);
}

static Value symbolic_argument(const Context *context, const Parameter *parameter, int *index) {
    if (parameter->type) return symbolic_value(context, &parameter->name, parameter->type, index);
    return parameter->value ? lower_expression(context, parameter->value) : value_error;
}

static bool has_tensor_parameter(const Declaration *declaration) {
    for (size_t i = 0; i < declaration->parameters.count; i++) {
        const TypeTree *type = declaration->parameters.items[i].type;
        if (type && (type->dimensions.count || !type->element.text)) return true;
    }
    return false;
}

static Function scratch_function(Lowering *lowering, const char *name, bool batched) {
    Function function = {.name = name,
                         .graph = graph_new(lowering->arena, lowering->dimensions, name)};
    if (batched) function.graph->batch = dim_symbol(lowering->dimensions, "B", SIZE_UNKNOWN, true);
    return function;
}

static void check_alone(const Context *context, const Declaration *declaration) {
    Lowering *lowering = context->lowering;
    Function function = scratch_function(lowering, declaration->name.text, true);
    Function initialise = scratch_function(lowering, declaration->name.text, false);
    Frame frame = {.declaration = declaration,
                   .path = declaration->name.text,
                   .callees = map_new(lowering->arena)};
    Context inner = *context;
    Type expected;
    inner.checking = true;
    inner.frame = &frame;
    inner.scope = scope_new(lowering->arena, NULL);
    if (declaration->kind != DECLARATION_pipeline) {
        inner.graph = function.graph;
        inner.function = &function;
        inner.initialise = &initialise;
    }
    if (inner.graph)
        for (size_t i = 0; i < declaration->parameters.count; i++)
            bind_symbols(&inner, declaration->parameters.items[i].type);
    int inputs = 0;
    for (size_t i = 0; i < declaration->parameters.count; i++) {
        const Parameter *parameter = &declaration->parameters.items[i];
        scope_put(lowering->arena, inner.scope, parameter->name.text,
                  symbolic_argument(&inner, parameter, &inputs));
    }
    if (inner.graph && declaration->result && declaration->result->element.text &&
        !has_tensor_parameter(declaration) && !is_compile_time(declaration->result->element.text)) {
        bind_symbols(&inner, declaration->result);
        if (resolve_type(&inner, declaration->result, &expected)) inner.expected = &expected;
    }
    Value result = declaration->external ? lower_external(&inner, declaration)
                                         : lower_body(&inner, &declaration->body);
    if (declaration->result && result.kind != VALUE_error)
        match_type(&inner, declaration->result, result, result.range, "the result", NULL);
}

static bool was_used(const Lowering *lowering, const Declaration *declaration) {
    return map_get_bytes(&lowering->used, &declaration, sizeof declaration) != NULL;
}

/* The whole. */

static void lower_kind(const Context *context, const Unit *unit, DeclarationKind kind) {
    Context inner = *context;
    inner.unit = unit;
    vector_each(Declaration *, item, unit->tree->declarations) {
        const Declaration *declaration = *item;
        if (declaration->kind != kind || !declaration->name.text) continue;
        switch (kind) {
        case DECLARATION_train: lower_train(&inner, declaration); break;
        case DECLARATION_export: lower_export(&inner, declaration); break;
        case DECLARATION_dim:
        case DECLARATION_const:
            if (!was_used(context->lowering, declaration)) lower_name(&inner, &declaration->name);
            break;
        case DECLARATION_pipeline:
            if (was_used(context->lowering, declaration) || lower_run(&inner, declaration)) break;
            check_alone(&inner, declaration);
            break;
        default:
            if (!was_used(context->lowering, declaration)) check_alone(&inner, declaration);
        }
    }
}

static void lower_options(const Context *context, const Unit *unit, const Override *overrides,
                          size_t override_count) {
    Context inner = *context;
    inner.unit = unit;
    vector_each(Declaration *, item, unit->tree->declarations)
        if ((*item)->kind == DECLARATION_option && (*item)->name.text)
            lower_option_declaration(&inner, *item, overrides, override_count);
}

static void check_externals(const Context *context, const Unit *unit) {
    Context inner = *context;
    inner.unit = unit;
    vector_each(Declaration *, item, unit->tree->declarations)
        if ((*item)->external && !(*item)->broken) check_external(&inner, *item);
}

Program *lower_program(Arena *arena, const Module *module, const char *name,
                       const Override *overrides, size_t override_count, Diagnostics *diagnostics) {
    Program *program = arena_new_item(arena, Program);
    program->arena = arena;
    program->dimensions = dimensions_new(arena);
    program->name = name;
    program->source = module->program->tree->source;
    Lowering lowering = {.arena = arena,
                         .dimensions = program->dimensions,
                         .diagnostics = diagnostics,
                         .module = module,
                         .program = program,
                         .used = map_new(arena),
                         .stored = map_new(arena),
                         .begun = map_new(arena),
                         .constants = map_new(arena)};
    Context context = {.lowering = &lowering, .unit = module->program};
    vector_each(Unit *, unit, module->units)
        lower_options(&context, *unit, overrides, override_count);
    vector_each(Unit *, unit, module->units) check_externals(&context, *unit);
    lower_kind(&context, module->program, DECLARATION_train);
    lower_kind(&context, module->program, DECLARATION_export);
    static const DeclarationKind rest[] = {DECLARATION_dim, DECLARATION_const, DECLARATION_fn,
                                           DECLARATION_model, DECLARATION_pipeline};
    vector_each(Unit *, unit, module->units)
        for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
            lower_kind(&context, *unit, rest[i]);
    check_vocabularies(&context);
    return program;
}
