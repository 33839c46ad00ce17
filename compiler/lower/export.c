/* Export: a function of the deployed library, over one record. */
#include "compiler/lower/lowering.h"

static void report_open_size(const Context *context, const TypeTree *declared, const Type *type) {
    Diagnostic *d = report(context, E0206, declared->range, "an export has fixed sizes, not %s",
                           type_text(context->lowering->arena, type));
    diagnostic_help(d, "write the number, or declare it: `dim N = 10`, `dim N <= 10`");
}

/* `in low..high` of an argument: proven inside, checked at each call. */
static void take_fact(const Context *context, const TypeTree *declared, int argument,
                      Value *value) {
    if (!declared->low || value->kind != VALUE_tensor) return;
    Context fixing = *context;
    fixing.fixing = true;
    Value low = lower_expression(&fixing, declared->low);
    Value high = lower_expression(&fixing, declared->high);
    value->low = to_size(&fixing, &low, declared->low->range);
    value->high = value->low ? to_size(&fixing, &high, declared->high->range) : NULL;
    vector_each(Input, input, context->function->inputs) {
        if (input->kind != INPUT_field || input->index != argument || !value->high) continue;
        if (dim_is_constant(value->low, &input->low) && dim_is_constant(value->high, &input->high))
            continue;
        report(context, E0206, declared->range, "the range of an argument is a pair of numbers");
    }
}

static void bind_argument(const Context *context, Export *export, const Parameter *parameter) {
    Arena *arena = context->lowering->arena;
    Type type = {0};
    int64_t size;
    const Name *name = &parameter->name;
    Value value = value_error;
    if (!parameter->type) {
        report(context, E0205, name->range, "an argument of an export needs a type");
    } else {
        bind_symbols(context, parameter->type);
    }
    if (parameter->type && resolve_type(context, parameter->type, &type)) {
        bool sized = true;
        for (int i = 0; i < type.rank; i++)
            sized &= dim_is_constant(type.dims[i], &size) || dim_is_bounded(type.dims[i]);
        NodeId node = input_node(context, name->text, INPUT_field, (int)export->arguments.count,
                                 type, type, name->range);
        if (node != NODE_NONE) value = value_tensor(context->graph, node, name->range);
        if (!sized) report_open_size(context, parameter->type, &type);
        take_fact(context, parameter->type, (int)export->arguments.count, &value);
    }
    vector_push(arena, &export->arguments, (Field){.name = name->text, .type = type});
    scope_put(arena, context->scope, name->text, value);
}

static void add_result(const Context *context, Export *export, const char *name, const Value *value,
                       Range range) {
    if (value->kind == VALUE_error) return;
    Element element = value->kind == VALUE_tensor ? value_type(value)->element : TYPE_f32;
    NodeId node = to_node(context, value, element, range);
    if (node == NODE_NONE) return;
    graph_output(context->graph, OUTPUT_result, name, node, NODE_NONE);
    vector_push(context->lowering->arena, &export->function.results,
                graph_node(context->graph, node)->type);
}

static void add_results(const Context *context, Export *export, const Value *result) {
    if (result->kind != VALUE_items) {
        add_result(context, export, "result", result, result->range);
        return;
    }
    for (size_t i = 0; i < result->items.count; i++) {
        const char *name = result->items.names ? result->items.names[i] : NULL;
        if (!name) name = arena_format(context->lowering->arena, "result%zu", i + 1);
        add_result(context, export, name, &result->items.values[i], result->range);
    }
}

void lower_export(const Context *context, const Declaration *declaration) {
    Lowering *lowering = context->lowering;
    Frame frame = {.declaration = declaration, .path = "", .callees = map_new(lowering->arena)};
    Export export = {.function.name = declaration->name.text};
    export.function.graph =
        graph_new(lowering->arena, lowering->dimensions, declaration->name.text);
    Context inner = *context;
    inner.frame = &frame;
    inner.scope = scope_new(lowering->arena, NULL);
    inner.graph = export.function.graph;
    inner.function = &export.function;
    for (size_t i = 0; i < declaration->parameters.count; i++)
        bind_argument(&inner, &export, &declaration->parameters.items[i]);
    Value result = lower_body(&inner, &declaration->body);
    if (declaration->result && result.kind != VALUE_error)
        result = match_type(&inner, declaration->result, result, result.range, "the result", NULL);
    add_results(&inner, &export, &result);
    vector_push(lowering->arena, &lowering->program->exports, export);
}
